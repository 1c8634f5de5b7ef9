"""Revolute joints with motors and limits: constraints on the velocities, then on the positions.

Symbols as in the solver's papers: r, from a body's centre to the joint; K, the inverse of the effective mass. Signs of
zeros apart, every result is the original's: where it negates a factor twice, or adds to zero, nothing is done here.
"""

import math

import numpy as np

from .. import layout as at
from ..bodies import (
    ANCHOR_A,
    ANCHOR_B,
    INVERSE_INERTIA,
    INVERSE_MASS,
    JOINT_A,
    JOINT_B,
    MAX_MOTOR_TORQUE,
    MOTOR_ON,
    REFERENCE_ANGLE,
)
from .compiled import inlined
from .lanes import any_of, joined, load, select, split, spread, store
from .trigonometry import sine_and_cosine

DT = 0.04
INVERSE_DT = 1 / DT
LINEAR_SLOP = 0.005
ANGULAR_SLOP = 0.03490658503988659
MAX_ANGULAR_CORRECTION = 0.13962634015954636

INSIDE, AT_LOWER, AT_UPPER, EQUAL = 0.0, 1.0, 2.0, 3.0

# Constants of a joint, in one row: anchors; inverse masses, their sum and the inverse inertias; the effective
# mass of motor and limit; reference angle and largest motor torque.
AX, AY, BX, BY, MASS_A, MASS_B, MASSES, INERTIA_A, INERTIA_B, MOTOR_MASS, REFERENCE, MAX_TORQUE = range(12)
_OF = np.stack(
    [
        ANCHOR_A[:, 0], ANCHOR_A[:, 1], ANCHOR_B[:, 0], ANCHOR_B[:, 1],
        INVERSE_MASS[JOINT_A], INVERSE_MASS[JOINT_B], INVERSE_MASS[JOINT_A] + INVERSE_MASS[JOINT_B],
        INVERSE_INERTIA[JOINT_A], INVERSE_INERTIA[JOINT_B],
        1 / (INVERSE_INERTIA[JOINT_A] + INVERSE_INERTIA[JOINT_B]), REFERENCE_ANGLE, MAX_MOTOR_TORQUE,
    ],
    axis=1,
)  # fmt: skip


@inlined
def _effective_mass(joint, rax, ray, rbx, rby):
    """K as xx, −xy and yy, summed in the original's order, and the inverse of its determinant."""
    masses, ia, ib = _OF[joint, MASSES], _OF[joint, INERTIA_A], _OF[joint, INERTIA_B]
    xx = masses + ia * ray * ray + ib * rby * rby
    minus_xy = ia * rax * ray + ib * rbx * rby
    yy = masses + ia * rax * rax + ib * rbx * rbx
    return xx, minus_xy, yy, 1.0 / (xx * yy - minus_xy * minus_xy)


@inlined
def start_joint(lanes, memory, joint):
    """Masses and limit state for this frame, and the warm start with the last frame's forces."""
    width = len(lanes)
    a, b = width * at.LANE_BODY * JOINT_A[joint], width * at.LANE_BODY * JOINT_B[joint]
    own = width * (at.LANE_JOINTS + at.LANE_JOINT * joint)
    ma, mb, ia, ib = _OF[joint, MASS_A], _OF[joint, MASS_B], _OF[joint, INERTIA_A], _OF[joint, INERTIA_B]
    cosine, sine = load(memory, a + width * at.COSINE, lanes), load(memory, a + width * at.SINE, lanes)
    rax = cosine * _OF[joint, AX] - sine * _OF[joint, AY]
    ray = sine * _OF[joint, AX] + cosine * _OF[joint, AY]
    cosine, sine = load(memory, b + width * at.COSINE, lanes), load(memory, b + width * at.SINE, lanes)
    rbx = cosine * _OF[joint, BX] - sine * _OF[joint, BY]
    rby = sine * _OF[joint, BX] + cosine * _OF[joint, BY]
    xx, minus_xy, yy, inverse = _effective_mass(joint, rax, ray, rbx, rby)
    store(memory, own + width * at.R_AX, rax)
    store(memory, own + width * at.R_AY, ray)
    store(memory, own + width * at.R_BX, rbx)
    store(memory, own + width * at.R_BY, rby)
    store(memory, own + width * at.MASS_XX, inverse * yy)
    store(memory, own + width * at.MASS_XY, inverse * minus_xy)
    store(memory, own + width * at.MASS_YY, inverse * xx)
    zero = spread(lanes, 0.0)
    store(memory, own + width * at.LIMIT_IMPULSE, zero)
    motor = load(memory, own + width * at.MOTOR_FORCE, lanes)
    if MOTOR_ON[joint] == 0:
        motor = zero
        store(memory, own + width * at.MOTOR_FORCE, zero)
    angle_a, angle_b = load(memory, a + width * at.ANGLE, lanes), load(memory, b + width * at.ANGLE, lanes)
    angle = angle_b - angle_a - _OF[joint, REFERENCE]
    lower, upper = load(memory, own + width * at.LOWER, lanes), load(memory, own + width * at.UPPER, lanes)
    before = load(memory, own + width * at.STATE, lanes)
    state = select(angle >= upper, AT_UPPER, spread(lanes, INSIDE))
    state = select(angle <= lower, AT_LOWER, state)
    equal = abs(upper - lower) < 2 * ANGULAR_SLOP
    state = select(equal, EQUAL, state)
    # A limit that is reached anew starts without force.
    kept = equal | ((state == before) & (state != INSIDE))
    limit = select(kept, load(memory, own + width * at.LIMIT_FORCE, lanes), 0.0)
    store(memory, own + width * at.STATE, state)
    store(memory, own + width * at.LIMIT_FORCE, limit)

    px, py = load(memory, own + width * at.PIVOT_X, lanes), load(memory, own + width * at.PIVOT_Y, lanes)
    add(lanes, memory, a + width * at.VX, -(DT * ma * px))
    add(lanes, memory, a + width * at.VY, -(DT * ma * py))
    add(lanes, memory, a + width * at.SPIN, -(DT * ia * (rax * py - ray * px + motor + limit)))
    add(lanes, memory, b + width * at.VX, DT * mb * px)
    add(lanes, memory, b + width * at.VY, DT * mb * py)
    add(lanes, memory, b + width * at.SPIN, DT * ib * (rbx * py - rby * px + motor + limit))


@inlined
def add(lanes, memory, place, change):
    """Add `change` to the numbers at a place, lane by lane."""
    store(memory, place, load(memory, place, lanes) + change)


@inlined
def solve_joint_velocity(lanes, memory, joint):
    """One iteration on the velocities: the pivot, then the motor, then the limit."""
    width = len(lanes)
    a, b = width * at.LANE_BODY * JOINT_A[joint], width * at.LANE_BODY * JOINT_B[joint]
    own = width * (at.LANE_JOINTS + at.LANE_JOINT * joint)
    ma, mb, ia, ib = _OF[joint, MASS_A], _OF[joint, MASS_B], _OF[joint, INERTIA_A], _OF[joint, INERTIA_B]
    rax, ray = load(memory, own + width * at.R_AX, lanes), load(memory, own + width * at.R_AY, lanes)
    rbx, rby = load(memory, own + width * at.R_BX, lanes), load(memory, own + width * at.R_BY, lanes)
    vax, vay = load(memory, a + width * at.VX, lanes), load(memory, a + width * at.VY, lanes)
    vbx, vby = load(memory, b + width * at.VX, lanes), load(memory, b + width * at.VY, lanes)
    wa, wb = load(memory, a + width * at.SPIN, lanes), load(memory, b + width * at.SPIN, lanes)

    cx = vbx - wb * rby - vax + wa * ray
    cy = vby + wb * rbx - vay - wa * rax
    mass_xy = load(memory, own + width * at.MASS_XY, lanes)
    force_x = -INVERSE_DT * (load(memory, own + width * at.MASS_XX, lanes) * cx + mass_xy * cy)
    force_y = -INVERSE_DT * (mass_xy * cx + load(memory, own + width * at.MASS_YY, lanes) * cy)
    add(lanes, memory, own + width * at.PIVOT_X, force_x)
    add(lanes, memory, own + width * at.PIVOT_Y, force_y)
    px, py = DT * force_x, DT * force_y
    store(memory, a + width * at.VX, vax - ma * px)
    store(memory, a + width * at.VY, vay - ma * py)
    wa -= ia * (rax * py - ray * px)
    store(memory, b + width * at.VX, vbx + mb * px)
    store(memory, b + width * at.VY, vby + mb * py)
    wb += ib * (rbx * py - rby * px)

    state = load(memory, own + width * at.STATE, lanes)
    motor_mass = -INVERSE_DT * _OF[joint, MOTOR_MASS]
    if MOTOR_ON[joint] != 0:  # no joint with a motor has equal limits
        speed = wb - wa - load(memory, own + width * at.MOTOR_SPEED, lanes)
        before = load(memory, own + width * at.MOTOR_FORCE, lanes)
        most = _OF[joint, MAX_TORQUE]
        after = min(max(before + motor_mass * speed, -most), most)
        store(memory, own + width * at.MOTOR_FORCE, after)
        change = after - before
        wa -= ia * DT * change
        wb += ib * DT * change
    limited = state != INSIDE
    if any_of(limited):
        before = load(memory, own + width * at.LIMIT_FORCE, lanes)
        wanted = motor_mass * (wb - wa)
        after = before + wanted
        after = select(state == AT_LOWER, max(after, 0.0), after)
        after = select(state == AT_UPPER, min(after, 0.0), after)
        store(memory, own + width * at.LIMIT_FORCE, select(limited, after, before))
        change = select(state == EQUAL, wanted, select(limited, after - before, 0.0))
        wa -= ia * DT * change
        wb += ib * DT * change
    store(memory, a + width * at.SPIN, wa)
    store(memory, b + width * at.SPIN, wb)


def _largest_square(length: float) -> float:
    """The largest number whose square root rounds to `length` or less."""
    square = length * length
    while math.sqrt(square) > length:
        square = math.nextafter(square, 0.0)
    while math.sqrt(math.nextafter(square, 1.0)) <= length:
        square = math.nextafter(square, 1.0)
    return square


_SQUARED_SLOP = _largest_square(LINEAR_SLOP)


@inlined
def solve_joint_position(lanes, memory, joint):
    """One iteration on the positions; true where the joint's errors are within their slops."""
    width = len(lanes)
    a, b = width * at.LANE_BODY * JOINT_A[joint], width * at.LANE_BODY * JOINT_B[joint]
    own = width * (at.LANE_JOINTS + at.LANE_JOINT * joint)
    ma, mb, ia, ib = _OF[joint, MASS_A], _OF[joint, MASS_B], _OF[joint, INERTIA_A], _OF[joint, INERTIA_B]
    cosine, sine = load(memory, a + width * at.COSINE, lanes), load(memory, a + width * at.SINE, lanes)
    rax = cosine * _OF[joint, AX] - sine * _OF[joint, AY]
    ray = sine * _OF[joint, AX] + cosine * _OF[joint, AY]
    cosine, sine = load(memory, b + width * at.COSINE, lanes), load(memory, b + width * at.SINE, lanes)
    rbx = cosine * _OF[joint, BX] - sine * _OF[joint, BY]
    rby = sine * _OF[joint, BX] + cosine * _OF[joint, BY]
    xa, ya = load(memory, a + width * at.X, lanes), load(memory, a + width * at.Y, lanes)
    xb, yb = load(memory, b + width * at.X, lanes), load(memory, b + width * at.Y, lanes)
    cx = xb + rbx - (xa + rax)
    cy = yb + rby - (ya + ray)
    fits = cx * cx + cy * cy <= _SQUARED_SLOP
    xx, minus_xy, yy, inverse = _effective_mass(joint, rax, ray, rbx, rby)
    px = inverse * (yy * cx + minus_xy * cy)  # what moves a, and b the other way
    py = inverse * (xx * cy + minus_xy * cx)
    store(memory, a + width * at.X, xa + ma * px)
    store(memory, a + width * at.Y, ya + ma * py)
    store(memory, b + width * at.X, xb - mb * px)
    store(memory, b + width * at.Y, yb - mb * py)
    angle_a = load(memory, a + width * at.ANGLE, lanes) + ia * (rax * py - ray * px)
    angle_b = load(memory, b + width * at.ANGLE, lanes) - ib * (rbx * py - rby * px)

    state = load(memory, own + width * at.STATE, lanes)
    limited = state != INSIDE
    if any_of(limited):
        lower, upper = state == AT_LOWER, state == AT_UPPER
        bound = select(lower, load(memory, own + width * at.LOWER, lanes), 0.0)
        bound = select(upper, load(memory, own + width * at.UPPER, lanes), bound)
        beyond = angle_b - angle_a - _OF[joint, REFERENCE] - bound
        excess = beyond + select(lower, ANGULAR_SLOP, select(upper, -ANGULAR_SLOP, 0.0))
        least = select(upper, 0.0, -MAX_ANGULAR_CORRECTION)
        most = select(lower, 0.0, MAX_ANGULAR_CORRECTION)
        clamped = min(max(excess, least), most)
        before = load(memory, own + width * at.LIMIT_IMPULSE, lanes)
        after = before - _OF[joint, MOTOR_MASS] * clamped
        after = select(lower, max(after, 0.0), select(upper, min(after, 0.0), after))
        impulse = select(limited, after - before, 0.0)
        # With equal limits nothing is summed up.
        store(memory, own + width * at.LIMIT_IMPULSE, select(lower | upper, after, before))
        angle_a -= ia * impulse
        angle_b += ib * impulse
        error = select(lower, max(-beyond, 0.0), select(upper, max(beyond, 0.0), abs(clamped)))
        fits = fits & (select(limited, error, 0.0) <= ANGULAR_SLOP)
    store(memory, a + width * at.ANGLE, angle_a)
    store(memory, b + width * at.ANGLE, angle_b)

    sine, cosine = sine_and_cosine(lanes, joined(angle_a, angle_b))
    sine_a, sine_b = split(sine)
    cosine_a, cosine_b = split(cosine)
    store(memory, a + width * at.COSINE, cosine_a)
    store(memory, a + width * at.SINE, sine_a)
    store(memory, b + width * at.COSINE, cosine_b)
    store(memory, b + width * at.SINE, sine_b)
    return fits

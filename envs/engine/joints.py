"""Revolute joints with motors and limits: what they ask of the velocities, then of the positions.

Symbols as in the solver's papers: r, from a body's centre to the joint; K, the inverse of the effective mass.
"""

import math

from . import layout as at
from .bodies import (
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
from .compiled import compiled

DT = 0.04
INVERSE_DT = 1 / DT
LINEAR_SLOP = 0.005
ANGULAR_SLOP = 0.03490658503988659
MAX_ANGULAR_CORRECTION = 0.13962634015954636

INSIDE, AT_LOWER, AT_UPPER, EQUAL = range(4)

# What a joint keeps from the start of a frame's solution to its end, in `scratch`.
R_AX, R_AY, R_BX, R_BY, PIVOT_XX, PIVOT_XY, PIVOT_YX, PIVOT_YY, MOTOR_MASS, LIMIT_IMPULSE, JOINT_SCRATCH = range(11)


@compiled
def _arm(reals, body, anchor_x, anchor_y):
    cosine, sine = reals[at.COS + body], reals[at.SIN + body]
    return cosine * anchor_x + -sine * anchor_y, sine * anchor_x + cosine * anchor_y


@compiled
def _effective_mass(inverse_mass_a, inverse_mass_b, inverse_i_a, inverse_i_b, rax, ray, rbx, rby):
    """K as (xx, xy, yx, yy), summed in the original's order."""
    xx = inverse_mass_a + inverse_mass_b + inverse_i_a * ray * ray + inverse_i_b * rby * rby
    xy = 0.0 + -inverse_i_a * rax * ray + -inverse_i_b * rbx * rby
    yy = inverse_mass_a + inverse_mass_b + inverse_i_a * rax * rax + inverse_i_b * rbx * rbx
    return xx, xy, yy


@compiled
def start_joint(reals, integers, scratch, joint):
    """Masses and limit state for this frame, and the warm start with the last frame's forces."""
    a, b = JOINT_A[joint], JOINT_B[joint]
    own, mine = at.JOINT + at.JOINT_REALS * joint, JOINT_SCRATCH * joint
    rax, ray = _arm(reals, a, ANCHOR_A[joint, 0], ANCHOR_A[joint, 1])
    rbx, rby = _arm(reals, b, ANCHOR_B[joint, 0], ANCHOR_B[joint, 1])
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    xx, xy, yy = _effective_mass(ma, mb, ia, ib, rax, ray, rbx, rby)
    determinant = xx * yy - xy * xy
    if determinant != 0:
        determinant = 1 / determinant
    scratch[mine + R_AX], scratch[mine + R_AY] = rax, ray
    scratch[mine + R_BX], scratch[mine + R_BY] = rbx, rby
    scratch[mine + PIVOT_XX], scratch[mine + PIVOT_XY] = determinant * yy, -determinant * xy
    scratch[mine + PIVOT_YX], scratch[mine + PIVOT_YY] = -determinant * xy, determinant * xx
    scratch[mine + MOTOR_MASS] = 1 / (ia + ib)
    scratch[mine + LIMIT_IMPULSE] = 0.0
    if MOTOR_ON[joint] == 0:
        reals[own + at.MOTOR_FORCE] = 0.0
    angle = reals[6 * b + at.ANGLE] - reals[6 * a + at.ANGLE] - REFERENCE_ANGLE[joint]
    lower, upper = reals[own + at.LOWER], reals[own + at.UPPER]
    state = integers[at.LIMIT_STATE + joint]
    if abs(upper - lower) < 2 * ANGULAR_SLOP:
        state = EQUAL
    elif angle <= lower:
        if state != AT_LOWER:
            reals[own + at.LIMIT_FORCE] = 0.0
        state = AT_LOWER
    elif angle >= upper:
        if state != AT_UPPER:
            reals[own + at.LIMIT_FORCE] = 0.0
        state = AT_UPPER
    else:
        state = INSIDE
        reals[own + at.LIMIT_FORCE] = 0.0
    integers[at.LIMIT_STATE + joint] = state

    px, py = reals[own + at.PIVOT_X], reals[own + at.PIVOT_Y]
    motor, limit = reals[own + at.MOTOR_FORCE], reals[own + at.LIMIT_FORCE]
    reals[6 * a + at.VX] -= DT * ma * px
    reals[6 * a + at.VY] -= DT * ma * py
    reals[6 * a + at.SPIN] -= DT * ia * (rax * py - ray * px + motor + limit)
    reals[6 * b + at.VX] += DT * mb * px
    reals[6 * b + at.VY] += DT * mb * py
    reals[6 * b + at.SPIN] += DT * ib * (rbx * py - rby * px + motor + limit)


@compiled
def solve_joint_velocity(reals, integers, scratch, joint):
    """One iteration on the velocities: the pivot, then the motor, then the limit."""
    a, b = JOINT_A[joint], JOINT_B[joint]
    own, mine = at.JOINT + at.JOINT_REALS * joint, JOINT_SCRATCH * joint
    rax, ray = scratch[mine + R_AX], scratch[mine + R_AY]
    rbx, rby = scratch[mine + R_BX], scratch[mine + R_BY]
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    vax, vay, wa = reals[6 * a + at.VX], reals[6 * a + at.VY], reals[6 * a + at.SPIN]
    vbx, vby, wb = reals[6 * b + at.VX], reals[6 * b + at.VY], reals[6 * b + at.SPIN]

    cx = vbx + -wb * rby - vax - -wa * ray
    cy = vby + wb * rbx - vay - wa * rax
    force_x = -INVERSE_DT * (scratch[mine + PIVOT_XX] * cx + scratch[mine + PIVOT_XY] * cy)
    force_y = -INVERSE_DT * (scratch[mine + PIVOT_YX] * cx + scratch[mine + PIVOT_YY] * cy)
    reals[own + at.PIVOT_X] += force_x
    reals[own + at.PIVOT_Y] += force_y
    px, py = DT * force_x, DT * force_y
    vax -= ma * px
    vay -= ma * py
    wa -= ia * (rax * py - ray * px)
    vbx += mb * px
    vby += mb * py
    wb += ib * (rbx * py - rby * px)

    state = integers[at.LIMIT_STATE + joint]
    motor_mass = scratch[mine + MOTOR_MASS]
    if MOTOR_ON[joint] != 0 and state != EQUAL:
        speed = wb - wa - reals[own + at.MOTOR_SPEED]
        before = reals[own + at.MOTOR_FORCE]
        most = MAX_MOTOR_TORQUE[joint]
        after = min(max(before + -INVERSE_DT * motor_mass * speed, -most), most)
        reals[own + at.MOTOR_FORCE] = after
        change = after - before
        wa -= ia * DT * change
        wb += ib * DT * change
    if state != INSIDE:
        change = -INVERSE_DT * motor_mass * (wb - wa)
        before = reals[own + at.LIMIT_FORCE]
        after = before + change
        if state == AT_LOWER:
            after = max(after, 0.0)
            change = after - before
        elif state == AT_UPPER:
            after = min(after, 0.0)
            change = after - before
        reals[own + at.LIMIT_FORCE] = after
        wa -= ia * DT * change
        wb += ib * DT * change

    reals[6 * a + at.VX], reals[6 * a + at.VY], reals[6 * a + at.SPIN] = vax, vay, wa
    reals[6 * b + at.VX], reals[6 * b + at.VY], reals[6 * b + at.SPIN] = vbx, vby, wb


@compiled
def turn(reals, body):
    """Renew a body's rotation from its angle."""
    angle = reals[6 * body + at.ANGLE]
    reals[at.COS + body] = math.cos(angle)
    reals[at.SIN + body] = math.sin(angle)


@compiled
def solve_joint_position(reals, integers, scratch, joint):
    """One iteration on the positions; True when the joint's errors are within their slops."""
    a, b = JOINT_A[joint], JOINT_B[joint]
    own, mine = at.JOINT + at.JOINT_REALS * joint, JOINT_SCRATCH * joint
    rax, ray = _arm(reals, a, ANCHOR_A[joint, 0], ANCHOR_A[joint, 1])
    rbx, rby = _arm(reals, b, ANCHOR_B[joint, 0], ANCHOR_B[joint, 1])
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    cx = reals[6 * b + at.X] + rbx - (reals[6 * a + at.X] + rax)
    cy = reals[6 * b + at.Y] + rby - (reals[6 * a + at.Y] + ray)
    linear_error = math.sqrt(cx * cx + cy * cy)
    xx, xy, yy = _effective_mass(ma, mb, ia, ib, rax, ray, rbx, rby)
    determinant = xx * yy - xy * xy
    if determinant != 0:
        determinant = 1 / determinant
    px = determinant * (yy * -cx - xy * -cy)
    py = determinant * (xx * -cy - xy * -cx)
    reals[6 * a + at.X] -= ma * px
    reals[6 * a + at.Y] -= ma * py
    reals[6 * a + at.ANGLE] -= ia * (rax * py - ray * px)
    reals[6 * b + at.X] += mb * px
    reals[6 * b + at.Y] += mb * py
    reals[6 * b + at.ANGLE] += ib * (rbx * py - rby * px)

    angular_error = 0.0
    state = integers[at.LIMIT_STATE + joint]
    if state != INSIDE:
        angle = reals[6 * b + at.ANGLE] - reals[6 * a + at.ANGLE] - REFERENCE_ANGLE[joint]
        motor_mass = scratch[mine + MOTOR_MASS]
        before = scratch[mine + LIMIT_IMPULSE]
        if state == EQUAL:
            clamped = min(max(angle, -MAX_ANGULAR_CORRECTION), MAX_ANGULAR_CORRECTION)
            impulse = -motor_mass * clamped
            angular_error = abs(clamped)
        elif state == AT_LOWER:
            beyond = angle - reals[own + at.LOWER]
            angular_error = max(0.0, -beyond)
            clamped = min(max(beyond + ANGULAR_SLOP, -MAX_ANGULAR_CORRECTION), 0.0)
            after = max(before + -motor_mass * clamped, 0.0)
            scratch[mine + LIMIT_IMPULSE] = after
            impulse = after - before
        else:
            beyond = angle - reals[own + at.UPPER]
            angular_error = max(0.0, beyond)
            clamped = min(max(beyond - ANGULAR_SLOP, 0.0), MAX_ANGULAR_CORRECTION)
            after = min(before + -motor_mass * clamped, 0.0)
            scratch[mine + LIMIT_IMPULSE] = after
            impulse = after - before
        reals[6 * a + at.ANGLE] -= ia * impulse
        reals[6 * b + at.ANGLE] += ib * impulse
    turn(reals, a)
    turn(reals, b)
    return linear_error <= LINEAR_SLOP and angular_error <= ANGULAR_SLOP

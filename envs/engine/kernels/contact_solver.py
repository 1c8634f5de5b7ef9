"""Contact constraints: on the velocities (normal and friction impulses), then on the positions.

Contacts differ from game to game, so each is solved in its own lane alone: bodies' numbers are taken from the lanes'
memory, manifolds and impulses from the game's rows.
"""

import math

from .. import layout as at
from ..bodies import FRICTION, INVERSE_INERTIA, INVERSE_MASS, MASS, RADIUS
from .compiled import inlined, kernel
from .contacts import world_normal, world_point
from .joints import LINEAR_SLOP
from .trigonometry import sine_and_cosine

MAX_LINEAR_CORRECTION = 0.2
MAX_CONDITION_NUMBER = 100


@kernel
def start_contact(reals, integers, memory, mine, contact):
    """Arms and effective masses of the contact's points, from the positions at the start of the frame.

    `mine` is where the contact keeps them in `memory`.
    """
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    nx, ny = world_normal(reals, integers, contact)
    memory[mine + at.NORMAL_X], memory[mine + at.NORMAL_Y] = nx, ny
    memory[mine + at.FRICTION] = math.sqrt(FRICTION[a] * FRICTION[b])
    points = integers[at.POINTS + contact]
    for point in range(points):
        x, y = world_point(reals, integers, contact, point)
        rax, ray = x - reals[6 * a + at.X], y - reals[6 * a + at.Y]
        rbx, rby = x - reals[6 * b + at.X], y - reals[6 * b + at.Y]
        cross_a, cross_b = rax * ny - ray * nx, rbx * ny - rby * nx
        cross_a *= cross_a
        cross_b *= cross_b
        memory[mine + at.NORMAL_MASS + point] = 1 / (ma + mb + ia * cross_a + ib * cross_b)
        equalized = MASS[a] * ma + MASS[b] * mb
        equalized += MASS[a] * ia * cross_a + MASS[b] * ib * cross_b
        memory[mine + at.EQUALIZED_MASS + point] = 1 / equalized
        tx, ty = ny, -nx
        cross_a, cross_b = rax * ty - ray * tx, rbx * ty - rby * tx
        cross_a *= cross_a
        cross_b *= cross_b
        memory[mine + at.TANGENT_MASS + point] = 1 / (ma + mb + ia * cross_a + ib * cross_b)
        memory[mine + at.ARM_AX + point], memory[mine + at.ARM_AY + point] = rax, ray
        memory[mine + at.ARM_BX + point], memory[mine + at.ARM_BY + point] = rbx, rby
    if points == 2:
        ra1 = memory[mine + at.ARM_AX] * ny - memory[mine + at.ARM_AY] * nx
        rb1 = memory[mine + at.ARM_BX] * ny - memory[mine + at.ARM_BY] * nx
        ra2 = memory[mine + at.ARM_AX + 1] * ny - memory[mine + at.ARM_AY + 1] * nx
        rb2 = memory[mine + at.ARM_BX + 1] * ny - memory[mine + at.ARM_BY + 1] * nx
        xx = ma + mb + ia * ra1 * ra1 + ib * rb1 * rb1
        yy = ma + mb + ia * ra2 * ra2 + ib * rb2 * rb2
        xy = ma + mb + ia * ra1 * ra2 + ib * rb1 * rb2
        if MAX_CONDITION_NUMBER * (xx * yy - xy * xy) > xx * xx:
            inverse = 1 / (xx * yy - xy * xy)
            memory[mine + at.K_XX], memory[mine + at.K_XY], memory[mine + at.K_YY] = xx, xy, yy
            memory[mine + at.INVERSE_XX], memory[mine + at.INVERSE_YY] = inverse * yy, inverse * xx
            memory[mine + at.INVERSE_XY] = -inverse * xy
        else:
            points = 1
    memory[mine + at.SOLVED] = points


@kernel
def warm_start_contact(width, memory, lane, reals, integers, mine, contact):
    """Apply the last frame's impulses."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    a, b = width * at.LANE_BODY * a + lane, width * at.LANE_BODY * b + lane
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    nx, ny = memory[mine + at.NORMAL_X], memory[mine + at.NORMAL_Y]
    tx, ty = ny, -nx
    for point in range(int(memory[mine + at.SOLVED])):
        normal, tangent = reals[manifold + at.NORMAL_IMPULSE + point], reals[manifold + at.TANGENT_IMPULSE + point]
        px, py = normal * nx + tangent * tx, normal * ny + tangent * ty
        arm_x, arm_y = memory[mine + at.ARM_AX + point], memory[mine + at.ARM_AY + point]
        memory[a + width * at.SPIN] -= ia * (arm_x * py - arm_y * px)
        memory[a + width * at.VX] -= ma * px
        memory[a + width * at.VY] -= ma * py
        arm_x, arm_y = memory[mine + at.ARM_BX + point], memory[mine + at.ARM_BY + point]
        memory[b + width * at.SPIN] += ib * (arm_x * py - arm_y * px)
        memory[b + width * at.VX] += mb * px
        memory[b + width * at.VY] += mb * py


@inlined
def _two_normal_impulses(xx, xy, yy, ixx, ixy, iyy, mass1, mass2, b1, b2):
    """Impulses x >= 0 with K x + b >= 0 and x . (K x + b) = 0: the four cases in turn; False if none holds."""
    x1 = -(ixx * b1 + ixy * b2)
    x2 = -(ixy * b1 + iyy * b2)
    if x1 >= 0 and x2 >= 0:
        return True, x1, x2
    x1 = -mass1 * b1
    if x1 >= 0 and xy * x1 + b2 >= 0:
        return True, x1, 0.0
    x2 = -mass2 * b2
    if x2 >= 0 and xy * x2 + b1 >= 0:
        return True, 0.0, x2
    return b1 >= 0 and b2 >= 0, 0.0, 0.0


@kernel
def solve_contact_velocity(width, memory, lane, reals, integers, mine, contact):
    """One iteration on the velocities: friction at each point, then the normals together."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    a, b = width * at.LANE_BODY * a + lane, width * at.LANE_BODY * b + lane
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    normal_at, tangent_at = manifold + at.NORMAL_IMPULSE, manifold + at.TANGENT_IMPULSE
    nx, ny = memory[mine + at.NORMAL_X], memory[mine + at.NORMAL_Y]
    tx, ty = ny, -nx
    friction = memory[mine + at.FRICTION]
    vax, vay, wa = memory[a + width * at.VX], memory[a + width * at.VY], memory[a + width * at.SPIN]
    vbx, vby, wb = memory[b + width * at.VX], memory[b + width * at.VY], memory[b + width * at.SPIN]
    points = int(memory[mine + at.SOLVED])
    for point in range(points):
        rax, ray = memory[mine + at.ARM_AX + point], memory[mine + at.ARM_AY + point]
        rbx, rby = memory[mine + at.ARM_BX + point], memory[mine + at.ARM_BY + point]
        dvx = vbx - wb * rby - vax + wa * ray
        dvy = vby + wb * rbx - vay - wa * rax
        most = friction * reals[normal_at + point]
        before = reals[tangent_at + point]
        after = min(max(before + memory[mine + at.TANGENT_MASS + point] * -(dvx * tx + dvy * ty), -most), most)
        change = after - before
        px, py = change * tx, change * ty
        vax -= ma * px
        vay -= ma * py
        wa -= ia * (rax * py - ray * px)
        vbx += mb * px
        vby += mb * py
        wb += ib * (rbx * py - rby * px)
        reals[tangent_at + point] = after

    rax1, ray1 = memory[mine + at.ARM_AX], memory[mine + at.ARM_AY]
    rbx1, rby1 = memory[mine + at.ARM_BX], memory[mine + at.ARM_BY]
    dvx = vbx - wb * rby1 - vax + wa * ray1
    dvy = vby + wb * rbx1 - vay - wa * rax1
    vn1 = dvx * nx + dvy * ny
    old1 = reals[normal_at]
    if points == 1:
        after = max(old1 + -memory[mine + at.NORMAL_MASS] * vn1, 0.0)
        change = after - old1
        px, py = change * nx, change * ny
        vax -= ma * px
        vay -= ma * py
        wa -= ia * (rax1 * py - ray1 * px)
        vbx += mb * px
        vby += mb * py
        wb += ib * (rbx1 * py - rby1 * px)
        reals[normal_at] = after
    else:
        rax2, ray2 = memory[mine + at.ARM_AX + 1], memory[mine + at.ARM_AY + 1]
        rbx2, rby2 = memory[mine + at.ARM_BX + 1], memory[mine + at.ARM_BY + 1]
        dvx = vbx - wb * rby2 - vax + wa * ray2
        dvy = vby + wb * rbx2 - vay - wa * rax2
        vn2 = dvx * nx + dvy * ny
        old2 = reals[normal_at + 1]
        xx, xy, yy = memory[mine + at.K_XX], memory[mine + at.K_XY], memory[mine + at.K_YY]
        solved, new1, new2 = _two_normal_impulses(
            xx, xy, yy,
            memory[mine + at.INVERSE_XX], memory[mine + at.INVERSE_XY], memory[mine + at.INVERSE_YY],
            memory[mine + at.NORMAL_MASS], memory[mine + at.NORMAL_MASS + 1],
            vn1 - (xx * old1 + xy * old2), vn2 - (xy * old1 + yy * old2),
        )  # fmt: skip
        if solved:
            change1, change2 = new1 - old1, new2 - old2
            px1, py1, px2, py2 = change1 * nx, change1 * ny, change2 * nx, change2 * ny
            vax -= ma * (px1 + px2)
            vay -= ma * (py1 + py2)
            wa -= ia * (rax1 * py1 - ray1 * px1 + rax2 * py2 - ray2 * px2)
            vbx += mb * (px1 + px2)
            vby += mb * (py1 + py2)
            wb += ib * (rbx1 * py1 - rby1 * px1 + rbx2 * py2 - rby2 * px2)
            reals[normal_at], reals[normal_at + 1] = new1, new2

    memory[a + width * at.VX], memory[a + width * at.VY], memory[a + width * at.SPIN] = vax, vay, wa
    memory[b + width * at.VX], memory[b + width * at.VY], memory[b + width * at.SPIN] = vbx, vby, wb


@kernel
def solve_contact_position(lanes, memory, lane, reals, integers, mine, contact):
    """One iteration on the positions; the deepest separation of the contact's points."""
    width = len(lanes)
    body_a, body_b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    inverse_mass_a, inverse_mass_b = MASS[body_a] * INVERSE_MASS[body_a], MASS[body_b] * INVERSE_MASS[body_b]
    inverse_i_a, inverse_i_b = MASS[body_a] * INVERSE_INERTIA[body_a], MASS[body_b] * INVERSE_INERTIA[body_b]
    a, b = width * at.LANE_BODY * body_a + lane, width * at.LANE_BODY * body_b + lane
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    flipped = integers[at.FACE + contact]
    reference, incident = (b, a) if flipped else (a, b)
    cos_r, sin_r = memory[reference + width * at.COSINE], memory[reference + width * at.SINE]
    cos_i, sin_i = memory[incident + width * at.COSINE], memory[incident + width * at.SINE]
    lx, ly = reals[manifold + at.PLANE_X], reals[manifold + at.PLANE_Y]
    nx, ny = cos_r * lx + -sin_r * ly, sin_r * lx + cos_r * ly
    lx, ly = reals[manifold + at.FACE_X], reals[manifold + at.FACE_Y]
    face_x = memory[reference + width * at.X] + (cos_r * lx + -sin_r * ly)
    face_y = memory[reference + width * at.Y] + (sin_r * lx + cos_r * ly)
    # Positions of the points are taken before any of them is corrected.
    ix, iy = memory[incident + width * at.X], memory[incident + width * at.Y]
    xa, ya, angle_a = memory[a + width * at.X], memory[a + width * at.Y], memory[a + width * at.ANGLE]
    xb, yb, angle_b = memory[b + width * at.X], memory[b + width * at.Y], memory[b + width * at.ANGLE]
    deepest = 0.0
    moved = False
    for point in range(int(memory[mine + at.SOLVED])):
        lx, ly = reals[manifold + at.POINT + 2 * point], reals[manifold + at.POINT + 2 * point + 1]
        x, y = ix + (cos_i * lx + -sin_i * ly), iy + (sin_i * lx + cos_i * ly)
        separation = (x - face_x) * nx + (y - face_y) * ny - (RADIUS + RADIUS)
        rax, ray, rbx, rby = x - xa, y - ya, x - xb, y - yb
        deepest = min(deepest, separation)
        correction = min(max(separation + LINEAR_SLOP, -MAX_LINEAR_CORRECTION), 0.0)
        if correction == 0.0:
            continue
        moved = True
        impulse = -memory[mine + at.EQUALIZED_MASS + point] * correction
        px, py = (impulse * -nx, impulse * -ny) if flipped else (impulse * nx, impulse * ny)
        xa -= inverse_mass_a * px
        ya -= inverse_mass_a * py
        angle_a -= inverse_i_a * (rax * py - ray * px)
        xb += inverse_mass_b * px
        yb += inverse_mass_b * py
        angle_b += inverse_i_b * (rbx * py - rby * px)
    if moved and body_a < at.MOVING:
        _move(lanes, memory, a, xa, ya, angle_a)
    if moved and body_b < at.MOVING:
        _move(lanes, memory, b, xb, yb, angle_b)
    return deepest


@kernel
def _move(lanes, memory, body, x, y, angle):
    width = len(lanes)
    memory[body + width * at.X], memory[body + width * at.Y], memory[body + width * at.ANGLE] = x, y, angle
    sine, cosine = sine_and_cosine(lanes, angle)
    memory[body + width * at.COSINE], memory[body + width * at.SINE] = cosine, sine

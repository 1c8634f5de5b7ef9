"""What touching bodies ask of the velocities (normal and friction impulses), then of the positions."""

import math

from . import layout as at
from .bodies import FRICTION, INVERSE_INERTIA, INVERSE_MASS, MASS, RADIUS
from .compiled import compiled
from .contacts import world_normal, world_point
from .joints import LINEAR_SLOP, turn

MAX_LINEAR_CORRECTION = 0.2
MAX_CONDITION_NUMBER = 100

# What a contact keeps from the start of a frame's solution to its end, in `scratch` from CONTACT_SCRATCH_AT on.
# Two of each number from R_AX to EQUALIZED_MASS, one a point; then K of the two normals, and its inverse.
NORMAL_X, NORMAL_Y, SOLVED, R_AX, R_AY, R_BX, R_BY = 0, 1, 2, 3, 5, 7, 9
NORMAL_MASS, TANGENT_MASS, EQUALIZED_MASS = 11, 13, 15
K_XX, K_XY, K_YY, MASS_XX, MASS_XY, MASS_YX, MASS_YY, CONTACT_SCRATCH = 17, 18, 19, 20, 21, 22, 23, 24


@compiled
def start_contact(reals, integers, scratch, mine, contact):
    """Arms and effective masses of the contact's points, from the positions at the start of the frame."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    nx, ny = world_normal(reals, integers, contact)
    scratch[mine + NORMAL_X], scratch[mine + NORMAL_Y] = nx, ny
    points = integers[at.POINTS + contact]
    for point in range(points):
        x, y = world_point(reals, integers, contact, point)
        rax, ray = x - reals[6 * a + at.X], y - reals[6 * a + at.Y]
        rbx, rby = x - reals[6 * b + at.X], y - reals[6 * b + at.Y]
        cross_a, cross_b = rax * ny - ray * nx, rbx * ny - rby * nx
        cross_a *= cross_a
        cross_b *= cross_b
        scratch[mine + NORMAL_MASS + point] = 1 / (ma + mb + ia * cross_a + ib * cross_b)
        equalized = MASS[a] * ma + MASS[b] * mb
        equalized += MASS[a] * ia * cross_a + MASS[b] * ib * cross_b
        scratch[mine + EQUALIZED_MASS + point] = 1 / equalized
        tx, ty = ny, -nx
        cross_a, cross_b = rax * ty - ray * tx, rbx * ty - rby * tx
        cross_a *= cross_a
        cross_b *= cross_b
        scratch[mine + TANGENT_MASS + point] = 1 / (ma + mb + ia * cross_a + ib * cross_b)
        scratch[mine + R_AX + point], scratch[mine + R_AY + point] = rax, ray
        scratch[mine + R_BX + point], scratch[mine + R_BY + point] = rbx, rby
    if points == 2:
        ra1 = scratch[mine + R_AX] * ny - scratch[mine + R_AY] * nx
        rb1 = scratch[mine + R_BX] * ny - scratch[mine + R_BY] * nx
        ra2 = scratch[mine + R_AX + 1] * ny - scratch[mine + R_AY + 1] * nx
        rb2 = scratch[mine + R_BX + 1] * ny - scratch[mine + R_BY + 1] * nx
        xx = ma + mb + ia * ra1 * ra1 + ib * rb1 * rb1
        yy = ma + mb + ia * ra2 * ra2 + ib * rb2 * rb2
        xy = ma + mb + ia * ra1 * ra2 + ib * rb1 * rb2
        if MAX_CONDITION_NUMBER * (xx * yy - xy * xy) > xx * xx:
            determinant = xx * yy - xy * xy
            if determinant != 0:
                determinant = 1 / determinant
            scratch[mine + K_XX], scratch[mine + K_XY], scratch[mine + K_YY] = xx, xy, yy
            scratch[mine + MASS_XX], scratch[mine + MASS_XY] = determinant * yy, -determinant * xy
            scratch[mine + MASS_YX], scratch[mine + MASS_YY] = -determinant * xy, determinant * xx
        else:
            points = 1
    scratch[mine + SOLVED] = points


@compiled
def warm_start_contact(reals, integers, scratch, mine, contact):
    """Apply the last frame's impulses."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    nx, ny = scratch[mine + NORMAL_X], scratch[mine + NORMAL_Y]
    tx, ty = ny, -nx
    for point in range(int(scratch[mine + SOLVED])):
        normal, tangent = reals[manifold + at.NORMAL_IMPULSE + point], reals[manifold + at.TANGENT_IMPULSE + point]
        px, py = normal * nx + tangent * tx, normal * ny + tangent * ty
        reals[6 * a + at.SPIN] -= ia * (scratch[mine + R_AX + point] * py - scratch[mine + R_AY + point] * px)
        reals[6 * a + at.VX] -= ma * px
        reals[6 * a + at.VY] -= ma * py
        reals[6 * b + at.SPIN] += ib * (scratch[mine + R_BX + point] * py - scratch[mine + R_BY + point] * px)
        reals[6 * b + at.VX] += mb * px
        reals[6 * b + at.VY] += mb * py


@compiled
def _two_normal_impulses(xx, xy, yy, ixx, ixy, iyx, iyy, mass1, mass2, b1, b2):
    """Impulses x >= 0 with K x + b >= 0 and x . (K x + b) = 0: the four cases in turn; False if none holds."""
    x1 = -(ixx * b1 + ixy * b2)
    x2 = -(iyx * b1 + iyy * b2)
    if x1 >= 0 and x2 >= 0:
        return True, x1, x2
    x1 = -mass1 * b1
    if x1 >= 0 and xy * x1 + b2 >= 0:
        return True, x1, 0.0
    x2 = -mass2 * b2
    if x2 >= 0 and xy * x2 + b1 >= 0:
        return True, 0.0, x2
    return b1 >= 0 and b2 >= 0, 0.0, 0.0


@compiled
def solve_contact_velocity(reals, integers, scratch, mine, contact):
    """One iteration on the velocities: friction at each point, then the normals together."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    ma, mb, ia, ib = INVERSE_MASS[a], INVERSE_MASS[b], INVERSE_INERTIA[a], INVERSE_INERTIA[b]
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    normal_at, tangent_at = manifold + at.NORMAL_IMPULSE, manifold + at.TANGENT_IMPULSE
    nx, ny = scratch[mine + NORMAL_X], scratch[mine + NORMAL_Y]
    tx, ty = ny, -nx
    friction = math.sqrt(FRICTION[a] * FRICTION[b])
    vax, vay, wa = reals[6 * a + at.VX], reals[6 * a + at.VY], reals[6 * a + at.SPIN]
    vbx, vby, wb = reals[6 * b + at.VX], reals[6 * b + at.VY], reals[6 * b + at.SPIN]
    points = int(scratch[mine + SOLVED])
    for point in range(points):
        rax, ray = scratch[mine + R_AX + point], scratch[mine + R_AY + point]
        rbx, rby = scratch[mine + R_BX + point], scratch[mine + R_BY + point]
        dvx = vbx - wb * rby - vax + wa * ray
        dvy = vby + wb * rbx - vay - wa * rax
        most = friction * reals[normal_at + point]
        before = reals[tangent_at + point]
        after = min(max(before + scratch[mine + TANGENT_MASS + point] * -(dvx * tx + dvy * ty), -most), most)
        change = after - before
        px, py = change * tx, change * ty
        vax -= ma * px
        vay -= ma * py
        wa -= ia * (rax * py - ray * px)
        vbx += mb * px
        vby += mb * py
        wb += ib * (rbx * py - rby * px)
        reals[tangent_at + point] = after

    rax1, ray1 = scratch[mine + R_AX], scratch[mine + R_AY]
    rbx1, rby1 = scratch[mine + R_BX], scratch[mine + R_BY]
    dvx = vbx - wb * rby1 - vax + wa * ray1
    dvy = vby + wb * rbx1 - vay - wa * rax1
    vn1 = dvx * nx + dvy * ny
    old1 = reals[normal_at]
    if points == 1:
        after = max(old1 + -scratch[mine + NORMAL_MASS] * vn1, 0.0)
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
        rax2, ray2 = scratch[mine + R_AX + 1], scratch[mine + R_AY + 1]
        rbx2, rby2 = scratch[mine + R_BX + 1], scratch[mine + R_BY + 1]
        dvx = vbx - wb * rby2 - vax + wa * ray2
        dvy = vby + wb * rbx2 - vay - wa * rax2
        vn2 = dvx * nx + dvy * ny
        old2 = reals[normal_at + 1]
        xx, xy, yy = scratch[mine + K_XX], scratch[mine + K_XY], scratch[mine + K_YY]
        solved, new1, new2 = _two_normal_impulses(
            xx, xy, yy,
            scratch[mine + MASS_XX], scratch[mine + MASS_XY], scratch[mine + MASS_YX], scratch[mine + MASS_YY],
            scratch[mine + NORMAL_MASS], scratch[mine + NORMAL_MASS + 1],
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

    reals[6 * a + at.VX], reals[6 * a + at.VY], reals[6 * a + at.SPIN] = vax, vay, wa
    reals[6 * b + at.VX], reals[6 * b + at.VY], reals[6 * b + at.SPIN] = vbx, vby, wb


@compiled
def solve_contact_position(reals, integers, scratch, mine, contact):
    """One iteration on the positions; the deepest separation of the contact's points."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    inverse_mass_a, inverse_mass_b = MASS[a] * INVERSE_MASS[a], MASS[b] * INVERSE_MASS[b]
    inverse_i_a, inverse_i_b = MASS[a] * INVERSE_INERTIA[a], MASS[b] * INVERSE_INERTIA[b]
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    flipped = integers[at.FACE + contact]
    reference, incident = (b, a) if flipped else (a, b)
    cos_r, sin_r = reals[at.COS + reference], reals[at.SIN + reference]
    cos_i, sin_i = reals[at.COS + incident], reals[at.SIN + incident]
    lx, ly = reals[manifold + at.PLANE_X], reals[manifold + at.PLANE_Y]
    nx, ny = cos_r * lx + -sin_r * ly, sin_r * lx + cos_r * ly
    lx, ly = reals[manifold + at.FACE_X], reals[manifold + at.FACE_Y]
    face_x = reals[6 * reference + at.X] + (cos_r * lx + -sin_r * ly)
    face_y = reals[6 * reference + at.Y] + (sin_r * lx + cos_r * ly)
    # Positions of the points are taken before any of them is corrected.
    ix, iy = reals[6 * incident + at.X], reals[6 * incident + at.Y]
    deepest = 0.0
    for point in range(int(scratch[mine + SOLVED])):
        lx, ly = reals[manifold + at.POINT + 2 * point], reals[manifold + at.POINT + 2 * point + 1]
        x, y = ix + (cos_i * lx + -sin_i * ly), iy + (sin_i * lx + cos_i * ly)
        separation = (x - face_x) * nx + (y - face_y) * ny - (RADIUS + RADIUS)
        rax, ray = x - reals[6 * a + at.X], y - reals[6 * a + at.Y]
        rbx, rby = x - reals[6 * b + at.X], y - reals[6 * b + at.Y]
        deepest = min(deepest, separation)
        correction = min(max(separation + LINEAR_SLOP, -MAX_LINEAR_CORRECTION), 0.0)
        impulse = -scratch[mine + EQUALIZED_MASS + point] * correction
        px, py = (impulse * -nx, impulse * -ny) if flipped else (impulse * nx, impulse * ny)
        reals[6 * a + at.X] -= inverse_mass_a * px
        reals[6 * a + at.Y] -= inverse_mass_a * py
        reals[6 * a + at.ANGLE] -= inverse_i_a * (rax * py - ray * px)
        reals[6 * b + at.X] += inverse_mass_b * px
        reals[6 * b + at.Y] += inverse_mass_b * py
        reals[6 * b + at.ANGLE] += inverse_i_b * (rbx * py - rby * px)
    if a < at.MOVING:
        turn(reals, a)
    if b < at.MOVING:
        turn(reals, b)
    return deepest

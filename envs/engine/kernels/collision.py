"""Collision of two boxes: up to two contact points of one body on a face of the other."""

from .. import layout as at
from ..bodies import EDGE_MIDDLE, EDGE_NORMAL, EDGE_TANGENT, RADIUS, VERTICES
from .compiled import inlined, kernel

_BOTH_RADII = RADIUS + RADIUS
_RELATIVE_TOLERANCE = 0.98
_ABSOLUTE_TOLERANCE = 0.001


@kernel
def _edge_separation(reals, a, b, edge):
    """Return the distance of body b outside an edge of body a."""
    cos_a, sin_a = reals[at.COS + a], reals[at.SIN + a]
    cos_b, sin_b = reals[at.COS + b], reals[at.SIN + b]
    nx, ny = EDGE_NORMAL[edge, 0], EDGE_NORMAL[edge, 1]
    world_x = cos_a * nx + -sin_a * ny
    world_y = sin_a * nx + cos_a * ny
    local_x = cos_b * world_x + sin_b * world_y
    local_y = -sin_b * world_x + cos_b * world_y
    support = 0
    least = 1.7976931348623157e308
    for vertex in range(4):
        depth = VERTICES[b, vertex, 0] * local_x + VERTICES[b, vertex, 1] * local_y
        if depth < least:
            least = depth
            support = vertex
    ax, ay = VERTICES[a, edge, 0], VERTICES[a, edge, 1]
    bx, by = VERTICES[b, support, 0], VERTICES[b, support, 1]
    own_x = reals[6 * a + at.X] + (cos_a * ax + -sin_a * ay)
    own_y = reals[6 * a + at.Y] + (sin_a * ax + cos_a * ay)
    other_x = reals[6 * b + at.X] + (cos_b * bx + -sin_b * by)
    other_y = reals[6 * b + at.Y] + (sin_b * bx + cos_b * by)
    return (other_x - own_x) * world_x + (other_y - own_y) * world_y


@inlined
def _facing_edge(x, y):
    """Return the edge whose normal points most in the direction (x, y)."""
    edge = 0
    most = -1.7976931348623157e308
    for candidate in range(4):
        along = EDGE_NORMAL[candidate, 0] * x + EDGE_NORMAL[candidate, 1] * y
        if along > most:
            most = along
            edge = candidate
    return edge


@kernel
def _max_separation(reals, a, b):
    """Return the edge of body a with the largest separation from body b, and that; climbs from the edge facing b."""
    cos_a, sin_a = reals[at.COS + a], reals[at.SIN + a]
    dx = reals[6 * b + at.X] - reals[6 * a + at.X]
    dy = reals[6 * b + at.Y] - reals[6 * a + at.Y]
    local_x = dx * cos_a + dy * sin_a
    local_y = dx * -sin_a + dy * cos_a
    edge = _facing_edge(local_x, local_y)
    here = _edge_separation(reals, a, b, edge)
    previous = (edge + 3) % 4
    before = _edge_separation(reals, a, b, previous)
    following = (edge + 1) % 4
    after = _edge_separation(reals, a, b, following)
    if before > here and before > after:
        step, best, separation = -1, previous, before
    elif after > here:
        step, best, separation = 1, following, after
    else:
        return edge, here
    while True:
        edge = (best + step) % 4
        here = _edge_separation(reals, a, b, edge)
        if not here > separation:
            return best, separation
        best, separation = edge, here


@kernel
def _clip(x1, y1, key1, x2, y2, key2, nx, ny, offset):
    """Clip a segment to the part behind a line; return the number of points left (2 if usable) and both with keys."""
    distance1 = nx * x1 + ny * y1 - offset
    distance2 = nx * x2 + ny * y2 - offset
    if distance1 <= 0 and distance2 <= 0:
        return 2, x1, y1, key1, x2, y2, key2
    if distance1 * distance2 < 0:
        part = distance1 / (distance1 - distance2)
        x, y = x1 + part * (x2 - x1), y1 + part * (y2 - y1)
        if distance1 > 0:
            return 2, x2, y2, key2, x, y, key1
        return 2, x1, y1, key1, x, y, key2
    return 1, x1, y1, key1, x2, y2, key2


@kernel
def collide(reals, integers, contact):
    """Recompute a contact's manifold; its impulses stay unchanged."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    integers[at.POINTS + contact] = 0
    edge_a, separation_a = _max_separation(reals, a, b)
    if separation_a > _BOTH_RADII:
        return
    edge_b, separation_b = _max_separation(reals, b, a)
    if separation_b > _BOTH_RADII:
        return
    if separation_b > _RELATIVE_TOLERANCE * separation_a + _ABSOLUTE_TOLERANCE:
        reference, incident, edge, flip = b, a, edge_b, 1
    else:
        reference, incident, edge, flip = a, b, edge_a, 0
    cos_r, sin_r = reals[at.COS + reference], reals[at.SIN + reference]
    cos_i, sin_i = reals[at.COS + incident], reals[at.SIN + incident]
    rx, ry = reals[6 * reference + at.X], reals[6 * reference + at.Y]
    ix, iy = reals[6 * incident + at.X], reals[6 * incident + at.Y]

    # The incident edge: the one whose normal points most against the reference edge's.
    nx, ny = EDGE_NORMAL[edge, 0], EDGE_NORMAL[edge, 1]
    world_x = cos_r * nx + -sin_r * ny
    world_y = sin_r * nx + cos_r * ny
    local_x = cos_i * world_x + sin_i * world_y
    local_y = -sin_i * world_x + cos_i * world_y
    first = 0
    least = 1.7976931348623157e308
    for candidate in range(4):
        along = local_x * EDGE_NORMAL[candidate, 0] + local_y * EDGE_NORMAL[candidate, 1]
        if along < least:
            least = along
            first = candidate
    second = (first + 1) % 4
    vx, vy = VERTICES[incident, first, 0], VERTICES[incident, first, 1]
    x1, y1 = ix + (cos_i * vx + -sin_i * vy), iy + (sin_i * vx + cos_i * vy)
    key1 = edge | (first << 8)
    vx, vy = VERTICES[incident, second, 0], VERTICES[incident, second, 1]
    x2, y2 = ix + (cos_i * vx + -sin_i * vy), iy + (sin_i * vx + cos_i * vy)
    key2 = edge | (second << 8) | (1 << 16)

    # Clip it against the sides of the reference edge.
    lx, ly = EDGE_TANGENT[reference, edge, 0], EDGE_TANGENT[reference, edge, 1]
    tx, ty = cos_r * lx + -sin_r * ly, sin_r * lx + cos_r * ly
    front_x, front_y = ty, -tx
    following = (edge + 1) % 4
    vx, vy = VERTICES[reference, edge, 0], VERTICES[reference, edge, 1]
    v1x, v1y = rx + (cos_r * vx + -sin_r * vy), ry + (sin_r * vx + cos_r * vy)
    vx, vy = VERTICES[reference, following, 0], VERTICES[reference, following, 1]
    v2x, v2y = rx + (cos_r * vx + -sin_r * vy), ry + (sin_r * vx + cos_r * vy)
    front = front_x * v1x + front_y * v1y
    side1 = -tx * v1x - ty * v1y + _BOTH_RADII
    side2 = tx * v2x + ty * v2y + _BOTH_RADII
    count, x1, y1, key1, x2, y2, key2 = _clip(x1, y1, key1, x2, y2, key2, -tx, -ty, side1)
    if count < 2:
        return
    count, x1, y1, key1, x2, y2, key2 = _clip(x1, y1, key1, x2, y2, key2, tx, ty, side2)
    if count < 2:
        return

    manifold = at.CONTACT + at.CONTACT_REALS * contact
    integers[at.FACE + contact] = flip
    reals[manifold + at.PLANE_X] = ly
    reals[manifold + at.PLANE_Y] = -lx
    reals[manifold + at.FACE_X] = EDGE_MIDDLE[reference, edge, 0]
    reals[manifold + at.FACE_Y] = EDGE_MIDDLE[reference, edge, 1]
    points = 0
    if front_x * x1 + front_y * y1 - front <= _BOTH_RADII:
        dx, dy = x1 - ix, y1 - iy
        reals[manifold + at.POINT] = dx * cos_i + dy * sin_i
        reals[manifold + at.POINT + 1] = dx * -sin_i + dy * cos_i
        integers[at.KEY + 2 * contact] = key1 | (flip << 24)
        points = 1
    if front_x * x2 + front_y * y2 - front <= _BOTH_RADII:
        dx, dy = x2 - ix, y2 - iy
        reals[manifold + at.POINT + 2 * points] = dx * cos_i + dy * sin_i
        reals[manifold + at.POINT + 2 * points + 1] = dx * -sin_i + dy * cos_i
        integers[at.KEY + 2 * contact + points] = key2 | (flip << 24)
        points += 1
    integers[at.POINTS + contact] = points

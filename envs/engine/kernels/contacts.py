"""The list of contacts: made by the broad phase, renewed each frame, destroyed when bodies part.

World and body lists of the original are all 'the latest made first', so one list in the order of making serves for all.
"""

import math

from .. import layout as at
from ..bodies import PARTNERS
from .collision import collide
from .compiled import inlined, kernel
from .tree import boxes_overlap, leaves_overlap, next_overlapping, node_after


@inlined
def wake(reals, integers, body):
    """Wake a body and restart its time at rest."""
    integers[at.AWAKE + body] = 1
    reals[at.SLEEP_TIME + body] = 0.0


@inlined
def rouse(reals, integers, body):
    """Wake a body if it sleeps."""
    if integers[at.AWAKE + body] == 0:
        wake(reals, integers, body)


@inlined
def fixed_body_of(integers, contact):
    """Return the fixed body of a contact, or NONE."""
    other = max(integers[at.BODY_A + contact], integers[at.BODY_B + contact])
    return other if other >= at.MOVING else at.NONE


@inlined
def moving_body_of(integers, contact):
    """Return the moving body of a contact; of two, the first in `layout`."""
    return min(integers[at.BODY_A + contact], integers[at.BODY_B + contact])


@kernel
def _add_pair(integers, a, b):
    if integers[at.CONTACT_COUNT] == at.CONTACTS:  # no game gets there; a made-up one could
        return
    contact = 0
    while integers[at.USED + contact] != 0:
        contact += 1
    integers[at.USED + contact] = 1
    integers[at.ORDER + integers[at.CONTACT_COUNT]] = contact
    integers[at.CONTACT_COUNT] += 1
    if integers[at.LEAF + b] < integers[at.LEAF + a]:
        a, b = b, a
    integers[at.BODY_A + contact] = a
    integers[at.BODY_B + contact] = b
    integers[at.TOUCHING + contact] = 0
    integers[at.POINTS + contact] = 0
    integers[at.PAIRED + a] |= 1 << b
    integers[at.PAIRED + b] |= 1 << a


@kernel
def find_new_contacts(reals, integers, body):
    """Make the contacts of a body that moved: with those whose boxes in the tree overlap its own.

    The tree is walked only to order several of them.
    """
    found = number = 0
    possible = PARTNERS[body] & integers[at.IN_TREE] & ~integers[at.PAIRED + body]
    for other in range(at.ROWS):
        if possible >> other & 1 and leaves_overlap(reals, integers, body, other):
            found |= 1 << other
            number += 1
            last = other
    if number == 1:
        _add_pair(integers, body, last)
    elif number > 1:
        leaf = integers[at.LEAF + body]
        node = next_overlapping(reals, integers, integers[at.ROOT], leaf)
        while node != at.NONE:
            other = integers[at.NODE_BODY + node]
            if found >> other & 1:
                _add_pair(integers, body, other)
            node = next_overlapping(reals, integers, node_after(integers, node), leaf)


@kernel
def _remove(reals, integers, place):
    contact = integers[at.ORDER + place]
    if integers[at.POINTS + contact] > 0:
        wake(reals, integers, integers[at.BODY_A + contact])
        wake(reals, integers, integers[at.BODY_B + contact])
    integers[at.USED + contact] = 0
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    integers[at.PAIRED + a] &= ~(1 << b)
    integers[at.PAIRED + b] &= ~(1 << a)
    count = integers[at.CONTACT_COUNT] - 1
    for i in range(place, count):
        integers[at.ORDER + i] = integers[at.ORDER + i + 1]
    integers[at.CONTACT_COUNT] = count


@kernel
def destroy_contacts_of(reals, integers, body):
    """Destroy every contact of a body, the latest made first."""
    for place in range(integers[at.CONTACT_COUNT] - 1, -1, -1):
        contact = integers[at.ORDER + place]
        if integers[at.BODY_A + contact] == body or integers[at.BODY_B + contact] == body:
            _remove(reals, integers, place)


@kernel
def _rightmost_point(reals, integers, contact):
    """Return the largest x of the contact's points in the world; with one point, the original compares it with 0."""
    largest = -1e5
    for point in range(2):
        x = 0.0
        if point < integers[at.POINTS + contact]:
            x, _ = world_point(reals, integers, contact, point)
        largest = max(largest, x)
    return largest


@inlined
def world_normal(reals, integers, contact):
    """Return the contact's normal in the world, from A to B."""
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    flipped = integers[at.FACE + contact]
    reference = integers[at.BODY_B + contact] if flipped else integers[at.BODY_A + contact]
    cosine, sine = reals[at.COS + reference], reals[at.SIN + reference]
    px, py = reals[manifold + at.PLANE_X], reals[manifold + at.PLANE_Y]
    nx, ny = cosine * px + -sine * py, sine * px + cosine * py
    return (-nx, -ny) if flipped else (nx, ny)


@kernel
def world_point(reals, integers, contact, point):
    """Return a point of the contact in the world, midway between the two skins."""
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    reference, incident = (b, a) if integers[at.FACE + contact] else (a, b)
    cosine, sine = reals[at.COS + reference], reals[at.SIN + reference]
    px, py = reals[manifold + at.PLANE_X], reals[manifold + at.PLANE_Y]
    nx, ny = cosine * px + -sine * py, sine * px + cosine * py
    lx, ly = reals[manifold + at.FACE_X], reals[manifold + at.FACE_Y]
    # Unlike elsewhere, the original adds the terms to the position one after the other here.
    face_x = reals[6 * reference + at.X] + cosine * lx + -sine * ly
    face_y = reals[6 * reference + at.Y] + sine * lx + cosine * ly
    cosine, sine = reals[at.COS + incident], reals[at.SIN + incident]
    lx, ly = reals[manifold + at.POINT + 2 * point], reals[manifold + at.POINT + 2 * point + 1]
    x = reals[6 * incident + at.X] + cosine * lx + -sine * ly
    y = reals[6 * incident + at.Y] + sine * lx + cosine * ly
    shift = 0.5 * (0.005 - (x - face_x) * nx - (y - face_y) * ny - 0.005)
    return x + shift * nx, y + shift * ny


@kernel
def _begin(reals, integers, contact):
    """Apply the rules of the game for a first touch: jump, landing, fall."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    if not at.TRACK <= a < at.TRACK + at.TRACKS or reals[at.FALLEN] != 0.0:
        return
    if b == at.LEFT_FOOT:
        x = _rightmost_point(reals, integers, contact)
        if reals[at.JUMPED] == 0.0 and x * 20 > 19780.0:
            reals[at.JUMPED] = 1.0
        if reals[at.JUMPED] != 0.0 and reals[at.LANDED] == 0.0:
            if x * 20 > 20000.0:
                reals[at.LANDED] = 1.0
            reals[at.SCORE] = rounded(x) / 10
    elif b in (at.RIGHT_FOREARM, at.LEFT_FOREARM, at.RIGHT_ARM, at.LEFT_ARM, at.HEAD):
        reals[at.FALLEN] = 1.0
        if reals[at.JUMPED] != 0.0 and reals[at.LANDED] == 0.0:
            reals[at.LANDED] = 1.0
        reals[at.SCORE] = rounded(_rightmost_point(reals, integers, contact)) / 10


@inlined
def rounded(x):
    """Round as JavaScript's Math.round: to the nearest whole number, halves up."""
    below = math.floor(x)
    return below + 1.0 if x - below >= 0.5 else below


@kernel
def _renew(reals, integers, contact):
    """Recompute a contact's points; points that persist keep their impulses for the warm start."""
    a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
    manifold = at.CONTACT + at.CONTACT_REALS * contact
    was_touching = integers[at.TOUCHING + contact]
    old_points = integers[at.POINTS + contact]
    if boxes_overlap(reals, at.BOX + 4 * a, at.BOX + 4 * b):
        old_key1, old_key2 = integers[at.KEY + 2 * contact], integers[at.KEY + 2 * contact + 1]
        normal1, normal2 = reals[manifold + at.NORMAL_IMPULSE], reals[manifold + at.NORMAL_IMPULSE + 1]
        tangent1, tangent2 = reals[manifold + at.TANGENT_IMPULSE], reals[manifold + at.TANGENT_IMPULSE + 1]
        collide(reals, integers, contact)
        for point in range(integers[at.POINTS + contact]):
            key = integers[at.KEY + 2 * contact + point]
            normal, tangent = 0.0, 0.0
            if old_points > 0 and key == old_key1:
                normal, tangent = normal1, tangent1
            elif old_points > 1 and key == old_key2:
                normal, tangent = normal2, tangent2
            reals[manifold + at.NORMAL_IMPULSE + point] = normal
            reals[manifold + at.TANGENT_IMPULSE + point] = tangent
    else:
        integers[at.POINTS + contact] = 0
    touching = 1 if integers[at.POINTS + contact] > 0 else 0
    integers[at.TOUCHING + contact] = touching
    if touching != was_touching:
        wake(reals, integers, a)
        wake(reals, integers, b)
        if touching:
            _begin(reals, integers, contact)


@kernel
def renew_contacts(reals, integers):
    """Once a frame, before the world is solved: renew the contacts of bodies that are awake, the latest made first."""
    for place in range(integers[at.CONTACT_COUNT] - 1, -1, -1):
        contact = integers[at.ORDER + place]
        a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
        if integers[at.AWAKE + a] == 0 and integers[at.AWAKE + b] == 0:
            continue
        if leaves_overlap(reals, integers, a, b):
            _renew(reals, integers, contact)
        else:
            _remove(reals, integers, place)

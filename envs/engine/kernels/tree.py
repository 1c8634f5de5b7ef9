"""The broad phase: a tree of boxes that finds which bodies may touch.

The order in which the tree reports pairs decides the order of contacts, and that the last bits of every impulse; so the
tree is the original's, node for node: nodes are numbered as they are made, freed nodes are used again (the last freed
first), and of two bodies in a pair the one with the lower leaf comes first.

A box is four numbers, left, top, −right and −bottom, so that one instruction works on all its sides: the smallest box
around two is the smaller number of each, and a box is within another if none of its numbers is less.
"""

from .. import layout as at
from ..bodies import HALF_HEIGHT, HALF_WIDTH, RADIUS
from .compiled import inlined, kernel
from .lanes import any_of, joined, load, split, store

EXTENSION = 0.1
MULTIPLIER = 2.0

SIDES = (0, 0, 0, 0)
"""As many lanes as a box has numbers."""


@kernel
def box_of(body, x, y, cosine, sine, out, place):
    """Write the box of a body in a pose, its skin included, to `out[place : place + 4]`."""
    ex = abs(cosine) * HALF_WIDTH[body] + abs(sine) * HALF_HEIGHT[body]
    ey = abs(sine) * HALF_WIDTH[body] + abs(cosine) * HALF_HEIGHT[body]
    out[place] = (x - ex) - RADIUS
    out[place + 1] = (y - ey) - RADIUS
    out[place + 2] = -((x + ex) + RADIUS)
    out[place + 3] = -((y + ey) + RADIUS)


@inlined
def boxes_overlap(reals, first, second):
    """Return True if the boxes at two places of `reals` overlap; touching counts."""
    low, high = split(load(reals, first, SIDES))
    return not any_of(load(reals, second, SIDES) + joined(high, low) > 0.0)


@inlined
def _box(node):
    return at.NODE_BOX + 4 * node


@inlined
def _allocate(integers):
    node = integers[at.FREE]
    if node == at.NONE:
        node = integers[at.MADE]
        integers[at.MADE] = node + 1
    else:
        integers[at.FREE] = integers[at.PARENT + node]
    integers[at.PARENT + node] = at.NONE
    integers[at.CHILD_1 + node] = at.NONE
    integers[at.CHILD_2 + node] = at.NONE
    return node


@inlined
def _free(integers, node):
    integers[at.PARENT + node] = integers[at.FREE]
    integers[at.FREE] = node


@inlined
def _twice_the_centre(reals, node):
    low, high = split(load(reals, _box(node), SIDES))
    return low - high


@inlined
def _distance(reals, node, centre):
    """Twice the distance of a node's centre from the centre of which `centre` is twice the place."""
    along_x, along_y = split(abs(_twice_the_centre(reals, node) - centre))
    return along_x + along_y


@kernel
def _insert(reals, integers, leaf):
    root = integers[at.ROOT]
    if root == at.NONE:
        integers[at.ROOT] = leaf
        integers[at.PARENT + leaf] = at.NONE
        return
    # The original compares distances of centres; twice as far is as exact.
    centre = _twice_the_centre(reals, leaf)
    sibling = root
    while integers[at.CHILD_1 + sibling] != at.NONE:
        first = integers[at.CHILD_1 + sibling]
        second = integers[at.CHILD_2 + sibling]
        sibling = first if _distance(reals, first, centre) < _distance(reals, second, centre) else second
    grandparent = integers[at.PARENT + sibling]
    parent = _allocate(integers)
    integers[at.PARENT + parent] = grandparent
    box = min(load(reals, _box(leaf), SIDES), load(reals, _box(sibling), SIDES))
    store(reals, _box(parent), box)
    integers[at.CHILD_1 + parent] = sibling
    integers[at.CHILD_2 + parent] = leaf
    integers[at.PARENT + sibling] = parent
    integers[at.PARENT + leaf] = parent
    if grandparent == at.NONE:
        integers[at.ROOT] = parent
        return
    if integers[at.CHILD_1 + grandparent] == sibling:
        integers[at.CHILD_1 + grandparent] = parent
    else:
        integers[at.CHILD_2 + grandparent] = parent
    node = grandparent
    while node != at.NONE and any_of(load(reals, _box(node), SIDES) > box):
        box = _box_around_children(reals, integers, node)
        store(reals, _box(node), box)
        node = integers[at.PARENT + node]


@inlined
def _box_around_children(reals, integers, node):
    first = load(reals, _box(integers[at.CHILD_1 + node]), SIDES)
    return min(first, load(reals, _box(integers[at.CHILD_2 + node]), SIDES))


@kernel
def _remove(reals, integers, leaf):
    if leaf == integers[at.ROOT]:
        integers[at.ROOT] = at.NONE
        return
    parent = integers[at.PARENT + leaf]
    grandparent = integers[at.PARENT + parent]
    first = integers[at.CHILD_1 + parent]
    sibling = integers[at.CHILD_2 + parent] if first == leaf else first
    if grandparent == at.NONE:
        integers[at.ROOT] = sibling
        integers[at.PARENT + sibling] = at.NONE
        _free(integers, parent)
        return
    if integers[at.CHILD_1 + grandparent] == parent:
        integers[at.CHILD_1 + grandparent] = sibling
    else:
        integers[at.CHILD_2 + grandparent] = sibling
    integers[at.PARENT + sibling] = grandparent
    _free(integers, parent)
    node = grandparent
    while node != at.NONE:
        before = load(reals, _box(node), SIDES)
        box = _box_around_children(reals, integers, node)
        store(reals, _box(node), box)
        if not any_of(before > box):
            break
        node = integers[at.PARENT + node]


@kernel
def create_leaf(reals, integers, body):
    """Put a body's box into the tree."""
    leaf = _allocate(integers)
    for side in range(4):
        reals[_box(leaf) + side] = reals[at.BOX + 4 * body + side] - EXTENSION
    integers[at.LEAF + body] = leaf
    integers[at.NODE_BODY + leaf] = body
    integers[at.IN_TREE] |= 1 << body
    _insert(reals, integers, leaf)


@kernel
def destroy_leaf(reals, integers, body):
    """Take a body's box out of the tree."""
    leaf = integers[at.LEAF + body]
    _remove(reals, integers, leaf)
    _free(integers, leaf)
    integers[at.IN_TREE] &= ~(1 << body)


@kernel
def move_leaf(reals, integers, body, dx, dy):
    """Follow a body's box; return True if it left its enlarged box in the tree, which is then replaced."""
    if not leaves_its_box(reals, integers, body):
        return False
    leaf = integers[at.LEAF + body]
    _remove(reals, integers, leaf)
    margins = EXTENSION + MULTIPLIER * abs(joined(dx, dy))
    store(reals, _box(leaf), load(reals, at.BOX + 4 * body, SIDES) - joined(margins, margins))
    _insert(reals, integers, leaf)
    return True


@inlined
def leaves_its_box(reals, integers, body):
    """Return True if a body's box is no longer within the enlarged one in the tree."""
    leaf = integers[at.LEAF + body]
    return any_of(load(reals, _box(leaf), SIDES) > load(reals, at.BOX + 4 * body, SIDES))


@inlined
def leaves_overlap(reals, integers, first, second):
    """Return True if the enlarged boxes of two bodies overlap."""
    return boxes_overlap(reals, _box(integers[at.LEAF + first]), _box(integers[at.LEAF + second]))


@inlined
def node_after(integers, node):
    """Return the node after one and all below it, in the original's order: second children first."""
    parent = integers[at.PARENT + node]
    while parent != at.NONE:
        if integers[at.CHILD_2 + parent] == node:
            return integers[at.CHILD_1 + parent]
        node = parent
        parent = integers[at.PARENT + node]
    return at.NONE


@kernel
def next_overlapping(reals, integers, node, leaf):
    """Return the first leaf from `node` on, in the original's order, that overlaps `leaf`; NONE at the end."""
    while node != at.NONE:
        if not boxes_overlap(reals, _box(node), _box(leaf)):
            node = node_after(integers, node)
        elif integers[at.CHILD_1 + node] == at.NONE:
            break
        else:
            node = integers[at.CHILD_2 + node]
    return node

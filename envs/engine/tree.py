"""The broad phase: a tree of boxes that finds which bodies may touch.

The order in which the tree reports pairs decides the order of contacts, and that the last bits of every impulse; so the
tree is the original's, node for node: nodes are numbered as they are made, freed nodes are used again (the last freed
first), and of two bodies in a pair the one with the lower leaf comes first.
"""

from . import layout as at
from .bodies import HALF_HEIGHT, HALF_WIDTH, RADIUS
from .compiled import compiled

EXTENSION = 0.1
MULTIPLIER = 2.0


@compiled
def box_of(body, x, y, cosine, sine, out, place):
    """Write the box (left, top, right, bottom) of a body in a pose, its skin included, to `out[place:place + 4]`."""
    ex = abs(cosine) * HALF_WIDTH[body] + abs(sine) * HALF_HEIGHT[body]
    ey = abs(sine) * HALF_WIDTH[body] + abs(cosine) * HALF_HEIGHT[body]
    out[place] = (x - ex) - RADIUS
    out[place + 1] = (y - ey) - RADIUS
    out[place + 2] = (x + ex) + RADIUS
    out[place + 3] = (y + ey) + RADIUS


@compiled
def boxes_overlap(reals, first, second):
    """Whether the boxes at two places of `reals` overlap; touching counts."""
    return not (
        reals[second] - reals[first + 2] > 0
        or reals[second + 1] - reals[first + 3] > 0
        or reals[first] - reals[second + 2] > 0
        or reals[first + 1] - reals[second + 3] > 0
    )


@compiled
def _contains(reals, outer, inner):
    return (
        reals[outer] <= reals[inner]
        and reals[outer + 1] <= reals[inner + 1]
        and reals[inner + 2] <= reals[outer + 2]
        and reals[inner + 3] <= reals[outer + 3]
    )


@compiled
def _combine(reals, out, first, second):
    reals[out] = min(reals[first], reals[second])
    reals[out + 1] = min(reals[first + 1], reals[second + 1])
    reals[out + 2] = max(reals[first + 2], reals[second + 2])
    reals[out + 3] = max(reals[first + 3], reals[second + 3])


@compiled
def _box(node):
    return at.NODE_BOX + 4 * node


@compiled
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


@compiled
def _free(integers, node):
    integers[at.PARENT + node] = integers[at.FREE]
    integers[at.FREE] = node


@compiled
def _distance(reals, node, x, y):
    box = _box(node)
    return abs((reals[box] + reals[box + 2]) / 2 - x) + abs((reals[box + 1] + reals[box + 3]) / 2 - y)


@compiled
def _insert(reals, integers, leaf):
    root = integers[at.ROOT]
    if root == at.NONE:
        integers[at.ROOT] = leaf
        integers[at.PARENT + leaf] = at.NONE
        return
    box = _box(leaf)
    x = (reals[box] + reals[box + 2]) / 2
    y = (reals[box + 1] + reals[box + 3]) / 2
    sibling = root
    while integers[at.CHILD_1 + sibling] != at.NONE:
        first = integers[at.CHILD_1 + sibling]
        second = integers[at.CHILD_2 + sibling]
        sibling = first if _distance(reals, first, x, y) < _distance(reals, second, x, y) else second
    grandparent = integers[at.PARENT + sibling]
    parent = _allocate(integers)
    integers[at.PARENT + parent] = grandparent
    _combine(reals, _box(parent), box, _box(sibling))
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
    below, node = parent, grandparent
    while node != at.NONE and not _contains(reals, _box(node), _box(below)):
        _combine(reals, _box(node), _box(integers[at.CHILD_1 + node]), _box(integers[at.CHILD_2 + node]))
        below, node = node, integers[at.PARENT + node]


@compiled
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
        box = _box(node)
        left, top, right, bottom = reals[box], reals[box + 1], reals[box + 2], reals[box + 3]
        _combine(reals, box, _box(integers[at.CHILD_1 + node]), _box(integers[at.CHILD_2 + node]))
        if left <= reals[box] and top <= reals[box + 1] and reals[box + 2] <= right and reals[box + 3] <= bottom:
            break
        node = integers[at.PARENT + node]


@compiled
def create_leaf(reals, integers, body):
    """Put a body's box into the tree."""
    leaf = _allocate(integers)
    box, tight = _box(leaf), at.BOX + 4 * body
    reals[box] = reals[tight] - EXTENSION
    reals[box + 1] = reals[tight + 1] - EXTENSION
    reals[box + 2] = reals[tight + 2] + EXTENSION
    reals[box + 3] = reals[tight + 3] + EXTENSION
    integers[at.LEAF + body] = leaf
    integers[at.NODE_BODY + leaf] = body
    _insert(reals, integers, leaf)


@compiled
def destroy_leaf(reals, integers, body):
    """Take a body's box out of the tree."""
    leaf = integers[at.LEAF + body]
    _remove(reals, integers, leaf)
    _free(integers, leaf)


@compiled
def move_leaf(reals, integers, body, dx, dy):
    """Follow a body's box; True if it left the enlarged box in the tree, which is then renewed."""
    leaf = integers[at.LEAF + body]
    box, tight = _box(leaf), at.BOX + 4 * body
    if _contains(reals, box, tight):
        return False
    _remove(reals, integers, leaf)
    margin_x = EXTENSION + MULTIPLIER * abs(dx)
    margin_y = EXTENSION + MULTIPLIER * abs(dy)
    reals[box] = reals[tight] - margin_x
    reals[box + 1] = reals[tight + 1] - margin_y
    reals[box + 2] = reals[tight + 2] + margin_x
    reals[box + 3] = reals[tight + 3] + margin_y
    _insert(reals, integers, leaf)
    return True


@compiled
def leaves_overlap(reals, integers, first, second):
    """Whether the enlarged boxes of two bodies overlap."""
    return boxes_overlap(reals, _box(integers[at.LEAF + first]), _box(integers[at.LEAF + second]))


@compiled
def query(reals, integers, body, found, stack):
    """Leaves whose enlarged box overlaps a body's, into `found` in the original's order; their number."""
    count = 0
    own = _box(integers[at.LEAF + body])
    stack[0] = integers[at.ROOT]
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if boxes_overlap(reals, _box(node), own):
            first = integers[at.CHILD_1 + node]
            if first == at.NONE:
                found[count] = node
                count += 1
            else:
                stack[depth] = first
                stack[depth + 1] = integers[at.CHILD_2 + node]
                depth += 2
    return count

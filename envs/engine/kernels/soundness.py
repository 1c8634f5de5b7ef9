"""The rows of a game, checked before kernels play it.

Kernels follow the whole numbers of a game as indices and do not check them. A game that was saved comes from a file or
from anywhere, so its rows are checked when it is restored: whatever passes is played within its arrays and to an end.
"""

import numpy as np

from .. import layout as at
from ..bodies import PARTNERS
from .compiled import kernel

_LEAVES = [*range(at.MOVING), *range(at.TRACK, at.TRACK + at.TRACKS), at.BLOCK]
_IN_TREE = sum(1 << body for body in _LEAVES)
_HAS_LEAF = np.isin(np.arange(at.ROWS), _LEAVES).astype(np.int64)

SOUND, NOT_FINITE, NOT_FLAGS, NOT_A_TREE, NOT_CONTACTS = range(5)


@kernel
def fault_of(reals, integers):
    """Return SOUND or the fault of a game: its row of float64 [REALS] and its row of int32 [INTEGERS]."""
    for place in range(len(reals)):
        if not abs(reals[place]) <= 1.7976931348623157e308:
            return NOT_FINITE
    if not _has_states(integers):
        return NOT_FLAGS
    if not _has_tree(integers):
        return NOT_A_TREE
    return SOUND if _has_contacts(integers) else NOT_CONTACTS


@kernel
def _has_states(integers):
    for body in range(at.ROWS):
        if not 0 <= integers[at.AWAKE + body] <= 1:
            return False
    for joint in range(at.JOINTS):
        if not 0 <= integers[at.LIMIT_STATE + joint] <= 3:
            return False
    return integers[at.LEAVING] == 0


@kernel
def _has_tree(integers):
    """Between frames all bodies are in the tree, so every node is taken: as many inner ones as leaves, less one."""
    if integers[at.IN_TREE] != _IN_TREE or integers[at.MADE] != at.NODES or integers[at.FREE] != at.NONE:
        return False
    root = integers[at.ROOT]
    if not 0 <= root < at.NODES or integers[at.PARENT + root] != at.NONE:
        return False
    leaves = 0
    for body in range(at.ROWS):
        leaf = integers[at.LEAF + body]
        if _HAS_LEAF[body] == 0:
            continue
        if not 0 <= leaf < at.NODES or integers[at.NODE_BODY + leaf] != body:
            return False
        if integers[at.CHILD_1 + leaf] != at.NONE or integers[at.CHILD_2 + leaf] != at.NONE:
            return False
        leaves += 1
    # Every node but the root is a child of its parent, and the way up from any ends at the root.
    for node in range(at.NODES):
        first, second = integers[at.CHILD_1 + node], integers[at.CHILD_2 + node]
        if first == at.NONE and second == at.NONE:
            leaves -= 1
        else:
            if not (0 <= first < at.NODES and 0 <= second < at.NODES and first != second):
                return False
            if integers[at.PARENT + first] != node or integers[at.PARENT + second] != node:
                return False
        above, steps = node, 0
        while above != root:
            above = integers[at.PARENT + above]
            steps += 1
            if not 0 <= above < at.NODES or steps > at.NODES:
                return False
    return leaves == 0


@kernel
def _has_contacts(integers):
    count = integers[at.CONTACT_COUNT]
    if not 0 <= count <= at.CONTACTS:
        return False
    used = paired = 0
    for place in range(count):
        contact = integers[at.ORDER + place]
        if not 0 <= contact < at.CONTACTS or used >> contact & 1 or integers[at.USED + contact] != 1:
            return False
        used |= 1 << contact
        a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
        if not (0 <= a < at.ROWS and 0 <= b < at.ROWS) or not PARTNERS[a] >> b & 1:
            return False
        if not (integers[at.PAIRED + a] >> b & 1 and integers[at.PAIRED + b] >> a & 1):
            return False
        for earlier in range(place):
            other = integers[at.ORDER + earlier]
            c, d = integers[at.BODY_A + other], integers[at.BODY_B + other]
            if (a == c and b == d) or (a == d and b == c):
                return False
        if not 0 <= integers[at.TOUCHING + contact] <= 1 or not 0 <= integers[at.FACE + contact] <= 1:
            return False
        if not 0 <= integers[at.POINTS + contact] <= 2:
            return False
    for contact in range(at.CONTACTS):
        if not used >> contact & 1 and integers[at.USED + contact] != 0:
            return False
    for body in range(at.ROWS):
        pairs = integers[at.PAIRED + body]
        if pairs >> at.ROWS != 0:
            return False
        while pairs != 0:
            pairs &= pairs - 1
            paired += 1
    return paired == 2 * count

"""One step of the world, 0.04 s: contacts renewed, islands of touching and jointed bodies solved, boxes moved.

The worlds of several games advance together. As long as nothing but the track touches a runner, his island is the
same in every game, and is solved in all of them at once; any other island is solved alone, by the same code.
"""

import numpy as np

from .. import layout as at
from ..bodies import BODY_JOINTS, BODY_NEIGHBOURS, CREATION, RUNNER_BODIES
from ..workspace import (
    BODIES,
    BODY_COUNT,
    GAME,
    JOINT_COUNT,
    JOINTS,
    LANES_USED,
    PLAYING,
    PLAYING_COUNT,
    STACK,
    TOUCH,
    TOUCHES,
)
from .compiled import kernel
from .contacts import find_new_contacts, fixed_body_of, moving_body_of, renew_contacts, rouse
from .island import solve_island
from .tree import move_leaf

# A body's place in the order in which the runner's are gathered; the hurdle is not the runner's.
_RANK = np.full(at.MOVING, -1)
_RANK[RUNNER_BODIES] = range(len(RUNNER_BODIES))
_RUNNER = sum(1 << int(body) for body in RUNNER_BODIES)


@kernel
def step(lanes, reals, integers, memory, work):
    """Advance the worlds of the games in `work` by one frame; at most as many as there are lanes."""
    count = work[0, PLAYING_COUNT]
    own_memory, own_work = memory[len(lanes) * at.LANE :], work[len(lanes) :]
    together = usual = 0
    for place in range(count):
        game = work[place, PLAYING]
        renew_contacts(reals[game], integers[game])
        if _gather_usual(reals[game], integers[game], work[together]):
            work[together, GAME] = game
            usual |= 1 << place
            together += 1
    work[0, LANES_USED] = together
    if together == 1:
        solve_island(lanes[:1], reals, integers, own_memory, work)
    elif together > 1:
        solve_island(lanes, reals, integers, memory, work)
    for place in range(count):
        game = work[place, PLAYING]
        own_work[0, GAME] = game
        _solve_islands(lanes, reals, integers, own_memory, own_work, _RUNNER * (usual >> place & 1))
        _move_boxes(reals[game], integers[game])


@kernel
def _gather_usual(reals, integers, work):
    """Gather the contacts of the runner's island, in the original's order; False if it is not the usual island."""
    for body in range(at.HURDLE_BASE):
        if integers[at.AWAKE + body] == 0:
            return False
    count = 0
    for place in range(integers[at.CONTACT_COUNT] - 1, -1, -1):
        contact = integers[at.ORDER + place]
        if integers[at.TOUCHING + contact] == 0:
            continue
        if fixed_body_of(integers, contact) == at.NONE:
            return False
        rank = _RANK[moving_body_of(integers, contact)]
        if rank < 0:
            continue
        touch = count
        while touch > 0 and _RANK[moving_body_of(integers, work[TOUCH + touch - 1])] > rank:
            work[TOUCH + touch] = work[TOUCH + touch - 1]
            touch -= 1
        work[TOUCH + touch] = contact
        count += 1
    work[TOUCHES] = count
    for touch in range(count):
        rouse(reals, integers, fixed_body_of(integers, work[TOUCH + touch]))
    return True


@kernel
def _solve_islands(lanes, reals, integers, memory, work, done):
    """Solve the islands of the game in `work[0, GAME]` alone, without the bodies in `done`.

    Bodies that hang together by touch or joint are gathered depth first, as the original does. The sets of what has
    been gathered are bit masks.
    """
    game = work[0, GAME]
    contacts_done = joints_done = 0
    for seed_place in range(at.MOVING - 1, -1, -1):
        seed = CREATION[seed_place]
        if done >> seed & 1 or integers[game, at.AWAKE + seed] == 0:
            continue
        body_count = contact_count = joint_count = 0
        work[0, STACK] = seed
        done |= 1 << seed
        depth = 1
        while depth > 0:
            depth -= 1
            body = work[0, STACK + depth]
            work[0, BODIES + body_count] = body
            body_count += 1
            rouse(reals[game], integers[game], body)
            for place in range(integers[game, at.CONTACT_COUNT] - 1, -1, -1):
                contact = integers[game, at.ORDER + place]
                if contacts_done >> contact & 1 or integers[game, at.TOUCHING + contact] == 0:
                    continue
                a, b = integers[game, at.BODY_A + contact], integers[game, at.BODY_B + contact]
                if a != body and b != body:
                    continue
                work[0, TOUCH + contact_count] = contact
                contact_count += 1
                contacts_done |= 1 << contact
                other = b if a == body else a
                if other >= at.MOVING:
                    rouse(reals[game], integers[game], other)
                elif not done >> other & 1:
                    done |= 1 << other
                    work[0, STACK + depth] = other
                    depth += 1
            for place in range(BODY_JOINTS.shape[1]):
                joint = BODY_JOINTS[body, place]
                if joint < 0:
                    break
                if joints_done >> joint & 1:
                    continue
                work[0, JOINTS + joint_count] = joint
                joint_count += 1
                joints_done |= 1 << joint
                other = BODY_NEIGHBOURS[body, place]
                if not done >> other & 1:
                    done |= 1 << other
                    work[0, STACK + depth] = other
                    depth += 1
        work[0, BODY_COUNT], work[0, TOUCHES], work[0, JOINT_COUNT] = body_count, contact_count, joint_count
        work[0, LANES_USED] = 1
        solve_island(lanes[:1], reals, integers, memory, work)


@kernel
def _move_boxes(reals, integers):
    """Let the broad phase follow the bodies that left their boxes in the tree, the latest made first."""
    leaving = integers[at.LEAVING]
    if leaving == 0:
        return
    for place in range(at.MOVING - 1, -1, -1):
        body = CREATION[place]
        if leaving >> body & 1:
            move_leaf(reals, integers, body, reals[at.MOVED + 2 * body], reals[at.MOVED + 2 * body + 1])
    for place in range(at.MOVING - 1, -1, -1):
        body = CREATION[place]
        if leaving >> body & 1:
            find_new_contacts(reals, integers, body)
    integers[at.LEAVING] = 0

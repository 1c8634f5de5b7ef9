"""One step of the world, 0.04 s: contacts renewed, islands of touching and jointed bodies solved, boxes moved."""

import numpy as np

from . import layout as at
from .bodies import (
    BODY_JOINTS,
    BODY_NEIGHBOURS,
    CREATION,
    INVERSE_INERTIA,
)
from .compiled import compiled
from .contact_solver import (
    CONTACT_SCRATCH,
    solve_contact_position,
    solve_contact_velocity,
    start_contact,
    warm_start_contact,
)
from .contacts import find_new_contacts, renew_contacts, wake
from .joints import (
    DT,
    INVERSE_DT,
    JOINT_SCRATCH,
    LINEAR_SLOP,
    solve_joint_position,
    solve_joint_velocity,
    start_joint,
    turn,
)
from .tree import box_of, move_leaf

GRAVITY = 10.0
VELOCITY_ITERATIONS = 5
POSITION_ITERATIONS = 5
MAX_TRANSLATION = 2.0
MAX_ROTATION = 1.5707963267948966
LINEAR_SLEEP_TOLERANCE = 0.01
ANGULAR_SLEEP_TOLERANCE = 0.03490658503988659
TIME_TO_SLEEP = 0.5

CONTACT_SCRATCH_AT = JOINT_SCRATCH * at.JOINTS
OLD_POSE_AT = CONTACT_SCRATCH_AT + CONTACT_SCRATCH * at.CONTACTS  # x, y, cos, sin of each moving body
OLD_BOX_AT = OLD_POSE_AT + 4 * at.MOVING
SCRATCH = OLD_BOX_AT + 8


@compiled
def step(reals, integers, scratch):
    """Advance the world by one frame. `scratch` is float64 [SCRATCH]; nothing in it outlives the call."""
    renew_contacts(reals, integers)
    _solve_islands(reals, integers, scratch)
    _move_boxes(reals, integers, scratch)


@compiled
def _solve_islands(reals, integers, scratch):
    """Gather bodies that hang together by touch or joint, depth first as the original does, and solve each gathering.

    The sets of what has been gathered are bit masks.
    """
    lists = np.empty(2 * at.ROWS + at.CONTACTS + at.JOINTS, dtype=np.int64)
    stack, bodies = lists[: at.ROWS], lists[at.ROWS : 2 * at.ROWS]
    contacts, joints = lists[2 * at.ROWS : 2 * at.ROWS + at.CONTACTS], lists[2 * at.ROWS + at.CONTACTS :]
    bodies_done = contacts_done = joints_done = 0
    for seed_place in range(at.MOVING - 1, -1, -1):
        seed = CREATION[seed_place]
        if bodies_done >> seed & 1 or integers[at.AWAKE + seed] == 0:
            continue
        body_count = contact_count = joint_count = 0
        stack[0] = seed
        bodies_done |= 1 << seed
        depth = 1
        while depth > 0:
            depth -= 1
            body = stack[depth]
            bodies[body_count] = body
            body_count += 1
            if integers[at.AWAKE + body] == 0:
                wake(reals, integers, body)
            if body >= at.MOVING:
                continue
            for place in range(integers[at.CONTACT_COUNT] - 1, -1, -1):
                contact = integers[at.ORDER + place]
                if contacts_done >> contact & 1 or integers[at.TOUCHING + contact] == 0:
                    continue
                a, b = integers[at.BODY_A + contact], integers[at.BODY_B + contact]
                if a != body and b != body:
                    continue
                contacts[contact_count] = contact
                contact_count += 1
                contacts_done |= 1 << contact
                other = b if a == body else a
                if not bodies_done >> other & 1:
                    bodies_done |= 1 << other
                    stack[depth] = other
                    depth += 1
            for place in range(BODY_JOINTS.shape[1]):
                joint = BODY_JOINTS[body, place]
                if joint < 0:
                    break
                if joints_done >> joint & 1:
                    continue
                joints[joint_count] = joint
                joint_count += 1
                joints_done |= 1 << joint
                other = BODY_NEIGHBOURS[body, place]
                if not bodies_done >> other & 1:
                    bodies_done |= 1 << other
                    stack[depth] = other
                    depth += 1
        _solve_island(reals, integers, scratch, bodies[:body_count], contacts[:contact_count], joints[:joint_count])
        # Fixed bodies belong to every island that touches them.
        bodies_done &= (1 << at.MOVING) - 1


@compiled
def _solve_island(reals, integers, scratch, bodies, contacts, joints):
    for body in bodies:
        if body < at.MOVING:
            reals[6 * body + at.VY] += DT * GRAVITY
            if body == at.HEAD:
                reals[6 * body + at.SPIN] += DT * INVERSE_INERTIA[body] * reals[at.HEAD_TORQUE]
    for i in range(len(contacts)):
        start_contact(reals, integers, scratch, CONTACT_SCRATCH_AT + CONTACT_SCRATCH * i, contacts[i])
    for i in range(len(contacts)):
        warm_start_contact(reals, integers, scratch, CONTACT_SCRATCH_AT + CONTACT_SCRATCH * i, contacts[i])
    for joint in joints:
        start_joint(reals, integers, scratch, joint)
    for _ in range(VELOCITY_ITERATIONS):
        for joint in joints:
            solve_joint_velocity(reals, integers, scratch, joint)
        for i in range(len(contacts)):
            solve_contact_velocity(reals, integers, scratch, CONTACT_SCRATCH_AT + CONTACT_SCRATCH * i, contacts[i])
    for body in bodies:
        if body < at.MOVING:
            _integrate(reals, scratch, body)
    for _ in range(POSITION_ITERATIONS):
        deepest = 0.0
        for i in range(len(contacts)):
            mine = CONTACT_SCRATCH_AT + CONTACT_SCRATCH * i
            deepest = min(deepest, solve_contact_position(reals, integers, scratch, mine, contacts[i]))
        joints_fit = True
        for joint in joints:
            joints_fit = solve_joint_position(reals, integers, scratch, joint) and joints_fit
        if deepest > -1.5 * LINEAR_SLOP and joints_fit:
            break
    _let_sleep(reals, integers, bodies)


@compiled
def _integrate(reals, scratch, body):
    row, old = 6 * body, OLD_POSE_AT + 4 * body
    dx, dy = DT * reals[row + at.VX], DT * reals[row + at.VY]
    if dx * dx + dy * dy > MAX_TRANSLATION * MAX_TRANSLATION:
        vx, vy = reals[row + at.VX], reals[row + at.VY]
        inverse_length = 1 / np.sqrt(vx * vx + vy * vy)
        reals[row + at.VX] = vx * inverse_length * (MAX_TRANSLATION * INVERSE_DT)
        reals[row + at.VY] = vy * inverse_length * (MAX_TRANSLATION * INVERSE_DT)
    turned = DT * reals[row + at.SPIN]
    if turned * turned > MAX_ROTATION * MAX_ROTATION:
        sign = -1.0 if reals[row + at.SPIN] < 0 else 1.0
        reals[row + at.SPIN] = sign * MAX_ROTATION * INVERSE_DT
    scratch[old], scratch[old + 1] = reals[row + at.X], reals[row + at.Y]
    scratch[old + 2], scratch[old + 3] = reals[at.COS + body], reals[at.SIN + body]
    reals[row + at.X] += DT * reals[row + at.VX]
    reals[row + at.Y] += DT * reals[row + at.VY]
    reals[row + at.ANGLE] += DT * reals[row + at.SPIN]
    turn(reals, body)


@compiled
def _let_sleep(reals, integers, bodies):
    """Put the island to sleep when all of it has rested for half a second."""
    least = 1.7976931348623157e308
    for body in bodies:
        if body >= at.MOVING:
            continue
        vx, vy, spin = reals[6 * body + at.VX], reals[6 * body + at.VY], reals[6 * body + at.SPIN]
        if (
            spin * spin > ANGULAR_SLEEP_TOLERANCE * ANGULAR_SLEEP_TOLERANCE
            or vx * vx + vy * vy > LINEAR_SLEEP_TOLERANCE * LINEAR_SLEEP_TOLERANCE
        ):
            reals[at.SLEEP_TIME + body] = 0.0
            least = 0.0
        else:
            reals[at.SLEEP_TIME + body] += DT
            least = min(least, reals[at.SLEEP_TIME + body])
    if least >= TIME_TO_SLEEP:
        for body in bodies:
            integers[at.AWAKE + body] = 0
            reals[at.SLEEP_TIME + body] = 0.0
            if body < at.MOVING:
                reals[6 * body + at.VX : 6 * body + 6] = 0.0
            if body == at.HEAD:
                reals[at.HEAD_TORQUE] = 0.0


@compiled
def _move_boxes(reals, integers, scratch):
    """Let the broad phase follow the bodies that are awake, the latest made first."""
    moved = np.empty(at.MOVING, dtype=np.int64)
    count = 0
    for place in range(at.MOVING - 1, -1, -1):
        body = CREATION[place]
        if integers[at.AWAKE + body] == 0:
            continue
        old = OLD_POSE_AT + 4 * body
        x0, y0 = scratch[old], scratch[old + 1]
        x1, y1 = reals[6 * body + at.X], reals[6 * body + at.Y]
        box_of(body, x0, y0, scratch[old + 2], scratch[old + 3], scratch, OLD_BOX_AT)
        box_of(body, x1, y1, reals[at.COS + body], reals[at.SIN + body], scratch, OLD_BOX_AT + 4)
        tight = at.BOX + 4 * body
        for side in range(2):
            reals[tight + side] = min(scratch[OLD_BOX_AT + side], scratch[OLD_BOX_AT + 4 + side])
            reals[tight + 2 + side] = max(scratch[OLD_BOX_AT + 2 + side], scratch[OLD_BOX_AT + 6 + side])
        if move_leaf(reals, integers, body, x1 - x0, y1 - y0):
            moved[count] = body
            count += 1
    find_new_contacts(reals, integers, moved, count)

"""The rules of the game around the world: keys, one frame, a page's first world, a reset."""

import math

import numpy as np

from . import layout as at
from .bodies import (
    BLOCK_X,
    BLOCK_Y,
    CREATION,
    DESTRUCTION,
    LOWER_ANGLE,
    START,
    TRACK_SPACING,
    TRACK_Y,
    UPPER_ANGLE,
)
from .compiled import compiled
from .contacts import destroy_contacts_of, find_new_contacts, rounded
from .joints import turn
from .tree import box_of, create_leaf, destroy_leaf, move_leaf
from .world import SCRATCH, step

CLOCK_TICK = 0.03333333333333333
CAMERA_AT_LOAD = -200.0
CAMERA_AT_RESET = -280.0
HEAD_STIFFNESS = -4.0
HEAD_ANGLE = 0.2


@compiled
def _set_speed(reals, joint, speed):
    reals[at.JOINT + at.JOINT_REALS * joint + at.MOTOR_SPEED] = speed


@compiled
def _set_limits(reals, joint, lower, upper):
    reals[at.JOINT + at.JOINT_REALS * joint + at.LOWER] = lower
    reals[at.JOINT + at.JOINT_REALS * joint + at.UPPER] = upper


@compiled
def _press(reals, keys):
    """Q is looked at before W, and O before P."""
    thighs = 1.0 if keys & 1 else (-1.0 if keys & 2 else 0.0)
    _set_speed(reals, at.RIGHT_HIP, 2.5 * thighs)
    _set_speed(reals, at.LEFT_HIP, -2.5 * thighs)
    _set_speed(reals, at.RIGHT_SHOULDER, -2.0 * thighs)
    _set_speed(reals, at.LEFT_SHOULDER, 2.0 * thighs)
    calves = 1.0 if keys & 4 else (-1.0 if keys & 8 else 0.0)
    _set_speed(reals, at.RIGHT_KNEE, 2.5 * calves)
    _set_speed(reals, at.LEFT_KNEE, -2.5 * calves)
    if calves > 0:
        _set_limits(reals, at.LEFT_HIP, -1.0, 1.0)
        _set_limits(reals, at.RIGHT_HIP, -1.3, 0.7)
    elif calves < 0:
        _set_limits(reals, at.LEFT_HIP, -1.5, 0.5)
        _set_limits(reals, at.RIGHT_HIP, -0.8, 1.2)


@compiled
def advance(reals, integers, keys, scratch):
    """One frame of the game with the given keys down (Q = 1, W = 2, O = 4, P = 8); nothing once it has ended.

    `reals` float64 [REALS] and `integers` int64 [INTEGERS] are one game's rows; `scratch` is float64 [SCRATCH].
    """
    if reals[at.ENDED] != 0.0:
        return
    reals[at.CLOCK] += CLOCK_TICK
    _lay_track(reals, integers)
    if reals[at.FALLEN] == 0.0:
        # The page never clears the torque: it adds up from frame to frame.
        reals[at.HEAD_TORQUE] += HEAD_STIFFNESS * (reals[6 * at.HEAD + at.ANGLE] + HEAD_ANGLE)
        if integers[at.AWAKE + at.HEAD] == 0:
            integers[at.AWAKE + at.HEAD] = 1
            reals[at.SLEEP_TIME + at.HEAD] = 0.0
    _press(reals, keys)
    step(reals, integers, scratch)
    torso_x, torso_y = reals[6 * at.TORSO + at.X], reals[6 * at.TORSO + at.Y]
    if not torso_y < -5 and reals[at.FALLEN] == 0.0:
        reals[at.CAMERA] = (torso_x + -14) * 20
    if reals[at.LANDED] == 0.0:
        reals[at.SCORE] = rounded(torso_x) / 10
    if reals[at.LANDED] != 0.0 or reals[at.FALLEN] != 0.0:
        reals[at.ENDED] = 1.0


@compiled
def _lay_track(reals, integers):
    """Keep the three boxes of the track under the camera."""
    for i in range(at.TRACKS):
        x = (math.floor(reals[at.CAMERA] / 640) + i) * 640.0 / 20
        if x != reals[6 * (at.TRACK + i) + at.X]:
            _place(reals, integers, at.TRACK + i, x, TRACK_Y, 0.0)


@compiled
def _place(reals, integers, body, x, y, angle):
    """Put a body somewhere, as the page does between steps."""
    reals[6 * body + at.X], reals[6 * body + at.Y], reals[6 * body + at.ANGLE] = x, y, angle
    turn(reals, body)
    box_of(body, x, y, reals[at.COS + body], reals[at.SIN + body], reals, at.BOX + 4 * body)
    moved = np.array([body])
    find_new_contacts(reals, integers, moved, 1 if move_leaf(reals, integers, body, 0.0, 0.0) else 0)


@compiled
def _create(reals, integers, body, x, y, awake):
    reals[6 * body : 6 * body + 6] = 0.0
    reals[6 * body + at.X], reals[6 * body + at.Y] = x, y
    turn(reals, body)
    box_of(body, x, y, reals[at.COS + body], reals[at.SIN + body], reals, at.BOX + 4 * body)
    create_leaf(reals, integers, body)
    reals[at.SLEEP_TIME + body] = 0.0
    integers[at.AWAKE + body] = awake


@compiled
def _create_runner(reals, integers):
    """The hurdle, then the runner's bodies: each made at the origin, moved, turned."""
    pending = np.empty(at.MOVING, dtype=np.int64)
    waiting = 0
    for body in CREATION:
        hurdle = body == at.HURDLE_BASE or body == at.HURDLE_TOP
        _create(reals, integers, body, START[body, 0] if hurdle else 0.0, START[body, 1] if hurdle else 0.0, not hurdle)
        pending[waiting] = body
        waiting += 1
        if hurdle:
            continue
        x, y, angle = START[body, 0], START[body, 1], START[body, 2]
        reals[6 * body + at.X], reals[6 * body + at.Y] = x, y
        box_of(body, x, y, 1.0, 0.0, reals, at.BOX + 4 * body)
        if move_leaf(reals, integers, body, 0.0, 0.0):
            pending[waiting] = body
            waiting += 1
        find_new_contacts(reals, integers, pending, waiting)
        waiting = 0
        _place(reals, integers, body, x, y, angle)
    reals[at.HEAD_TORQUE] = 0.0
    for joint in range(at.JOINTS):
        own = at.JOINT + at.JOINT_REALS * joint
        reals[own : own + at.JOINT_REALS] = 0.0
        _set_limits(reals, joint, LOWER_ANGLE[joint], UPPER_ANGLE[joint])
        integers[at.LIMIT_STATE + joint] = 0


@compiled
def load_page(reals, integers):
    """The world of a page that has just loaded: track, block, hurdle and runner."""
    reals[:] = 0.0
    integers[:] = 0
    integers[at.ROOT] = at.NONE
    integers[at.FREE] = at.NONE
    for i in range(at.TRACKS):
        _create(reals, integers, at.TRACK + i, 0.0, 0.0, 1)
        _place(reals, integers, at.TRACK + i, i * TRACK_SPACING, TRACK_Y, 0.0)
    _create(reals, integers, at.BLOCK, 0.0, 0.0, 1)
    _place(reals, integers, at.BLOCK, BLOCK_X, BLOCK_Y, 0.0)
    _create_runner(reals, integers)
    reals[at.CAMERA] = CAMERA_AT_LOAD
    _lay_track(reals, integers)


@compiled
def reset(reals, integers):
    """The page's reset: everything that moves is destroyed and made anew, and one frame is played with no key down."""
    for body in DESTRUCTION:
        destroy_contacts_of(reals, integers, body)
        destroy_leaf(reals, integers, body)
    _create_runner(reals, integers)
    reals[at.EVENTS : at.EVENTS + 6] = 0.0
    reals[at.CAMERA] = CAMERA_AT_RESET
    advance(reals, integers, 0, np.empty(SCRATCH))

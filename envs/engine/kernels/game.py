"""The rules of the game around the world: keys, a page's first world, a reset, frames of games from their keys."""

import math

from .. import layout as at
from ..bodies import (
    BLOCK_X,
    BLOCK_Y,
    CLOCK_TICK,
    CREATION,
    DESTRUCTION,
    HEAD_ANGLE,
    HEAD_STIFFNESS,
    LOWER_ANGLE,
    START,
    TRACK_SPACING,
    TRACK_Y,
    UPPER_ANGLE,
)
from ..workspace import PLAYING, PLAYING_COUNT, PRESSED
from .compiled import inlined, kernel
from .contacts import destroy_contacts_of, find_new_contacts, rounded
from .features import hidden_of
from .tree import box_of, create_leaf, destroy_leaf, move_leaf
from .trigonometry import sine_and_cosine
from .world import step

CAMERA_AT_LOAD = -200.0
CAMERA_AT_RESET = -280.0


@inlined
def _set_speed(reals, joint, speed):
    reals[at.JOINT + at.JOINT_REALS * joint + at.MOTOR_SPEED] = speed


@inlined
def _set_limits(reals, joint, lower, upper):
    reals[at.JOINT + at.JOINT_REALS * joint + at.LOWER] = lower
    reals[at.JOINT + at.JOINT_REALS * joint + at.UPPER] = upper


@kernel
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


@kernel
def advance(lanes, reals, integers, memory, work):
    """One frame of the games `work[:, PLAYING]`, with the keys `work[:, PRESSED]` (Q 1, W 2, O 4, P 8).

    There are `work[0, PLAYING_COUNT]`, at most as many as lanes, and none has ended. reals float64 [n, REALS] and
    integers int32 [n, INTEGERS] are the games; `memory` and `work` a `world.workspace`.
    """
    count = work[0, PLAYING_COUNT]
    for place in range(count):
        game = work[place, PLAYING]
        _before_step(lanes, reals[game], integers[game], work[place, PRESSED])
    step(lanes, reals, integers, memory, work)
    for place in range(count):
        _after_step(reals[work[place, PLAYING]])


@kernel
def _before_step(lanes, reals, integers, keys):
    reals[at.CLOCK] += CLOCK_TICK
    _lay_track(lanes, reals, integers)
    if reals[at.FALLEN] == 0.0:
        # The page never clears the torque: it adds up from frame to frame.
        reals[at.HEAD_TORQUE] += HEAD_STIFFNESS * (reals[6 * at.HEAD + at.ANGLE] + HEAD_ANGLE)
        if integers[at.AWAKE + at.HEAD] == 0:
            integers[at.AWAKE + at.HEAD] = 1
            reals[at.SLEEP_TIME + at.HEAD] = 0.0
    _press(reals, keys)


@kernel
def _after_step(reals):
    torso_x, torso_y = reals[6 * at.TORSO + at.X], reals[6 * at.TORSO + at.Y]
    if not torso_y < -5 and reals[at.FALLEN] == 0.0:
        reals[at.CAMERA] = (torso_x + -14) * 20
    if reals[at.LANDED] == 0.0:
        reals[at.SCORE] = rounded(torso_x) / 10
    if reals[at.LANDED] != 0.0 or reals[at.FALLEN] != 0.0:
        reals[at.ENDED] = 1.0


@kernel
def _lay_track(lanes, reals, integers):
    """Keep the three boxes of the track under the camera."""
    for i in range(at.TRACKS):
        x = (math.floor(reals[at.CAMERA] / 640) + i) * 640.0 / 20
        if x != reals[6 * (at.TRACK + i) + at.X]:
            _place(lanes, reals, integers, at.TRACK + i, x, TRACK_Y, 0.0)


@kernel
def _place(lanes, reals, integers, body, x, y, angle):
    """Put a body somewhere, as the page does between steps."""
    reals[6 * body + at.X], reals[6 * body + at.Y], reals[6 * body + at.ANGLE] = x, y, angle
    reals[at.SIN + body], reals[at.COS + body] = sine_and_cosine(lanes, angle)
    box_of(body, x, y, reals[at.COS + body], reals[at.SIN + body], reals, at.BOX + 4 * body)
    if move_leaf(reals, integers, body, 0.0, 0.0):
        find_new_contacts(reals, integers, body)


@kernel
def _create(reals, integers, body, x, y):
    for column in range(6):
        reals[6 * body + column] = 0.0
    reals[6 * body + at.X], reals[6 * body + at.Y] = x, y
    reals[at.SIN + body], reals[at.COS + body] = 0.0, 1.0
    box_of(body, x, y, 1.0, 0.0, reals, at.BOX + 4 * body)
    create_leaf(reals, integers, body)
    reals[at.SLEEP_TIME + body] = 0.0
    integers[at.AWAKE + body] = 1


@kernel
def _create_runner(lanes, reals, integers):
    """The hurdle, then the runner's bodies: each made at the origin, moved, turned."""
    for place in range(at.MOVING):
        body = CREATION[place]
        x, y, angle = START[body, 0], START[body, 1], START[body, 2]
        if body == at.HURDLE_BASE or body == at.HURDLE_TOP:
            _create(reals, integers, body, x, y)
            integers[at.AWAKE + body] = 0
            continue
        _create(reals, integers, body, 0.0, 0.0)
        reals[6 * body + at.X], reals[6 * body + at.Y] = x, y
        box_of(body, x, y, 1.0, 0.0, reals, at.BOX + 4 * body)
        move_leaf(reals, integers, body, 0.0, 0.0)
        if body == at.TORSO:  # the runner's first; only now does the page look for the hurdle's contacts
            find_new_contacts(reals, integers, at.HURDLE_BASE)
            find_new_contacts(reals, integers, at.HURDLE_TOP)
        find_new_contacts(reals, integers, body)
        _place(lanes, reals, integers, body, x, y, angle)
    reals[at.HEAD_TORQUE] = 0.0
    for joint in range(at.JOINTS):
        own = at.JOINT + at.JOINT_REALS * joint
        for column in range(at.JOINT_REALS):
            reals[own + column] = 0.0
        _set_limits(reals, joint, LOWER_ANGLE[joint], UPPER_ANGLE[joint])
        integers[at.LIMIT_STATE + joint] = 0


@kernel
def load_page(lanes, reals, integers):
    """The world of a page that has just loaded: track, block, hurdle and runner."""
    for place in range(len(reals)):
        reals[place] = 0.0
    for place in range(len(integers)):
        integers[place] = 0
    integers[at.ROOT] = at.NONE
    integers[at.FREE] = at.NONE
    for i in range(at.TRACKS):
        _create(reals, integers, at.TRACK + i, 0.0, 0.0)
        _place(lanes, reals, integers, at.TRACK + i, i * TRACK_SPACING, TRACK_Y, 0.0)
    _create(reals, integers, at.BLOCK, 0.0, 0.0)
    _place(lanes, reals, integers, at.BLOCK, BLOCK_X, BLOCK_Y, 0.0)
    _create_runner(lanes, reals, integers)
    reals[at.CAMERA] = CAMERA_AT_LOAD
    _lay_track(lanes, reals, integers)


@kernel
def reset_page(lanes, reals, integers):
    """The page's reset without the frame that it plays: everything that moves is destroyed and recreated."""
    for body in DESTRUCTION:
        destroy_contacts_of(reals, integers, body)
        destroy_leaf(reals, integers, body)
    _create_runner(lanes, reals, integers)
    for event in range(at.EVENTS, at.EVENTS + 6):
        reals[event] = 0.0
    reals[at.CAMERA] = CAMERA_AT_RESET


@kernel
def play_frame(lanes, reals, integers, keys, memory, work):
    """Advance every game that has not ended by a frame: reals float64 [n, REALS], integers int32 [n, INTEGERS].

    keys: uint8 [n], those down in each game's frame; memory, work: a `world.workspace` of the width of `lanes`.
    """
    row = 0
    while row < len(keys):
        count = 0
        while row < len(keys) and count < len(lanes):
            if reals[row, at.ENDED] == 0.0:
                work[count, PLAYING], work[count, PRESSED] = row, keys[row]
                count += 1
            row += 1
        work[0, PLAYING_COUNT] = count
        if count > 0:
            advance(lanes, reals, integers, memory, work)


@kernel
def play_keys(lanes, reals, integers, keys, begins, frames, played, memory, work):
    """Play all games: game g with keys[begins[g] : begins[g + 1]], into the frames from begins[g] + g on.

    A game that is over leaves its lane to the next one.
    """
    games = len(played)
    for game in range(games):
        _keep(reals[game], frames[begins[game] + game])
    following = count = 0
    while True:
        kept = 0
        for place in range(count):
            game = work[place, PLAYING]
            if played[game] < begins[game + 1] - begins[game] and reals[game, at.ENDED] == 0.0:
                work[kept, PLAYING] = game
                kept += 1
        while kept < len(lanes) and following < games:
            if begins[following + 1] > begins[following] and reals[following, at.ENDED] == 0.0:
                work[kept, PLAYING] = following
                kept += 1
            following += 1
        count = kept
        if count == 0:
            return
        work[0, PLAYING_COUNT] = count
        for place in range(count):
            game = work[place, PLAYING]
            work[place, PRESSED] = keys[begins[game] + played[game]]
        advance(lanes, reals, integers, memory, work)
        for place in range(count):
            game = work[place, PLAYING]
            played[game] += 1
            _keep(reals[game], frames[begins[game] + game + played[game]])


@inlined
def _keep(reals, frame):
    for place in range(at.EVENTS + 6):
        frame[place] = reals[place]
    hidden_of(reals, frame[at.EVENTS + 6 :])

"""Small pictures of games, drawn from their states: the runner, the track, and how far he is.

Everything is made of bones, lines between two points of a body with a radius at each end, and is antialiased by the
distance of a pixel's centre from their edge. The view goes with the torso, as that of `drawing` does. Along the top a
bar grows from the left edge to the right over the 100 metres. The runner's right limbs, which are nearer, are dark, his
left ones light.
"""

import math
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...common.kernel_cache import KernelGroup, on_disk
from ..engine import layout as at
from ..engine.bodies import ANCHOR_A, ANCHOR_B, JOINT_A
from ..names import GROUND_Y

UNITS_SHOWN = 22.0
"""Width and height of the view, units (2.2 m)."""

TORSO_AT = 0.45
"""Place of the torso in the picture, as a fraction of its width."""

GROUND_AT = 0.86
"""Height of the ground in the picture, as a fraction of its height."""

LIFT_ABOVE = -5.0
"""The view rises with a torso above this, units."""

METRE = 10.0
LENGTH = 1000.0
"""Units between two marks on the track, and to the line."""

MARK = 0.35
"""Half the width of a mark on the track, units."""

BAR = 1 / 28
"""Height of the bar, as a fraction of the picture's."""

_SKY, _TRACK, _LINE, _SAND = (214, 232, 246), (190, 100, 76), (252, 246, 240), (236, 214, 160)
_BAR, _BAR_LEFT = (20, 20, 24), (252, 252, 252)
_FAR_ARM, _FAR_LEG, _FAR_SHOE = (196, 158, 140), (150, 164, 200), (206, 140, 124)
_NEAR_ARM, _NEAR_LEG, _NEAR_SHOE = (96, 44, 34), (38, 42, 64), (116, 20, 20)
_SHIRT, _HEAD, _HURDLE = (38, 94, 168), (150, 84, 54), (98, 44, 26)

_KERNELS = KernelGroup("pictures", (Path(__file__).parent, Path(at.__file__).parent))

_LUMINANCE = (0.299, 0.587, 0.114)


def _pivot(joint: int, body: int) -> tuple[float, float]:
    """A joint's place in the coordinates of one of its bodies."""
    x, y = (ANCHOR_A if JOINT_A[joint] == body else ANCHOR_B)[joint]
    return float(x), float(y)


_Bone = tuple[int, tuple[float, float], tuple[float, float], float, float, tuple[int, int, int]]


def _arm(arm: int, forearm: int, shoulder: int, elbow: int, hand: float, colour: tuple[int, int, int]) -> list[_Bone]:
    return [
        (forearm, _pivot(elbow, forearm), (hand, 0.0), 0.5, 0.42, colour),
        (arm, _pivot(shoulder, arm), _pivot(elbow, arm), 0.62, 0.5, colour),
    ]


def _leg(
    thigh: int, calf: int, foot: int, hip: int, knee: int, ankle: int,
    colour: tuple[int, int, int], shoe: tuple[int, int, int],
) -> list[_Bone]:  # fmt: skip
    return [
        (foot, (-0.95, 0.2), (1.05, 0.3), 0.45, 0.38, shoe),
        (calf, _pivot(knee, calf), _pivot(ankle, calf), 0.72, 0.5, colour),
        (thigh, _pivot(hip, thigh), _pivot(knee, thigh), 1.05, 0.74, colour),
    ]


_BONES: list[_Bone] = [
    (at.HURDLE_BASE, (-1.5, 0.0), (1.5, 0.0), 0.3, 0.3, _HURDLE),
    (at.HURDLE_TOP, (0.0, -3.3), (0.0, 3.4), 0.3, 0.3, _HURDLE),
    *_arm(at.LEFT_ARM, at.LEFT_FOREARM, at.LEFT_SHOULDER, at.LEFT_ELBOW, 1.5, _FAR_ARM),
    *_leg(
        at.LEFT_THIGH, at.LEFT_CALF, at.LEFT_FOOT, at.LEFT_HIP, at.LEFT_KNEE, at.LEFT_ANKLE, _FAR_LEG, _FAR_SHOE
    ),
    (at.HEAD, _pivot(at.NECK, at.HEAD), (0.0, 0.4), 0.62, 0.6, _HEAD),
    (at.HEAD, (0.0, -0.1), (0.1, -0.05), 1.16, 1.16, _HEAD),
    (at.TORSO, (-1.75, 0.0), (1.75, 0.0), 1.2, 1.4, _SHIRT),
    *_leg(
        at.RIGHT_THIGH, at.RIGHT_CALF, at.RIGHT_FOOT, at.RIGHT_HIP, at.RIGHT_KNEE, at.RIGHT_ANKLE,
        _NEAR_LEG, _NEAR_SHOE,
    ),
    *_arm(at.RIGHT_ARM, at.RIGHT_FOREARM, at.RIGHT_SHOULDER, at.RIGHT_ELBOW, -1.9, _NEAR_ARM),
]  # fmt: skip
"""Body, ends in its own coordinates (units), radius at each (units), colour; the farthest first."""

BONES = np.array([(body, *first, *last, start, end) for body, first, last, start, end, _ in _BONES])
"""float64 [bones, 7]."""


def palette(colour: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The colours of sky, track, marks, sand, bar and what is left of it, [6, c], and of the bones, [bones, c].

    c is 3, or 1 for their luminance.
    """
    scene = np.array([_SKY, _TRACK, _LINE, _SAND, _BAR, _BAR_LEFT], dtype=np.float64)
    bones = np.array([colours for *_, colours in _BONES], dtype=np.float64)
    if colour:
        return scene, bones
    return (scene @ _LUMINANCE).round()[:, None], (bones @ _LUMINANCE).round()[:, None]


@on_disk(_KERNELS, nogil=True, error_model="numpy")
def draw_games(reals, chosen, begun, bones, scene, colours, size, first, last, stacks):  # type: ignore[no-untyped-def]
    """Draw the games first … last − 1 where `chosen`: into the last picture of their stack, after moving up the others,
    or into all of them where `begun`.

    reals float64 [n, 84 or more], whose rows begin with the bodies; stacks uint8 [n, stack, size·size·c].
    """
    newest = stacks.shape[1] - 1
    for game in range(first, last):
        if chosen[game]:
            if not begun[game]:
                for place in range(newest):
                    _copy(stacks[game, place + 1], stacks[game, place])
            _draw(reals[game], bones, scene, colours, size, stacks[game, newest])
            if begun[game]:
                for place in range(newest):
                    _copy(stacks[game, newest], stacks[game, place])


@njit(nogil=True, error_model="numpy")
def _copy(source, target):  # type: ignore[no-untyped-def]
    for i in range(source.shape[0]):
        target[i] = source[i]


@njit(nogil=True, error_model="numpy")
def _draw(reals, bones, scene, colours, size, picture):  # type: ignore[no-untyped-def]
    scale = size / UNITS_SHOWN
    torso_x, torso_y = reals[6 * at.TORSO + at.X], reals[6 * at.TORSO + at.Y]
    left = torso_x - TORSO_AT * UNITS_SHOWN
    top = GROUND_Y - GROUND_AT * UNITS_SHOWN - max(LIFT_ABOVE - torso_y, 0.0)
    _draw_scene(scene, scale, left, top, torso_x, size, picture)
    for bone in range(bones.shape[0]):
        body = 6 * int(bones[bone, 0])
        # The hurdle is far from the runner for most of the game.
        if abs(reals[body + at.X] - torso_x) < 2 * UNITS_SHOWN:
            _draw_bone(reals, body, bones[bone], scale, left, top, colours[bone], size, picture)


@njit(nogil=True, error_model="numpy")
def _draw_scene(scene, scale, left, top, torso_x, size, picture):  # type: ignore[no-untyped-def]
    channels = scene.shape[1]
    row = size * channels
    bar = max(int(size * BAR), 1)
    done = min(max(torso_x / LENGTH, 0.0), 1.0) * size
    horizon = (GROUND_Y - top) * scale
    # The last row shows the ground; those above it, down to the horizon, are copies of it.
    ground = min(max(math.floor(horizon), bar), size)
    bottom = (size - 1) * row
    for x in range(size):
        here = left + (x + 0.5) / scale
        apart = abs(here - METRE * math.floor(here / METRE + 0.5))
        mark = min(max((MARK - apart) * scale + 0.5, 0.0), 1.0)
        past = min(max((here - LENGTH) * scale + 0.5, 0.0), 1.0)
        over = min(max(done - x, 0.0), 1.0)
        for c in range(channels):
            track = scene[1, c] + mark * (scene[2, c] - scene[1, c])
            picture[bottom + x * channels + c] = int(track + past * (scene[3, c] - track) + 0.5)
            picture[x * channels + c] = int(scene[5, c] + over * (scene[4, c] - scene[5, c]) + 0.5)
    for y in range(1, bar):
        _copy(picture[:row], picture[y * row : (y + 1) * row])
    for y in range(ground + 1, size - 1):
        _copy(picture[bottom:], picture[y * row : (y + 1) * row])
    sky_end = min(ground, size) * row
    for c in range(channels):
        sky = np.uint8(scene[0, c])
        if channels == 1:  # a loop that compilers make one instruction of
            for i in range(bar * row, sky_end):
                picture[i] = sky
        else:
            for i in range(bar * row + c, sky_end, channels):
                picture[i] = sky
        if ground < size:
            below = ground + 1.0 - horizon
            for x in range(size):
                seen = float(picture[bottom + x * channels + c])
                picture[ground * row + x * channels + c] = int(sky + below * (seen - sky) + 0.5)


@njit(nogil=True, error_model="numpy")
def _draw_bone(reals, body, bone, scale, left, top, colour, size, picture):  # type: ignore[no-untyped-def]
    channels = colour.shape[0]
    cosine, sine = math.cos(reals[body + at.ANGLE]), math.sin(reals[body + at.ANGLE])
    x0, y0 = reals[body + at.X] - left, reals[body + at.Y] - top
    # In pixels, from the centre of the first one.
    ax = (x0 + bone[1] * cosine - bone[2] * sine) * scale - 0.5
    ay = (y0 + bone[1] * sine + bone[2] * cosine) * scale - 0.5
    dx = (x0 + bone[3] * cosine - bone[4] * sine) * scale - 0.5 - ax
    dy = (y0 + bone[3] * sine + bone[4] * cosine) * scale - 0.5 - ay
    first, more = bone[5] * scale, (bone[6] - bone[5]) * scale
    reach = max(first, first + more) + 1.0
    least_x, most_x = max(int(min(ax, ax + dx) - reach), 0), min(int(max(ax, ax + dx) + reach) + 1, size - 1)
    least_y, most_y = max(int(min(ay, ay + dy) - reach), 0), min(int(max(ay, ay + dy) + reach) + 1, size - 1)
    inverse = 1.0 / max(dx * dx + dy * dy, 1e-12)
    for y in range(least_y, most_y + 1):
        py = y - ay
        for x in range(least_x, most_x + 1):
            px = x - ax
            along = min(max((px * dx + py * dy) * inverse, 0.0), 1.0)
            apart_x, apart_y = px - along * dx, py - along * dy
            outer = first + along * more + 0.5
            squared = apart_x * apart_x + apart_y * apart_y
            if squared < outer * outer:
                covered = min(outer - math.sqrt(squared), 1.0)
                place = (y * size + x) * channels
                for c in range(channels):
                    before = float(picture[place + c])
                    picture[place + c] = int(before + covered * (colour[c] - before) + 0.5)

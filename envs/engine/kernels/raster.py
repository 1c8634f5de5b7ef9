"""Draws small pictures of games; see `qwop.pixels`."""

import math

import numpy as np

from ...names import GROUND_Y
from .. import layout as at
from ..batch import BAR, GROUND_AT, LENGTH, LIFT_ABOVE, MARK, METRE, TORSO_AT, UNITS_SHOWN
from .compiled import kernel
from .trigonometry import gnu_sine_and_cosine


@kernel
def draw_games(reals, chosen, begun, bones, scene, colours, size, first, last, stacks):
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


@kernel
def _copy(source, target):
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def _draw(reals, bones, scene, colours, size, picture):
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


@kernel
def _draw_scene(scene, scale, left, top, torso_x, size, picture):
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


@kernel
def _draw_bone(reals, body, bone, scale, left, top, colour, size, picture):
    channels = colour.shape[0]
    sine, cosine = gnu_sine_and_cosine(reals[body + at.ANGLE])
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

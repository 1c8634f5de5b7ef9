"""Small pictures of games, drawn from their states: the runner, the track, and how far he is.

Everything is made of bones, lines between two points of a body with a radius at each end, and is antialiased by the
distance of a pixel's centre from their edge. The view goes with the torso, as that of `drawing` does. Along the top a
bar grows from the left edge to the right over the 100 metres. The runner's right limbs, which are nearer, are dark, his
left ones light.
"""

import numpy as np
from numpy.typing import NDArray

from ..engine import layout as at
from ..engine.bodies import ANCHOR_A, ANCHOR_B, JOINT_A

_SKY, _TRACK, _LINE, _SAND = (214, 232, 246), (190, 100, 76), (252, 246, 240), (236, 214, 160)
_BAR, _BAR_LEFT = (20, 20, 24), (252, 252, 252)
_FAR_ARM, _FAR_LEG, _FAR_SHOE = (196, 158, 140), (150, 164, 200), (206, 140, 124)
_NEAR_ARM, _NEAR_LEG, _NEAR_SHOE = (96, 44, 34), (38, 42, 64), (116, 20, 20)
_SHIRT, _HEAD, _HURDLE = (38, 94, 168), (150, 84, 54), (98, 44, 26)

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

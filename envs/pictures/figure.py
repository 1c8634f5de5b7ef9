"""The runner and the hurdle as filled shapes, each fixed to a body.

Data shared by pictures and films here and by the recorder's page in a browser, so that all draw the same figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PIL import ImageDraw

from ..engine import layout as at
from ..engine.bodies import ANCHOR_A, ANCHOR_B, HALF_HEIGHT, HALF_WIDTH, JOINT_A

Colour = tuple[int, int, int]
Points = NDArray[np.float64]

SKIN, SKIN_FAR, SKIN_EDGE = (236, 176, 132), (205, 145, 107), (150, 92, 66)
SHIRT, SHIRT_EDGE, STRIPE = (38, 94, 168), (22, 58, 112), (255, 209, 70)
SHORTS, SHORTS_FAR, SHORTS_EDGE = (240, 243, 248), (198, 205, 217), (126, 138, 158)
SHOE, SHOE_FAR, SHOE_EDGE, SOLE = (230, 62, 52), (182, 46, 42), (112, 26, 26), (250, 250, 250)
SOCK, SOCK_FAR = (250, 250, 250), (214, 218, 226)
HAIR, HAIR_EDGE, BAND = (74, 46, 30), (48, 29, 20), (230, 62, 52)
EYE, MOUTH = (42, 30, 26), (150, 62, 52)
WOOD, WOOD_EDGE, BAR, BAR_STRIPE = (222, 226, 232), (120, 128, 142), (250, 250, 250), (222, 64, 54)
EDGE = 0.13
"""Width of the dark edge round a shape, units."""

_ARC = np.pi / 6
"""Longest straight piece of a round corner, radians."""


@dataclass(frozen=True)
class Shape:
    """A polygon in a body's own coordinates: points float64 [n, 2], units about its centre. edge: None for no edge."""

    body: int
    points: Points
    fill: Colour
    edge: Colour | None = None

    @cached_property
    def outline(self) -> Points:
        """The polygon grown by the edge, float64 [m, 2]: filled under the shape, it leaves the edge round it."""
        return grown(self.points, EDGE)


@dataclass(frozen=True)
class Canvas:
    """An ImageDraw and its view of the world: pixel = (world − origin)·scale."""

    draw: ImageDraw.ImageDraw
    origin: tuple[float, float]
    scale: float


def draw_shapes(canvas: Canvas, shapes: Sequence[Shape], state: NDArray[np.float64]) -> None:
    """Draw the shapes, first to last, where a state [14, 6] has their bodies."""
    rotations = canvas.scale * np.array([_rotation(angle) for angle in state[:, 2]])
    centres = canvas.scale * (state[:, :2] - canvas.origin)
    for shape in shapes:
        rotation, centre = rotations[shape.body], centres[shape.body]
        if shape.edge is not None:
            canvas.draw.polygon((shape.outline @ rotation + centre).ravel().tolist(), fill=shape.edge)
        canvas.draw.polygon((shape.points @ rotation + centre).ravel().tolist(), fill=shape.fill)


def grown(points: Points, margin: float) -> Points:
    """Grow a simple polygon [n, 2] by a margin on all sides; convex corners become round, the others stay corners."""
    x, y = points.T
    along = np.roll(points, -1, axis=0) - points
    along /= np.hypot(*along.T)[:, None]
    turning = np.sign(x @ np.roll(y, -1) - y @ np.roll(x, -1))  # the sign of the area: which way the corners go round
    outward = turning * np.stack([along[:, 1], -along[:, 0]], axis=1)
    corners = []
    for corner, before, after in zip(points, np.roll(outward, 1, axis=0), outward, strict=True):
        sine, cosine = before[0] * after[1] - before[1] * after[0], before @ after
        if sine * turning > 0:
            angle = np.arctan2(sine, cosine)
            parts = int(np.ceil(abs(angle) / _ARC))
            corners += [corner + margin * before @ _rotation(part * angle / parts) for part in range(parts + 1)]
        else:
            corners.append(corner + margin * (before + after) / (1 + cosine))
    return np.array(corners)


def reach(shapes: Sequence[Shape]) -> Points:
    """Return the distance from its centre that nothing drawn of a body exceeds, float64 [14], units."""
    farthest = np.zeros(at.MOVING)
    for shape in shapes:
        farthest[shape.body] = max(farthest[shape.body], np.hypot(*shape.outline.T).max())
    return farthest


def _rotation(angle: float) -> Points:
    """Return a rotation matrix for row vectors."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, sine], [-sine, cosine]])


def _place(joint: int, body: int) -> Points:
    """Return a joint's pivot in the coordinates of one of its bodies."""
    return np.array(ANCHOR_A[joint] if JOINT_A[joint] == body else ANCHOR_B[joint])


def _limb(start: Points, end: Points, profile: Sequence[tuple[float, float, float]]) -> Points:
    """Return a tapered shape with rounded ends along a bone: (place along it, half width in front, behind)."""
    along = end - start
    length = float(np.hypot(*along))
    along = along / length
    across = np.array([-along[1], along[0]])
    places = np.array([place for place, _, _ in profile])[:, None] * (length * along) + start
    before = places - across * np.array([[width] for _, width, _ in profile])
    behind = places + across * np.array([[width] for _, _, width in profile])
    turn = np.linspace(0, np.pi, 9)[1:-1, None]
    first, last = (profile[0][1] + profile[0][2]) / 2, (profile[-1][1] + profile[-1][2]) / 2
    cap_end = places[-1] + last * (np.sin(turn) * along - np.cos(turn) * across)
    cap_start = places[0] - first * (np.sin(turn) * along - np.cos(turn) * across)
    return np.concatenate([before, cap_end, behind[::-1], cap_start])


def _disc(centre: Points, radius: float) -> Points:
    turn = np.linspace(0, 2 * np.pi, 17)[:-1]
    disc: Points = centre + radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return disc


def _box(left: float, top: float, right: float, bottom: float) -> Points:
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)])


def _arm(upper: int, lower: int, shoulder: int, elbow: int, hand: tuple[float, float], far: bool) -> list[Shape]:
    skin = SKIN_FAR if far else SKIN
    arm = _limb(_place(shoulder, upper), _place(elbow, upper), ((0, 0.62, 0.62), (0.45, 0.6, 0.56), (1, 0.44, 0.44)))
    bend, end = _place(elbow, lower), np.array(hand)
    forearm = ((0, 0.44, 0.44), (0.3, 0.5, 0.46), (0.85, 0.3, 0.3))
    fist = end + 0.1 * (bend - end)
    return [
        Shape(lower, _disc(fist, 0.5), skin, SKIN_EDGE),
        Shape(lower, _limb(bend, end, forearm), skin, SKIN_EDGE),
        Shape(lower, _disc(fist, 0.5), skin),
        Shape(upper, arm, skin, SKIN_EDGE),
        # Over the upper arm's edge, so that the elbow is one piece.
        Shape(lower, _limb(bend, end, (*forearm[:2], (0.6, 0.4, 0.38))), skin),
    ]


def _leg(thigh: int, calf: int, foot: int, hip: int, knee: int, ankle: int, far: bool) -> list[Shape]:
    skin, sock, shorts = (SKIN_FAR, SOCK_FAR, SHORTS_FAR) if far else (SKIN, SOCK, SHORTS)
    top, bend = _place(hip, thigh), _place(knee, thigh)
    shin, end = _place(knee, calf), _place(ankle, calf)
    calf_profile = ((0, 0.66, 0.62), (0.3, 0.62, 0.82), (0.6, 0.5, 0.62), (1, 0.42, 0.42))
    return [
        *_shoe(foot, far),
        Shape(calf, _limb(shin, end, calf_profile), skin, SKIN_EDGE),
        Shape(calf, _limb(shin + 0.8 * (end - shin), end, ((0, 0.47, 0.47), (1, 0.43, 0.43))), sock),
        Shape(
            thigh,
            _limb(top + 0.25 * (bend - top), bend, ((0, 0.95, 0.95), (0.3, 0.98, 0.96), (1, 0.68, 0.64))),
            skin,
            SKIN_EDGE,
        ),
        Shape(calf, _limb(shin, end, ((0, 0.66, 0.62), (0.25, 0.6, 0.76))), skin),
        Shape(
            thigh,
            _limb(top, top + 0.42 * (bend - top), ((0, 1.16, 1.16), (0.5, 1.2, 1.2), (1, 1.2, 1.2)))[:-7],
            shorts,
            SHORTS_EDGE,
        ),
    ]


def _shoe(foot: int, far: bool) -> list[Shape]:
    upper = [
        (-1.32, 0.5), (-1.36, 0.05), (-1.2, -0.5), (-0.95, -0.82), (-0.2, -0.82), (0.1, -0.42),
        (0.75, -0.16), (1.2, 0.08), (1.4, 0.36), (1.36, 0.62), (-1.2, 0.62),
    ]  # fmt: skip
    laces = [_box(place, -0.3 + place * 0.5, place + 0.13, place * 0.3) for place in (-0.05, 0.28, 0.6)]
    return [
        Shape(foot, np.array(upper), SHOE_FAR if far else SHOE, SHOE_EDGE),
        *(Shape(foot, points, SOLE) for points in (_box(-1.3, 0.46, 1.38, 0.68), *laces)),
    ]


def _trunk() -> list[Shape]:
    """The torso lies along its own x: hips at −2.2, shoulders at 2, back at −y."""
    shorts = [(-2.9, -1.0), (-2.95, 0.4), (-2.5, 0.98), (-1.1, 1.0), (-0.9, -1.2), (-2.4, -1.34)]
    shirt = [
        (-1.35, -1.22), (-1.4, 0.98), (-0.2, 1.1), (0.9, 1.32), (1.9, 1.24), (2.6, 0.86), (2.95, 0.3), (2.95, -0.3),
        (2.7, -0.95), (2.1, -1.42), (1.0, -1.5), (-0.2, -1.28),
    ]  # fmt: skip
    stripe = [(-0.2, -1.26), (-0.2, 1.08), (0.25, 1.18), (0.25, -1.34)]
    return [
        Shape(at.TORSO, np.array(shorts), SHORTS, SHORTS_EDGE),
        Shape(at.TORSO, np.array(shirt), SHIRT, SHIRT_EDGE),
        Shape(at.TORSO, np.array(stripe), STRIPE),
    ]


def _head() -> list[Shape]:
    neck, chin = _place(at.NECK, at.HEAD), np.array([-0.05, 0.75])
    turn = np.linspace(0, 2 * np.pi, 33)[:-1]
    skull = np.stack([1.08 * np.cos(turn), 1.25 * np.sin(turn) - 0.1], axis=1)
    skull[:, 0] += np.where(skull[:, 1] > 0.2, 0.12 * skull[:, 1], 0)
    nose = [(0.98, -0.12), (1.42, 0.34), (1.3, 0.44), (0.96, 0.42)]
    hair = [
        (0.98, -0.72), (0.6, -0.78), (0.1, -0.62), (-0.25, -0.3), (-0.3, 0.2), (-0.55, 0.62), (-0.98, 0.5), (-1.2, 0.0),
        (-1.22, -0.6), (-1.0, -1.1), (-0.5, -1.5), (0.15, -1.62), (0.75, -1.42), (1.08, -1.02),
    ]  # fmt: skip
    band = [(1.08, -0.78), (-1.16, -0.42), (-1.2, -0.78), (1.02, -1.1)]
    ear = [(-0.42, -0.1), (-0.12, -0.16), (-0.06, 0.12), (-0.26, 0.34), (-0.46, 0.2)]
    mouth = [(0.5, 0.72), (0.95, 0.66), (0.92, 0.78), (0.52, 0.82)]
    shapes: list[tuple[Sequence[tuple[float, float]] | Points, Colour, Colour | None]] = [
        (_limb(chin, neck + 0.35 * (neck - chin), ((0, 0.55, 0.55), (1, 0.62, 0.62))), SKIN, SKIN_EDGE),
        (skull, SKIN, SKIN_EDGE),
        (nose, SKIN, SKIN_EDGE),
        ([(0.5, -0.2), *nose, (0.5, 0.5)], SKIN, None),
        (hair, HAIR, HAIR_EDGE),
        (band, BAND, None),
        (ear, SKIN, SKIN_EDGE),
        (_disc(np.array([0.62, -0.2]), 0.15), EYE, None),
        (mouth, MOUTH, None),
    ]
    return [Shape(at.HEAD, np.array(points), fill, edge) for points, fill, edge in shapes]


def _hurdle() -> list[Shape]:
    base_w, base_h = float(HALF_WIDTH[at.HURDLE_BASE]), float(HALF_HEIGHT[at.HURDLE_BASE])
    w, h = float(HALF_WIDTH[at.HURDLE_TOP]), float(HALF_HEIGHT[at.HURDLE_TOP])
    return [
        Shape(at.HURDLE_BASE, _box(-base_w, -base_h, base_w, base_h), WOOD, WOOD_EDGE),
        Shape(at.HURDLE_TOP, _box(-0.2, -h, 0.2, h), WOOD, WOOD_EDGE),
        Shape(at.HURDLE_TOP, _box(-w, -h, w, -h + 1.5), BAR, WOOD_EDGE),
        Shape(at.HURDLE_TOP, _box(-w, -h + 0.45, w, -h + 1.05), BAR_STRIPE),
    ]


RUNNER = (
    *_arm(at.LEFT_ARM, at.LEFT_FOREARM, at.LEFT_SHOULDER, at.LEFT_ELBOW, (1.75, 0.0), far=True),
    *_leg(at.LEFT_THIGH, at.LEFT_CALF, at.LEFT_FOOT, at.LEFT_HIP, at.LEFT_KNEE, at.LEFT_ANKLE, far=True),
    *_head(),
    *_trunk(),
    *_leg(at.RIGHT_THIGH, at.RIGHT_CALF, at.RIGHT_FOOT, at.RIGHT_HIP, at.RIGHT_KNEE, at.RIGHT_ANKLE, far=False),
    *_arm(at.RIGHT_ARM, at.RIGHT_FOREARM, at.RIGHT_SHOULDER, at.RIGHT_ELBOW, (-2.225, 0.0), far=False),
)
"""The runner seen from his right, the farthest shape first."""

HURDLE = tuple(_hurdle())

"""The runner and the hurdle, from a state table, as filled shapes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import ImageDraw

from .engine import layout as at
from .engine.bodies import ANCHOR_A, HALF_HEIGHT, HALF_WIDTH, JOINT_A

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
"""Width of the dark edge round every shape, units."""


@dataclass(frozen=True)
class Canvas:
    """An ImageDraw and where the world lies on it: pixel = (world − origin)·scale."""

    draw: ImageDraw.ImageDraw
    origin: tuple[float, float]
    scale: float

    def polygon(self, points: Points, fill: Colour) -> None:
        self.draw.polygon(((points - self.origin) * self.scale).ravel().tolist(), fill=fill)

    def disc(self, centre: Points, radius: float, fill: Colour) -> None:
        x, y = ((centre - self.origin) * self.scale).tolist()
        r = radius * self.scale
        self.draw.ellipse((x - r, y - r, x + r, y + r), fill=fill)

    def outlined(self, points: Points, fill: Colour, edge: Colour) -> None:
        """A polygon with an edge of width EDGE around it."""
        pixels = ((points - self.origin) * self.scale).ravel().tolist()
        width = max(round(2 * EDGE * self.scale), 1)
        self.draw.line([*pixels, *pixels[:4]], fill=edge, width=width, joint="curve")
        self.draw.polygon(pixels, fill=fill)


class Body:
    """One row of a state table as a frame of reference."""

    def __init__(self, row: NDArray[np.float64]) -> None:
        self.centre = row[:2]
        cosine, sine = np.cos(row[2]), np.sin(row[2])
        self.rotation = np.array([[cosine, sine], [-sine, cosine]])  # for row vectors

    def world(self, points: Sequence[tuple[float, float]] | Sequence[float] | Points) -> Points:
        placed: Points = np.asarray(points, dtype=np.float64) @ self.rotation + self.centre
        return placed


def draw_figure(canvas: Canvas, state: NDArray[np.float64]) -> None:
    """The runner of a state [14, 6], seen from his right: far limbs, trunk and head, near limbs."""
    bodies = [Body(row) for row in state]
    pivots = np.stack([bodies[JOINT_A[joint]].world(ANCHOR_A[joint]) for joint in range(at.JOINTS)])
    _arm(canvas, pivots[at.LEFT_SHOULDER], pivots[at.LEFT_ELBOW], bodies[at.LEFT_FOREARM].world([1.75, 0.0]), far=True)
    _leg(canvas, pivots[[at.LEFT_HIP, at.LEFT_KNEE, at.LEFT_ANKLE]], bodies[at.LEFT_FOOT], far=True)
    _head(canvas, bodies[at.HEAD], pivots[at.NECK])
    _trunk(canvas, bodies[at.TORSO])
    _leg(canvas, pivots[[at.RIGHT_HIP, at.RIGHT_KNEE, at.RIGHT_ANKLE]], bodies[at.RIGHT_FOOT], far=False)
    _arm(
        canvas,
        pivots[at.RIGHT_SHOULDER],
        pivots[at.RIGHT_ELBOW],
        bodies[at.RIGHT_FOREARM].world([-2.225, 0.0]),
        far=False,
    )


def draw_hurdle(canvas: Canvas, state: NDArray[np.float64]) -> None:
    base, top = Body(state[at.HURDLE_BASE]), Body(state[at.HURDLE_TOP])
    w, h = HALF_WIDTH[at.HURDLE_BASE], HALF_HEIGHT[at.HURDLE_BASE]
    canvas.outlined(base.world(_box(-w, -h, w, h)), WOOD, WOOD_EDGE)
    w, h = HALF_WIDTH[at.HURDLE_TOP], HALF_HEIGHT[at.HURDLE_TOP]
    canvas.outlined(top.world(_box(-0.2, -h, 0.2, h)), WOOD, WOOD_EDGE)
    canvas.outlined(top.world(_box(-w, -h, w, -h + 1.5)), BAR, WOOD_EDGE)
    canvas.polygon(top.world(_box(-w, -h + 0.45, w, -h + 1.05)), BAR_STRIPE)


def _box(left: float, top: float, right: float, bottom: float) -> list[tuple[float, float]]:
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _limb(start: Points, end: Points, profile: Sequence[tuple[float, float, float]]) -> Points:
    """A tapered shape along a bone: (place along it, half width before it, behind it), with rounded ends."""
    along = end - start
    length = max(float(np.hypot(*along)), 1e-6)
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


def _arm(canvas: Canvas, shoulder: Points, elbow: Points, hand: Points, far: bool) -> None:
    skin = SKIN_FAR if far else SKIN
    upper = _limb(shoulder, elbow, ((0, 0.62, 0.62), (0.45, 0.6, 0.56), (1, 0.44, 0.44)))
    lower = _limb(elbow, hand, ((0, 0.44, 0.44), (0.3, 0.5, 0.46), (0.85, 0.3, 0.3)))
    fist = hand - 0.1 * (hand - elbow)
    canvas.disc(fist, 0.5 + EDGE, SKIN_EDGE)
    canvas.outlined(lower, skin, SKIN_EDGE)
    canvas.disc(fist, 0.5, skin)
    canvas.outlined(upper, skin, SKIN_EDGE)
    canvas.polygon(_limb(elbow, hand, ((0, 0.44, 0.44), (0.3, 0.5, 0.46), (0.6, 0.4, 0.38))), skin)


def _leg(canvas: Canvas, joints: Points, foot: Body, far: bool) -> None:
    hip, knee, ankle = joints
    skin, sock = (SKIN_FAR, SOCK_FAR) if far else (SKIN, SOCK)
    calf_profile = ((0, 0.66, 0.62), (0.3, 0.62, 0.82), (0.6, 0.5, 0.62), (1, 0.42, 0.42))
    calf = _limb(knee, ankle, calf_profile)
    thigh = _limb(hip + 0.25 * (knee - hip), knee, ((0, 0.95, 0.95), (0.3, 0.98, 0.96), (1, 0.68, 0.64)))
    _shoe(canvas, foot, far)
    canvas.outlined(calf, skin, SKIN_EDGE)
    canvas.polygon(_limb(knee + 0.8 * (ankle - knee), ankle, ((0, 0.47, 0.47), (1, 0.43, 0.43))), sock)
    canvas.outlined(thigh, skin, SKIN_EDGE)
    canvas.polygon(_limb(knee, ankle, ((0, 0.66, 0.62), (0.25, 0.6, 0.76))), skin)
    shorts, edge = (SHORTS_FAR if far else SHORTS), SHORTS_EDGE
    canvas.outlined(
        _limb(hip, hip + 0.42 * (knee - hip), ((0, 1.16, 1.16), (0.5, 1.2, 1.2), (1, 1.2, 1.2)))[:-7], shorts, edge
    )


def _shoe(canvas: Canvas, foot: Body, far: bool) -> None:
    shape = [
        (-1.32, 0.5), (-1.36, 0.05), (-1.2, -0.5), (-0.95, -0.82), (-0.2, -0.82), (0.1, -0.42),
        (0.75, -0.16), (1.2, 0.08), (1.4, 0.36), (1.36, 0.62), (-1.2, 0.62),
    ]  # fmt: skip
    canvas.outlined(foot.world(shape), SHOE_FAR if far else SHOE, SHOE_EDGE)
    canvas.polygon(foot.world(_box(-1.3, 0.46, 1.38, 0.68)), SOLE)
    for place in (-0.05, 0.28, 0.6):
        canvas.polygon(foot.world(_box(place, -0.3 + place * 0.5, place + 0.13, 0.0 + place * 0.3)), SOLE)


def _trunk(canvas: Canvas, torso: Body) -> None:
    """The torso lies along its own x: hips at −2.2, shoulders at 2, back at −y."""
    shorts = [(-2.9, -1.0), (-2.95, 0.4), (-2.5, 0.98), (-1.1, 1.0), (-0.9, -1.2), (-2.4, -1.34)]
    canvas.outlined(torso.world(shorts), SHORTS, SHORTS_EDGE)
    shirt = [
        (-1.35, -1.22), (-1.4, 0.98), (-0.2, 1.1), (0.9, 1.32), (1.9, 1.24), (2.6, 0.86), (2.95, 0.3), (2.95, -0.3),
        (2.7, -0.95), (2.1, -1.42), (1.0, -1.5), (-0.2, -1.28),
    ]  # fmt: skip
    canvas.outlined(torso.world(shirt), SHIRT, SHIRT_EDGE)
    canvas.polygon(torso.world([(-0.2, -1.26), (-0.2, 1.08), (0.25, 1.18), (0.25, -1.34)]), STRIPE)


def _head(canvas: Canvas, head: Body, neck: Points) -> None:
    chin = head.world([-0.05, 0.75])
    throat = neck + 0.35 * (neck - chin)
    canvas.outlined(_limb(chin, throat, ((0, 0.55, 0.55), (1, 0.62, 0.62))), SKIN, SKIN_EDGE)
    turn = np.linspace(0, 2 * np.pi, 33)[:-1]
    skull = np.stack([1.08 * np.cos(turn), 1.25 * np.sin(turn) - 0.1], axis=1)
    skull[:, 0] += np.where(skull[:, 1] > 0.2, 0.12 * skull[:, 1], 0)
    canvas.outlined(head.world(skull), SKIN, SKIN_EDGE)
    nose = [(0.98, -0.12), (1.42, 0.34), (1.3, 0.44), (0.96, 0.42)]
    canvas.outlined(head.world(nose), SKIN, SKIN_EDGE)
    canvas.polygon(head.world([(0.5, -0.2), *nose, (0.5, 0.5)]), SKIN)
    hair = [
        (0.98, -0.72), (0.6, -0.78), (0.1, -0.62), (-0.25, -0.3), (-0.3, 0.2), (-0.55, 0.62), (-0.98, 0.5), (-1.2, 0.0),
        (-1.22, -0.6), (-1.0, -1.1), (-0.5, -1.5), (0.15, -1.62), (0.75, -1.42), (1.08, -1.02),
    ]  # fmt: skip
    canvas.outlined(head.world(hair), HAIR, HAIR_EDGE)
    canvas.polygon(head.world([(1.08, -0.78), (-1.16, -0.42), (-1.2, -0.78), (1.02, -1.1)]), BAND)
    canvas.outlined(
        head.world([(-0.42, -0.1), (-0.12, -0.16), (-0.06, 0.12), (-0.26, 0.34), (-0.46, 0.2)]), SKIN, SKIN_EDGE
    )
    canvas.disc(head.world([0.62, -0.2]), 0.15, EYE)
    canvas.polygon(head.world([(0.5, 0.72), (0.95, 0.66), (0.92, 0.78), (0.52, 0.82)]), MOUTH)

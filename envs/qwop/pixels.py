"""Pictures as observations of `QWOP-v1`: the runner, the track, and how far he is.

Everything is made of bones, lines between two points of a body with a radius at each end, and is antialiased by the
distance of a pixel's centre from their edge. The view goes with the torso, as that of `pictures.drawing` does. Along
the top a bar grows from the left edge to the right over the 100 metres. The runner's right limbs, which are nearer, are
dark, his left ones light.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import layout as at
from ..engine import native
from ..engine.bodies import ANCHOR_A, ANCHOR_B, JOINT_A

_Colour = tuple[int, int, int]
_Bone = tuple[int, tuple[float, float], tuple[float, float], float, float, _Colour]

_SCENE = np.array(
    [(214, 232, 246), (190, 100, 76), (252, 246, 240), (236, 214, 160), (20, 20, 24), (252, 252, 252)], dtype=np.float64
)
"""Sky, track, marks, sand, bar, and what is left of the bar."""

_SHIRT, _HEAD, _HURDLE = (38, 94, 168), (150, 84, 54), (98, 44, 26)
_LUMINANCE = (0.299, 0.587, 0.114)


def _pivot(joint: int, body: int) -> tuple[float, float]:
    """A joint's place in the coordinates of one of its bodies."""
    x, y = (ANCHOR_A if JOINT_A[joint] == body else ANCHOR_B)[joint]
    return float(x), float(y)


def _limbs(side: str, hand: float, skin: _Colour, cloth: _Colour, shoe: _Colour) -> tuple[list[_Bone], list[_Bone]]:
    """The bones of an arm and of a leg."""
    parts = ("ARM", "FOREARM", "SHOULDER", "ELBOW", "THIGH", "CALF", "FOOT", "HIP", "KNEE", "ANKLE")
    numbers = (getattr(at, f"{side}_{part}") for part in parts)
    arm, forearm, shoulder, elbow, thigh, calf, foot, hip, knee, ankle = numbers
    return [
        (forearm, _pivot(elbow, forearm), (hand, 0.0), 0.5, 0.42, skin),
        (arm, _pivot(shoulder, arm), _pivot(elbow, arm), 0.62, 0.5, skin),
    ], [
        (foot, (-0.95, 0.2), (1.05, 0.3), 0.45, 0.38, shoe),
        (calf, _pivot(knee, calf), _pivot(ankle, calf), 0.72, 0.5, cloth),
        (thigh, _pivot(hip, thigh), _pivot(knee, thigh), 1.05, 0.74, cloth),
    ]


_FAR_ARM, _FAR_LEG = _limbs("LEFT", 1.5, (196, 158, 140), (150, 164, 200), (206, 140, 124))
_NEAR_ARM, _NEAR_LEG = _limbs("RIGHT", -1.9, (96, 44, 34), (38, 42, 64), (116, 20, 20))

_BONES: list[_Bone] = [
    (at.HURDLE_BASE, (-1.5, 0.0), (1.5, 0.0), 0.3, 0.3, _HURDLE),
    (at.HURDLE_TOP, (0.0, -3.3), (0.0, 3.4), 0.3, 0.3, _HURDLE),
    *_FAR_ARM,
    *_FAR_LEG,
    (at.HEAD, _pivot(at.NECK, at.HEAD), (0.0, 0.4), 0.62, 0.6, _HEAD),
    (at.HEAD, (0.0, -0.1), (0.1, -0.05), 1.16, 1.16, _HEAD),
    (at.TORSO, (-1.75, 0.0), (1.75, 0.0), 1.2, 1.4, _SHIRT),
    *_NEAR_LEG,
    *_NEAR_ARM,
]
"""Body, ends in its own coordinates (units), radius at each (units), colour; the farthest first."""

BONES = np.array([(body, *first, *last, start, end) for body, first, last, start, end, _ in _BONES])
"""float64 [bones, 7]."""


def palette(colour: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The colours of sky, track, marks, sand, bar and what is left of it, [6, c], and of the bones, [bones, c].

    c is 3, or 1 for their luminance.
    """
    bones = np.array([colours for *_, colours in _BONES], dtype=np.float64)
    if colour:
        return _SCENE, bones
    return (_SCENE @ _LUMINANCE).round()[:, None], (bones @ _LUMINANCE).round()[:, None]


class Pictures:
    """The newest `stack` pictures of each of n games, `size` pixels high and wide.

    stacks: uint8 [n, stack, size, size, c], oldest first; c is 3 with colours, else 1. At the beginning of a game, its
    first picture fills the stack.
    """

    def __init__(self, count: int, stack: int, size: int, colour: bool) -> None:
        self._scene, self._bones = palette(colour)
        self._flags = np.zeros((2, count), dtype=np.bool_)
        self._calls: dict[tuple[int, int], native.Call] = {}
        self.stacks = np.zeros((count, stack, size, size, 3 if colour else 1), dtype=np.uint8)
        self._shape = picture_shape(stack, size, colour)

    def draw(
        self,
        reals: NDArray[np.float64],
        rows: NDArray[np.bool_],
        new: NDArray[np.bool_],
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """Add a picture of the games first … last − 1 in `rows`, bool [n]; those that are `new` have no older one.

        reals: float64 [n, 84 or more], whose rows begin with the bodies.
        """
        last = len(reals) if last is None else last
        self._flags[:, first:last] = rows[first:last], new[first:last]
        call = self._calls.get((id(reals), first))  # a table for each thread
        if call is None or call.table[-6:-4] != [first, last]:
            size, flat = self.stacks.shape[2], self.stacks.reshape(*self.stacks.shape[:2], -1)
            call = native.bind(
                "draw_games", reals, *self._flags, BONES, self._scene, self._bones, size, first, last, flat
            )
            self._calls[id(reals), first] = call
        call()

    def observed(self) -> NDArray[np.uint8]:
        """Copy the current observations: uint8 [n, *picture_shape]."""
        return self.stacks.reshape(len(self.stacks), *self._shape).copy()


def picture_shape(stack: int, size: int, colour: bool) -> tuple[int, ...]:
    """The shape of an observation: [size, size], with the frames of a stack in front and colours behind."""
    return (*((stack,) if stack > 1 else ()), size, size, *((3,) if colour else ()))


def observe_pictures(states: ArrayLike, *, stack: int = 1, size: int = 84, colour: bool = False) -> NDArray[np.uint8]:
    """Return a player's pictures along the decisions of a game, uint8 [T, *picture_shape], of states [T, 14, 6];
    ValueError for another shape."""
    table = np.asarray(states, dtype=np.float64)
    if table.ndim != 3 or table.shape[1:] != (14, 6):
        raise ValueError(f"states of shape {list(table.shape)}, expected [T, 14, 6]")
    single = Pictures(len(table), 1, size, colour)
    every = np.ones(len(table), dtype=np.bool_)
    single.draw(np.ascontiguousarray(table.reshape(-1, 84)), every, every)
    frames = single.stacks[:, 0]
    places = np.maximum(np.arange(len(table))[:, None] - np.arange(stack)[::-1], 0)
    pictures: NDArray[np.uint8] = frames[places].reshape(len(table), *picture_shape(stack, size, colour))
    return pictures

"""Pictures as observations of `QWOP-v1`."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import native
from ..pictures.raster import BONES, palette


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

"""Shape and type of observations, as policies and datasets hold them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..common.checks import LONGEST_REASON, quoted
from ..common.errors import BadInput
from .actions import Space, action_count
from .observed import rounded_number

OBSERVATION_DTYPES = ("float32", "uint8")

MOST_DIMENSIONS = 8

MOST_COLOURS = 4
"""Largest number of colour values of a pixel."""

SMALLEST_PICTURE = 36
"""Smallest height and width of a picture for the convolutions, in pixels; at this size one number per channel is
left. Bytes in a smaller square, such as a board or a grid, are numbers."""

LARGEST_OBSERVATION = 2**24
"""Largest size of an observation that a file may describe: more numbers than a picture of 2,560 × 1,440 pixels has."""

Observations = NDArray[np.float32 | np.uint8]
"""Observations of games, [..., *shape]: numbers or pictures."""


@dataclass(frozen=True)
class ObservationSpec:
    """Shape and type of an environment's observations: float32 numbers of any shape, or uint8 images."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if any(size < 1 for size in self.shape):
            raise ValueError(f"observation shape {self.shape}: expected sizes of at least 1")
        if self.dtype not in OBSERVATION_DTYPES:
            raise ValueError(f"observations of {quoted(self.dtype)}, expected {' or '.join(OBSERVATION_DTYPES)}")

    @property
    def size(self) -> int:
        """Numbers in one observation."""
        return math.prod(self.shape)

    @property
    def is_image(self) -> bool:
        """True for pictures: uint8 of two to four sizes (see `axes`), of which one side has 36 pixels or more."""
        if self.dtype != "uint8" or not 2 <= len(self.shape) <= 4:
            return False
        _, height, width = self.axes
        return max(self.shape[height], self.shape[width]) >= SMALLEST_PICTURE

    @property
    def axes(self) -> tuple[tuple[int, ...], int, int]:
        """The axes of a picture's channels, its height and its width.

        Of three sizes, the first or the last are channels: colours, frames, or both. Of four, the first are frames, and
        each is a picture of three sizes. At most `MOST_COLOURS` at the end are colours; otherwise two neighbours of the
        same size are height and width; otherwise the smaller one of both ends are channels.
        """
        before = len(self.shape) - 3
        if before < 0:
            return (), 0, 1
        first, middle, last = self.shape[before:]
        at_the_end = last <= MOST_COLOURS or (
            last < first if (first == middle) == (middle == last) else first == middle
        )
        frames = tuple(range(before))
        return (
            ((*frames, before + 2), before, before + 1) if at_the_end else ((*frames, before), before + 1, before + 2)
        )

    @property
    def channels(self) -> int:
        """Numbers of one pixel: colours × frames."""
        return math.prod(self.shape[axis] for axis in self.axes[0])

    @property
    def stack(self) -> int:
        """Frames that follow one another in memory: n of an image [n, …], else 1."""
        return self.shape[0] if self.is_image and 0 in self.axes[0] else 1

    @property
    def frame(self) -> "ObservationSpec":
        """One frame of the stack."""
        return ObservationSpec(self.shape[1:], self.dtype) if self.is_image and 0 in self.axes[0] else self

    def zeros(self, *leading: int) -> Observations:
        """Return an array of zeros [*leading, *shape]."""
        return np.zeros((*leading, *self.shape), dtype=self.dtype)

    def array(self, observations: Any) -> Observations:
        """Copy observations [..., *shape] in this type; BadInput for whole numbers that it would round."""
        numbers = np.asarray(observations)
        if numbers.dtype.kind in "iu" and self.dtype == "float32" and (rounded := rounded_number(numbers)):
            raise BadInput(f"observations{rounded}")
        return np.array(numbers, dtype=self.dtype)

    @classmethod
    def of(cls, space: Space, name: str) -> "ObservationSpec":
        """Return the observations of a space; BadInput about environment `name` for a space that is not a Box."""
        if not isinstance(space, gymnasium.spaces.Box):
            raise BadInput(
                f"{name}: its observations are {quoted(space, LONGEST_REASON)}, expected a Box of numbers or an image, "
                "discrete ones, or a Dict or Tuple of these; wrap the environment (gymnasium.ObservationWrapper)"
            )
        if 0 in space.shape:
            raise BadInput(f"{name}: its observations are {space}, which has no numbers; expected one or more")
        if math.prod(space.shape) > LARGEST_OBSERVATION:
            raise BadInput(
                f"{name}: its observations have {math.prod(space.shape):,} numbers, expected at most "
                f"{LARGEST_OBSERVATION:,}; wrap the environment (gymnasium.ObservationWrapper)"
            )
        return cls(tuple(space.shape), "uint8" if space.dtype == np.uint8 else "float32")

    def to_json(self) -> dict[str, Any]:
        return {"observation_shape": list(self.shape), "observation_dtype": self.dtype}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ObservationSpec":
        """The inverse of `to_json`; ValueError for anything else."""
        shape = data["observation_shape"]
        whole = isinstance(shape, list) and all(
            type(size) is int and 1 <= size <= LARGEST_OBSERVATION for size in shape
        )
        if not whole or len(shape) > MOST_DIMENSIONS or math.prod(shape) > LARGEST_OBSERVATION:
            raise ValueError(
                f"observation_shape is {quoted(shape)}, expected up to {MOST_DIMENSIONS} whole numbers from 1, "
                f"together at most {LARGEST_OBSERVATION:,} numbers"
            )
        return cls(tuple(shape), str(data.get("observation_dtype", "float32")))

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


def interface_of(observations: Space, actions: Space, name: str) -> tuple[ObservationSpec, int]:
    """Return the observations and the number of actions of environment `name`; BadInput for other spaces."""
    count = action_count(actions, name)
    return ObservationSpec.of(observations, name), count

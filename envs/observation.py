"""Observations: their shape and type, the check of their values, and those of other packages as arrays of numbers."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.spaces.utils import flatten, flatten_space
from numpy.typing import NDArray

from ..common.errors import LONGEST_REASON, BadInput, quoted
from .actions import Space, action_count, parts_of

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
        if len(self.shape) > MOST_DIMENSIONS or min(self.shape, default=1) < 1 or self.size > LARGEST_OBSERVATION:
            raise ValueError(
                f"observation shape {quoted([*self.shape])}: expected up to {MOST_DIMENSIONS} sizes of at least 1, "
                f"together at most {LARGEST_OBSERVATION:,} numbers"
            )
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
        if numbers.dtype.kind in "iu" and self.dtype == "float32" and (rounded := wrong_number(numbers)):
            raise BadInput(f"observations{rounded}")
        return np.array(numbers, dtype=self.dtype)

    @classmethod
    def of(cls, space: Space, name: str) -> "ObservationSpec":
        """Return the observations of a space; BadInput about environment `name` for a space that is not a Box."""
        if not isinstance(space, Box):
            raise BadInput(
                f"{name}: its observations are {quoted(space, LONGEST_REASON)}, expected a Box of numbers or an image, "
                "discrete ones, or a Dict or Tuple of these; wrap the environment (gymnasium.ObservationWrapper)"
            )
        try:
            return cls(tuple(space.shape), "uint8" if space.dtype == np.uint8 else "float32")
        except ValueError as error:
            raise BadInput(f"{name}: its {error}; wrap the environment (gymnasium.ObservationWrapper)") from None

    def to_json(self) -> dict[str, Any]:
        return {"observation_shape": list(self.shape), "observation_dtype": self.dtype}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ObservationSpec":
        """The inverse of `to_json`; ValueError for anything else."""
        shape = data["observation_shape"]
        if not isinstance(shape, list) or any(type(size) is not int for size in shape):
            raise ValueError(f"observation_shape is {quoted(shape)}, expected whole numbers")
        return cls(tuple(shape), str(data.get("observation_dtype", "float32")))

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


def interface_of(observations: Space, actions: Space, name: str) -> tuple[ObservationSpec, int]:
    """Return the observations and the number of actions of environment `name`; BadInput for other spaces."""
    count = action_count(actions, name)
    return ObservationSpec.of(observations, name), count


STORED = (np.dtype(np.float32), np.dtype(np.uint8))
"""Types of observations of policies and datasets: numbers, or pictures."""


def without_tensors(value: Any) -> Any:
    """The value with NumPy's arrays in place of PyTorch's tensors, wherever they lie and with a gradient or without."""
    if isinstance(value, np.ndarray | np.generic | float | int | str):
        return value
    if isinstance(value, Mapping):
        return {name: without_tensors(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(without_tensors, value)) if type(value) in (tuple, list) else value
    if not hasattr(value, "detach"):
        return value
    try:
        plain = value.detach().cpu()
        return (plain.float() if "bfloat16" in str(plain.dtype) else plain).numpy()
    except (RuntimeError, TypeError, AttributeError):  # without numbers, on the device meta
        return value


def masked_place(value: Any) -> str | None:
    """The place of the first masked array of a value, such as `['speed'][1]`; None if nothing is masked.

    NumPy takes the number that lies under the mask, which is none, for a number.
    """
    if isinstance(value, np.ndarray):
        is_masked = isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)
        return str(np.argwhere(np.ma.getmaskarray(value))[0].tolist() if value.ndim else "") if is_masked else None
    if isinstance(value, Mapping | tuple | list):
        for name, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            if isinstance(part, np.ma.MaskedArray | Mapping | tuple | list) and (at := masked_place(part)) is not None:
                return f"[{name!r}]{at}"
    return None


def refuse_masked(values: Any, name: str) -> None:
    """Raise BadInput for masked values, by the name of what holds them."""
    if (at := masked_place(values)) is not None:
        raise BadInput(
            f"{name}{at} is masked, expected a number; leave these rows out, or fill them in (numpy.ma.filled)"
        )


def problem_of(value: Any, space: Box, name: str) -> str | None:
    """Describe why a value is no observation of a `Box`, such as 'speed[1] is inf, …'; None if it is one.

    Numbers of another type count if the box's type holds them. Its limits do not: many environments exceed theirs.
    """
    expected = f"{space.dtype} {list(space.shape)}"
    try:
        numbers = np.asarray(value)
    except (ValueError, RuntimeError):  # lists of different lengths, tensors without numbers
        return f"{name} is {quoted(value)}, expected {expected}"
    if numbers.shape != space.shape or numbers.dtype.kind not in "fiub":
        form = quoted(value) if numbers.dtype == object else f"{numbers.dtype} {list(numbers.shape)}"
        return f"{name} is {form}, expected {expected}"
    return wrong_number(numbers, space.dtype, name, whole=not numbers.dtype.kind == space.dtype.kind == "f")


def wrong_number(numbers: NDArray[Any], dtype: Any = np.float32, name: str = "", whole: bool = True) -> str | None:
    """Describe the first number that a type does not hold, such as '[1] is 16777217, …'; None if it holds all.

    whole: they count or name things, so the type holds them if it does not round them: above 2²⁴, two of them would
    become one in float32. Other numbers must be finite in it.
    """
    if whole and np.can_cast(numbers.dtype, dtype):
        return None
    with np.errstate(all="ignore"):
        values = numbers.astype(dtype)
        wrong = values.astype(numbers.dtype) != numbers if whole else ~np.isfinite(values)
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0].tolist())
    expected = f"whole numbers that {np.dtype(dtype)} holds" if whole else "a finite number"
    return f"{name}{list(at) if at else ''} is {quoted(numbers[at].item())}, expected {expected}"


def plain_form(space: Space) -> tuple[Space, Callable[[Any], NDArray[Any]]]:
    """Return the `Box` of observations that consist of numbers, and the function that brings them into it.

    Discrete ones become rows of zeros and ones, `Dict` and `Tuple` one row of all their numbers, in the order of
    Gymnasium's `flatten_space`; a number alone becomes a row of one. Texts in them (MiniGrid's mission) are left out,
    and a `Dict` with a picture alone is this picture. Other spaces stay as they are. The function raises KeyError,
    IndexError, TypeError or ValueError for a value of another form.
    """
    rest = without_texts(space)
    if isinstance(rest, Dict) and len(rest.spaces) == 1:
        ((name, part),) = rest.spaces.items()
        if isinstance(part, Box) and len(part.shape) > 1:
            return part, lambda value: np.asarray(value[name])
    scattered = isinstance(rest, Discrete | MultiDiscrete | MultiBinary | Dict | Tuple)
    if (scattered or (isinstance(rest, Box) and not rest.shape)) and rest.is_np_flattenable:
        return flatten_space(rest), lambda value: np.concatenate([*_numbers(space, value)])
    return space, np.asarray


def without_texts(space: Space) -> Space:
    """A `Dict` or `Tuple` as a `Dict` without its texts, at any depth; unchanged if it has none, or nothing else."""
    if not isinstance(space, Dict | Tuple):
        return space
    rest = {name: without_texts(part) for name, part in parts_of(space) if not _is_text(part)}
    return Dict(rest) if rest and any(rest.get(name) is not part for name, part in parts_of(space)) else space


def _numbers(space: Space, value: Any) -> Iterator[NDArray[Any]]:
    """The numbers of an observation without its texts, part by part."""
    if isinstance(space, Dict | Tuple):
        for name, part in parts_of(space):
            if not _is_text(part):
                yield from _numbers(part, value[name])
    elif isinstance(space, Box):
        yield np.asarray(value).ravel()
    elif space.contains(value):
        yield np.asarray(flatten(space, value))
    else:
        raise ValueError(f"{quoted(value)} is not in {space}")


def _is_text(space: Space) -> bool:
    if isinstance(space, Dict | Tuple):
        return all(_is_text(part) for _, part in parts_of(space))
    return space.dtype is not None and space.dtype.kind == "U"

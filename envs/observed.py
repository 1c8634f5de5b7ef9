"""Observations, rewards and infos of other packages' environments: checked where they arise, in the project's form.

A number that is not finite would be found much later, as a policy that has diverged. An info means something here only
where the environment's capabilities say so, whatever its name is.
"""

import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.spaces.utils import flatten, flatten_space
from gymnasium.wrappers import FlattenObservation, TransformObservation
from numpy.typing import NDArray

from ..common.checks import LONGEST_REASON, quoted
from ..common.closing import close_after_use
from ..common.errors import BadInput, EnvironmentFailed
from .actions import Env, Space
from .capabilities import Capabilities

FASTEST = 240.0
"""Pictures a second of a film, at most: browsers show no more, and it rests on its last picture for 1.5 seconds."""

OWN_INFO = "environment_info"
"""Entry of an info that holds, as `OwnInfo`, all that the environment's capabilities do not declare."""

MOST_VALUES = 4
"""Largest number of values of a pixel that a film takes: colours and their opacity."""

LARGEST = np.float64(np.finfo(np.float32).max)
"""Largest float32, as a float64, so that a comparison with a narrower array does not narrow it."""

LARGEST_HALF = np.float64(np.finfo(np.float16).max)

STORED = (np.dtype(np.float32), np.dtype(np.uint8))
"""Types of observations of policies and datasets: numbers, or pictures."""

ERRORS = (Exception, SystemExit)
"""Errors of an environment's own; some leave Python where they should fail."""


@dataclass(frozen=True)
class OwnInfo:
    """Info of an environment's own. No mapping, so that vector environments pass it on as it is."""

    entries: Mapping[str, Any]


class CheckedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose observations and rewards are checked, and whose infos are its own.

    Raises EnvironmentFailed, with the environment's `name`, the step and the field, for an observation of another form
    than the space says, for numbers that are not finite as float32, for a reward that is no number, and for any
    exception of the environment's own, which is its cause; BadInput for a picture that is none (where it `draws`).
    """

    def __init__(self, env: Env, name: str, capabilities: Capabilities, draws: bool = False) -> None:
        super().__init__(env)
        self.metadata = _usable(env.metadata)
        self._draws = draws
        self._name, self._known, self._space = name, capabilities.info_names, env.observation_space
        self._steps, self._played = 0, False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._steps = 0
        with self._failing("reset"):
            observation, info = self.env.reset(seed=seed, options=options)
        return self._checked(observation), self._told(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        self._played = True
        try:  # `_failing` would take a tenth of a quick environment's step
            observation, reward, terminated, truncated, info = self.env.step(action)
        except BadInput:
            raise
        except ERRORS as error:
            raise self._failed("step", error) from error
        number = _number(reward)
        if not -LARGEST <= number <= LARGEST:
            raise self._wrong(
                f"reward is {quoted(repr(reward) if isinstance(reward, str) else reward)}, expected a finite number"
            )
        over, cut = self._truth("terminated", terminated), self._truth("truncated", truncated)
        return self._checked(observation), number, over, cut, self._told(info)

    def render(self) -> Any:
        with self._failing("render"):
            shown = without_tensors(self.env.render())
        if self._draws and (problem := _problem_of_picture(shown)):
            raise BadInput(f"environment {self._name}: its {problem}; mend the environment, or wrap it")
        return shown

    def close(self) -> None:
        """Close the environment. If that fails after a game, there are results, and it is a note."""
        if self._played:
            close_after_use(self.env.close, f"environment {self._name}")
            return
        with self._failing("close"):
            self.env.close()

    @contextmanager
    def _failing(self, method: str) -> Iterator[None]:
        """Context manager: turn exceptions of a method of the environment, except BadInput, into EnvironmentFailed."""
        try:
            yield
        except BadInput:
            raise
        except ERRORS as error:
            raise self._failed(method, error) from error

    def _failed(self, method: str, error: BaseException) -> EnvironmentFailed:
        """An exception of the environment's method in one line, with the line it came from."""
        why = f"{type(error).__name__}: {quoted(str(error), LONGEST_REASON)}"
        own = [line for line in traceback.extract_tb(error.__traceback__) if not _is_wrapper(Path(line.filename))]
        if own:
            why += f"; {Path(own[-1].filename).name}, line {own[-1].lineno}"
        when = f" in decision {self._steps:,} of a game" if self._steps else ""
        return EnvironmentFailed(
            f"environment {self._name}: its {method} failed{when} ({why}); mend the environment, or wrap it"
        )

    def _checked(self, observation: Any) -> Any:
        observation = without_tensors(observation)
        if problem := problem_of(self._space, observation, "observation"):
            raise self._wrong(problem)
        # A copy, because some environments change the array that they gave before.
        return np.array(observation, dtype=self._space.dtype) if isinstance(self._space, Box) else observation

    def _truth(self, name: str, given: Any) -> bool:
        if isinstance(given, bool):
            return given
        with suppress(TypeError, ValueError, RuntimeError):  # of what is no array
            found = np.asarray(without_tensors(given))
            plain = found.dtype.kind in "biuf" and found.size == 1 and masked_place(given) is None
            if plain and found == found:  # NaN would be true, None false
                return bool(found)
        raise self._wrong(f"{name} is {quoted(given)}, expected true or false")

    def _wrong(self, problem: str) -> EnvironmentFailed:
        when = f"after decision {self._steps:,} of a game" if self._steps else "after a reset"
        return EnvironmentFailed(f"environment {self._name}: {when}, its {problem}; mend the environment, or wrap it")

    def _told(self, info: Any) -> dict[str, Any]:
        if not isinstance(info, Mapping):
            raise self._wrong(f"info is {quoted(info)}, expected a dictionary")
        if not info:
            return {}
        known = {name: value for name, value in info.items() if name in self._known}
        if len(known) < len(info):
            known[OWN_INFO] = OwnInfo({name: value for name, value in info.items() if name not in self._known})
        return known


def _number(reward: Any) -> float:
    """A reward as a number; NaN for anything else, and for a masked one."""
    if isinstance(reward, str | bytes) or masked_place(reward) is not None:
        return np.nan
    try:
        return float(np.asarray(without_tensors(reward)).item())
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return np.nan


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
        masked = isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)
        return str(np.argwhere(np.ma.getmaskarray(value))[0].tolist() if value.ndim else "") if masked else None
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


def _usable(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """An environment's metadata without render modes that are no list and a rate of pictures that is no number."""
    kept = dict(metadata)
    if not isinstance(kept.get("render_modes"), list | tuple | set | frozenset):
        kept.pop("render_modes", None)
    rate = kept.pop("render_fps", None)
    if isinstance(rate, int | float | np.number) and rate > 0:
        kept["render_fps"] = min(rate, FASTEST)
    return kept


def _is_wrapper(path: Path) -> bool:
    """True for code between the project and an environment: this file, and Gymnasium's wrappers."""
    return path == Path(__file__) or Path(gymnasium.__file__).parent in path.parents


def problem_of(space: Space, value: Any, place: str) -> str | None:
    """Describe the first field in which a value does not fit its space, such as 'speed[1] is inf, …'; None if it fits.

    Limits of a Box are not checked, as many environments exceed theirs.
    """
    if isinstance(value, np.ma.MaskedArray | tuple | list) and (at := masked_place(value)) is not None:
        return f"{place}{at} is masked, expected a number"
    if isinstance(space, Box):
        try:
            return _problem_of_numbers(space, np.asarray(value), place)
        except (ValueError, TypeError, RuntimeError):  # lists of different lengths, tensors without numbers
            return f"{place} is {quoted(value)}, expected {space.dtype} {list(space.shape)}"
    if isinstance(space, Dict | Tuple):
        for name, part in _parts(space):
            try:
                inner = value[name]
            except (KeyError, IndexError, TypeError):
                return f"{place} has no {name!r}, expected {space}"
            if problem := problem_of(part, inner, f"{place}[{name!r}]"):
                return problem
        return None
    return None if space.contains(value) else f"{place} is {quoted(value)}, expected {space}"


def _problem_of_numbers(space: Box, numbers: NDArray[Any], place: str) -> str | None:
    if numbers.dtype == object:
        return f"{place} is {quoted(numbers.tolist())}, expected {space.dtype} {list(space.shape)}"
    if numbers.shape != space.shape or numbers.dtype.kind not in "fiub":
        return f"{place} is {numbers.dtype} {list(numbers.shape)}, expected {space.dtype} {list(space.shape)}"
    whole = space.dtype is not None and space.dtype.kind in "iub"
    if whole and space.dtype != numbers.dtype and (problem := _problem_of_rounding(space.dtype, numbers, place)):
        return problem
    if whole or numbers.dtype.kind in "iu":
        return None if (rounded := rounded_number(numbers)) is None else f"{place}{rounded}"
    largest = LARGEST_HALF if space.dtype == np.float16 else LARGEST
    if numbers.dtype.kind != "f" or (numbers.ndim == 1 and np.vdot(numbers, numbers) <= largest):  # fast, mostly enough
        return None
    finite = np.isfinite(numbers) if numbers.dtype == space.dtype == np.float32 else np.abs(numbers) <= largest
    return None if finite.all() else f"{_first_field(~finite, numbers, place)}, expected a finite number"


def rounded_number(numbers: NDArray[Any]) -> str | None:
    """Describe the first whole number that float32 rounds, such as '[1] is 16777217, …'; None if none is.

    Whole numbers count or name things: above 2²⁴ two of them would become one.
    """
    if numbers.dtype.itemsize <= 2:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = numbers.astype(np.float32).astype(numbers.dtype) != numbers
    if not rounded.any():
        return None
    return f"{_first_field(rounded, numbers, '')}, expected whole numbers that float32 holds, to 16,777,216 all of them"


def _problem_of_rounding(dtype: np.dtype[Any], numbers: NDArray[Any], place: str) -> str | None:
    """Describe the first number that this type of whole numbers cannot hold: a picture of shares would be black."""
    with np.errstate(invalid="ignore"):
        changed = numbers.astype(dtype) != numbers
    return f"{_first_field(changed, numbers, place)}, expected {dtype}" if changed.any() else None


def _first_field(wrong: NDArray[np.bool_], numbers: NDArray[Any], place: str) -> str:
    """The first wrong number and its place, as in 'speed[1] is inf'."""
    at = tuple(np.argwhere(wrong)[0].tolist())
    return f"{place}{list(at) if at else ''} is {quoted(numbers[at].item())}"


def _problem_of_picture(shown: Any) -> str | None:
    drawn = isinstance(shown, np.ndarray) and shown.dtype == np.uint8 and shown.ndim in (2, 3) and shown.size > 0
    if drawn and (shown.ndim == 2 or shown.shape[2] <= MOST_VALUES):
        return None
    found = f"{shown.dtype} {list(shown.shape)}" if isinstance(shown, np.ndarray) else quoted(type(shown))
    return f"pictures (rgb_array) are {found}, expected uint8 [height, width, 3]"


def with_plain_observations(env: Env) -> Env:
    """The environment with observations in a `Box`, where they consist of numbers.

    Discrete ones become rows of zeros and ones, `Dict` and `Tuple` one row of all their numbers, by Gymnasium's
    `FlattenObservation`; a number alone becomes a row of one. Numbers of any type but bytes become float32. Texts in
    them (MiniGrid's mission) are left out, and a `Dict` with a picture alone is this picture. Other spaces stay as they
    are.
    """
    space = env.observation_space
    if (name := _lone_picture(space)) is not None:
        plain = plain_space(space)
        return TransformObservation(env, lambda observation: np.array(observation[name], dtype=plain.dtype), plain)
    kept = without_texts(space)
    if kept is not space:
        env = TransformObservation(env, lambda observation: _kept(kept, observation), kept)
    if _becomes_a_row(kept):
        env = FlattenObservation(env)
    if not isinstance(env.observation_space, Box) or env.observation_space.dtype in STORED:
        return env
    given = env.observation_space
    with np.errstate(over="ignore"):  # a limit too large for float32 is none
        stored = Box(given.low.astype(np.float32), given.high.astype(np.float32), dtype=np.float32)
    return TransformObservation(env, lambda observation: np.asarray(observation, dtype=np.float32), stored)


def without_texts(space: Space) -> Space:
    """A `Dict` or `Tuple` as a `Dict` without its texts, at any depth; unchanged if it has none, or nothing else."""
    if not isinstance(space, Dict | Tuple):
        return space
    kept = {name: without_texts(part) for name, part in _parts(space) if not _is_text(part)}
    return Dict(kept) if kept and any(kept.get(name) is not part for name, part in _parts(space)) else space


def _kept(space: Space, value: Any) -> Any:
    """An observation without its texts, in the space that `without_texts` gives."""
    return {name: _kept(part, value[name]) for name, part in _parts(space)} if isinstance(space, Dict) else value


def plain_space(space: Space) -> Space:
    """The `Box` of observations that consist of numbers; other spaces unchanged."""
    if (name := _lone_picture(space)) is not None:
        return next(part for place, part in _parts(space) if place == name)
    kept = without_texts(space)
    return flatten_space(kept) if _becomes_a_row(kept) else space


def plain_observation(space: Space, value: Any) -> NDArray[Any]:
    """An observation of such a space in the form of `plain_space`."""
    if (name := _lone_picture(space)) is not None:
        return np.asarray(value[name])
    kept = without_texts(space)
    return np.asarray(flatten(kept, _kept(kept, value)) if _becomes_a_row(kept) else value)


def _lone_picture(space: Space) -> Any:
    """The name of the only part that is no text, if it is a picture or another array; else None."""
    kept = without_texts(space)
    if not isinstance(kept, Dict) or len(kept.spaces) != 1:
        return None
    ((name, part),) = kept.spaces.items()
    return name if _is_array(part) else None


def _becomes_a_row(space: Space) -> bool:
    """True for numbers in another form than an array of one dimension or more."""
    scattered = isinstance(space, Discrete | MultiDiscrete | MultiBinary | Dict | Tuple)
    return (scattered or (isinstance(space, Box) and not space.shape)) and space.is_np_flattenable


def _parts(space: Any) -> Iterable[tuple[Any, Space]]:
    """The parts of a `Dict` or `Tuple` with their names or places."""
    return space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)


def _is_text(space: Space) -> bool:
    if isinstance(space, Dict | Tuple):
        return all(_is_text(part) for _, part in _parts(space))
    return space.dtype is not None and space.dtype.kind == "U"


def _is_array(space: Space) -> bool:
    return isinstance(space, Box) and len(space.shape) > 1

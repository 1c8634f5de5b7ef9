"""Environments of other packages: their results are checked where they arise, in the project's form.

A number that is not finite would be found much later, as a policy that has diverged. An info means something here only
where the environment's capabilities say so, whatever its name is.
"""

import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from math import hypot
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from ..common.ends import close_after_use
from ..common.errors import LONGEST_REASON, BadInput, EnvironmentFailed, quoted
from .actions import Env, actions_by_number, number_below
from .observation import STORED, masked_place, plain_form, problem_of, without_tensors

LARGEST = float(np.finfo(np.float32).max)

MOST_VALUES = 4
"""Largest number of values of a pixel that a film takes: colours and their opacity."""

ARRAY = np.ndarray

MOST = 256
"""Numbers of which Python finds out sooner than NumPy if all are finite."""

ERRORS = (Exception, SystemExit)
"""Errors of an environment's own; some leave Python where they should fail."""


class CheckedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment in the project's form, whose observations and rewards are checked.

    Observations that are not in a Box become rows of numbers (`plain_form`), discrete actions of other forms numbers
    from 0 (`actions_by_number`).

    Raises EnvironmentFailed, with the environment's `name`, the step and the field, for an observation of another form
    than the space says, for numbers that are not finite as float32, for a reward that is no number, and for any
    exception of the environment's own, which is its cause; BadInput for a picture that is none (where it `draws`).

    own_observations, own_actions: the spaces that the environment itself declares. info_names: those that the
    environment's capabilities declare; any other has a meaning of its own, and is left out.

    In place of two of Gymnasium's wrappers it also refuses a step before the first reset.
    """

    def __init__(self, env: Env, name: str, info_names: Collection[str] = (), draws: bool = False) -> None:
        super().__init__(env)
        self._draws = draws
        self._name, self._info_names = name, info_names
        self._steps: Any = None  # until the first reset, so that a step fails
        self._type: Any = None
        self._shape: tuple[int, ...] = ()
        self.own_observations, self.own_actions = env.observation_space, env.action_space
        if (actions := actions_by_number(self.own_actions)) is not None:
            self.action_space = Discrete(len(actions))
        self._actions = actions
        space, plain = plain_form(self.own_observations)
        self._plain = None if space is self.own_observations else plain
        if isinstance(space, Box):
            if space.dtype in (np.float32, np.float64) and len(space.shape) == 1 and space.shape[0] <= MOST:
                self._type, self._shape = space.dtype, space.shape
            if space.dtype not in STORED:
                with np.errstate(over="ignore"):  # a limit too large for float32 is none
                    space = Box(space.low.astype(np.float32), space.high.astype(np.float32), dtype=np.float32)
        self.observation_space = self._space = space
        self._dtype = space.dtype

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._steps = 0
        with self._failing("reset"):
            observation, info = self.env.reset(seed=seed, options=options)
        return self._as_stored(observation), self._declared(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._actions is not None:
            action = deepcopy(self._actions[number_below(len(self._actions), "action", action)])
        try:  # `_failing` would take a tenth of a quick environment's step
            self._steps += 1
            observation, reward, terminated, truncated, info = self.env.step(action)
        except BadInput:
            raise
        except ERRORS as error:
            raise self._failed("step", error) from error
        # What is as usual is passed on at once: each look costs a quick environment a hundredth of its step.
        if (
            reward.__class__ is not float
            or not -LARGEST <= reward <= LARGEST
            or terminated.__class__ is not bool
            or truncated.__class__ is not bool
            or info.__class__ is not dict
            or info
        ):
            reward, info = self._number(reward), self._declared(info)
            terminated, truncated = self._flag(terminated, "terminated"), self._flag(truncated, "truncated")
        return self._as_stored(observation), reward, terminated, truncated, info

    def render(self) -> Any:
        with self._failing("render"):
            picture = without_tensors(self.env.render())
        if self._draws and (problem := _problem_of_picture(picture)):
            raise BadInput(f"environment {self._name}: its {problem}; mend the environment, or wrap it")
        return picture

    def close(self) -> None:
        """Close the environment. If that fails, it is a note: there may be results."""
        close_after_use(self.env.close, f"environment {self._name}")

    @contextmanager
    def _failing(self, method: str) -> Iterator[None]:
        """Context manager: turn exceptions of a method of the environment, except BadInput, into EnvironmentFailed."""
        try:
            yield
        except BadInput:
            raise
        except ERRORS as error:
            raise self._failed(method, error) from error

    def _failed(self, method: str, error: BaseException) -> Exception:
        """An exception of the environment's method in one line, with the line it came from."""
        if method == "step" and self._steps is None:
            return gymnasium.error.ResetNeeded("no game has begun: call reset before the first step")
        why = f"{type(error).__name__}: {quoted(str(error), LONGEST_REASON)}"
        own = [line for line in traceback.extract_tb(error.__traceback__) if not _is_wrapper(Path(line.filename))]
        if own:
            why += f"; {Path(own[-1].filename).name}, line {own[-1].lineno}"
        when = f" in decision {self._steps:,} of a game" if self._steps else ""
        return EnvironmentFailed(
            f"environment {self._name}: its {method} failed{when} ({why}); mend the environment, or wrap it"
        )

    def _as_stored(self, observation: Any) -> Any:
        """The observation in the stored type: a copy, because some environments change the array that they gave."""
        usual = observation.__class__ is ARRAY and observation.dtype is self._type and observation.shape == self._shape
        if usual and hypot(*observation.tolist()) <= LARGEST:
            return observation.astype(self._dtype)
        if not isinstance(self._space, Box):  # no form here
            return observation
        if (at := masked_place(observation)) is not None:
            raise self._wrong(f"observation{at} is masked, expected a number")
        observation = without_tensors(observation)
        if self._plain is not None:
            with self._failing("step" if self._steps else "reset"):
                observation = self._plain(observation)
        if problem := problem_of(observation, self._space, "observation"):
            raise self._wrong(problem)
        return np.array(observation, dtype=self._dtype)

    def _number(self, reward: Any) -> float:
        with suppress(TypeError, ValueError, OverflowError, RuntimeError):  # of what is no single number
            number = float(reward if isinstance(reward, float | int) else np.asarray(without_tensors(reward)).item())
            if -LARGEST <= number <= LARGEST and masked_place(reward) is None:
                return number
        raise self._wrong(f"reward is {quoted(reward)}, expected a finite number")

    def _flag(self, value: Any, name: str) -> bool:
        with suppress(TypeError, ValueError, RuntimeError):  # of what is no single value
            plain = np.asarray(without_tensors(value)).item()
            if isinstance(plain, bool | int | float) and plain in (0, 1):
                return bool(plain)
        raise self._wrong(f"{name} is {quoted(value)}, expected true or false")

    def _wrong(self, problem: str) -> EnvironmentFailed:
        when = f"after decision {self._steps:,} of a game" if self._steps else "after a reset"
        return EnvironmentFailed(f"environment {self._name}: {when}, its {problem}; mend the environment, or wrap it")

    def _declared(self, info: Any) -> dict[str, Any]:
        if not isinstance(info, Mapping):
            raise self._wrong(f"info is {quoted(info)}, expected a dictionary")
        return {name: value for name, value in info.items() if name in self._info_names}


def _is_wrapper(path: Path) -> bool:
    """True for code between the project and an environment: this folder, and Gymnasium's wrappers."""
    return path.parent == Path(__file__).parent or Path(gymnasium.__file__).parent in path.parents


def _problem_of_picture(picture: Any) -> str | None:
    form = quoted(type(picture))
    if isinstance(picture, np.ndarray):
        form = f"{picture.dtype} {list(picture.shape)}"
        colours = picture.shape[2] if picture.ndim == 3 else 1
        if picture.dtype == np.uint8 and picture.ndim in (2, 3) and picture.size > 0 and colours <= MOST_VALUES:
            return None
    return f"pictures (rgb_array) are {form}, expected uint8 [height, width, 3]"

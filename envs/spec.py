"""Environments and their observations as data, stored with episodes and policies."""

import inspect
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from ..common.checks import LONGEST_REASON, printable, quoted
from ..common.errors import BadInput
from ..common.imports import without_module
from .actions import Env, Space, action_count, action_names, with_indexed_actions
from .capabilities import NONE, Capabilities
from .from_files import environment_in_file, known_form
from .observed import CheckedEnvironment, rounded_number, with_plain_observations
from .registration import NAMESPACE, REGISTERED, registered_id, short_id, stored_id

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
        given = np.asarray(observations)
        if given.dtype.kind in "iu" and self.dtype == "float32" and (rounded := rounded_number(given)):
            raise BadInput(f"observations{rounded}")
        return np.array(given, dtype=self.dtype)

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
        """The inverse of `to_json`; ValueError for anything else.

        Files written before images existed name no type and hold float32.
        """
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


@dataclass(frozen=True)
class EnvironmentSpec:
    """A Gymnasium environment with discrete actions, by name and settings.

    Stored with datasets and policies, so that neither is used in another environment by mistake. `settings` are the
    keyword arguments of `gymnasium.make` that change the task (frames a decision, reward), not how it is shown.
    """

    id: str = "QWOP-v1"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = short_id(self.id)
        if known not in REGISTERED:
            known = known_form(without_module(known, f"environment {self.id}"))
            known = known_form(stored_id(known))
        object.__setattr__(self, "id", known)

    def make(self, **more: Any) -> Env:
        """Make the environment; `more` are settings that do not change the task (`render_mode`, `max_idle_frames`).

        Observations that are not in a Box become rows of numbers (`with_plain_observations`), discrete actions of other
        forms numbers from 0 (`with_indexed_actions`). Results of environments of other packages are checked.
        """
        env = self._make_as_released(**more)
        if self.id in REGISTERED or self.registered_id.startswith(f"{NAMESPACE}-"):
            return env
        draws = more.get("render_mode") == "rgb_array"
        if draws and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")):
            # Where there is no display, pygame would report that on stderr for every film.
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        checked = CheckedEnvironment(env, str(self), self.capabilities, draws)
        return with_indexed_actions(with_plain_observations(checked))

    def own_spaces(self) -> tuple[Space, Space]:
        """The observation and action spaces that the environment itself declares."""
        with closing(self._make_as_released()) as env:
            return env.observation_space, env.action_space

    def _make_as_released(self, **more: Any) -> Env:
        with self.refusing():
            if self._has_vector_form_alone:
                raise BadInput(
                    f"environment {self.id}: it is registered with a vector form alone, expected a single game; "
                    "register that too (entry_point of gymnasium.register)"
                )
            return gymnasium.make(self.registered_id, **{**self.settings, **more})

    def interface(self) -> tuple[ObservationSpec, int]:
        """Return the observations and the number of actions; BadInput for spaces that have no form here."""
        if self._has_vector_form_alone:
            with self.refusing():
                several = gymnasium.make_vec(self.registered_id, self.capabilities.group, **self.settings)
            with closing(several):
                return interface_of(several.single_observation_space, several.single_action_space, str(self))
        with closing(self.make()) as env:
            return interface_of(env.observation_space, env.action_space, str(self))

    def action_names(self) -> tuple[str, ...] | None:
        """Names of the actions, as files keep them (`actions.action_names`); None where numbers are all there is."""
        if self._has_vector_form_alone:
            return self.capabilities.action_names
        with closing(self.make()) as env:
            return self.capabilities.action_names or action_names(env)

    @property
    def longest_episode(self) -> int | None:
        """Decisions after which Gymnasium truncates an episode; None without a limit."""
        return None if self._registered is None else self._registered.max_episode_steps

    @property
    def reward_threshold(self) -> float | None:
        """Mean return from which the environment counts as solved; None if its registration gives none."""
        return None if self._registered is None else self._registered.reward_threshold

    @property
    def registered_id(self) -> str:
        """Id under which Gymnasium finds the environment."""
        return registered_id(self.id, self.settings)

    @property
    def _registered(self) -> EnvSpec | None:
        return gymnasium.envs.registration.registry.get(self.registered_id)

    @property
    def _has_vector_form_alone(self) -> bool:
        return self._registered is not None and self._registered.entry_point is None

    @property
    def capabilities(self) -> Capabilities:
        """Abilities that the environment declares for these settings; BadInput for wrong settings."""
        registered = self._registered
        entry_point: Any = None if registered is None else registered.entry_point or registered.vector_entry_point
        if isinstance(entry_point, str):
            # Imported only to be asked: an environment that is not installed here declares nothing.
            try:
                entry_point = gymnasium.envs.registration.load_env_creator(entry_point)
            except ImportError:
                return NONE
        declare = getattr(entry_point, "capabilities", None)
        if not inspect.ismethod(declare):  # a class method; other packages may use the name for anything
            return NONE
        with self.refusing():
            found: object = declare(**self.settings)
        return found if isinstance(found, Capabilities) else NONE

    @property
    def all_settings(self) -> dict[str, Any]:
        """The settings, and the defaults of those that were left out, where the environment declares them."""
        return {**self.capabilities.settings, **self.settings}

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Context manager: turn errors of Gymnasium and the environment about a name or setting into BadInput.

        An environment may check its settings by any exception; it is the cause of the BadInput.
        """
        try:
            yield
        except BadInput:
            raise
        except gymnasium.error.UnregisteredEnv as error:
            raise BadInput(
                f"environment {self.id}: {_first_line(error)} If a module of yours registers it, name that module: "
                f"imports=[my_module], or my_module:{self.id} where the id is given"
            ) from None
        except gymnasium.error.Error as error:
            raise BadInput(f"environment {self.id}: {_first_line(error)}") from None
        except Exception as error:
            # A setting that the constructor does not have.
            if found := re.search(r"(?:unexpected keyword argument|multiple values for argument) '(\w+)'", str(error)):
                advice = (
                    "it cannot be drawn, which takes a render_mode 'rgb_array'"
                    if found[1] == "render_mode"
                    else "leave it out where it is set: on the command line or in a file, such as a schedule's"
                )
                raise BadInput(f"environment {self.id}: no setting {found[1]}; {advice}") from None
            why = f"{type(error).__name__}: {_first_line(error)}"
            lacks = isinstance(error, TypeError) and re.search(r"missing \d+ required", str(error))
            advice = "; register it with values for what it lacks (kwargs of gymnasium.register)" if lacks else ""
            raise BadInput(f"environment {self}: cannot be made ({why}){advice}") from error

    def without(self, setting: str) -> "EnvironmentSpec":
        """The same environment, with its default of a setting."""
        return EnvironmentSpec(self.id, {name: value for name, value in self.settings.items() if name != setting})

    def to_json(self) -> dict[str, Any]:
        """The environment as files hold it; of the original's page, the task alone (not its place or browser)."""
        settings = dict(self.settings)
        if self.id in REGISTERED:
            settings = {name: value for name, value in settings.items() if name in REGISTERED[self.id].task}
        return {"id": self.id, "settings": settings}

    def require_readable(self) -> None:
        """Raise BadInput for settings that a file may not set, so that a file that is written can be read."""
        environment_in_file(self.to_json(), to_write=True)

    @classmethod
    def from_json(cls, data: Any, given: Collection[str] = ()) -> "EnvironmentSpec":
        """The environment that a file describes.

        BadInput for what a file may not say, unless it is a setting that is `given` elsewhere: see `from_files`.
        """
        return cls(*environment_in_file(data, given))

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in sorted(self.settings.items()))
        return printable(f"{self.id}({inside})")


def _first_line(error: Exception) -> str:
    return quoted(str(error).strip().partition("\n")[0], LONGEST_REASON)

"""Environments and their observations as data, stored with episodes and policies."""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers import FlattenObservation
from numpy.typing import NDArray

from ..common.checks import printable, quoted
from ..common.errors import BadInput
from .capabilities import NONE, Capabilities, Capable
from .from_files import environment_in_file
from .registration import REGISTERED, registered_id, short_id

OBSERVATION_DTYPES = ("float32", "uint8")

MOST_DIMENSIONS = 8

MOST_COLOURS = 4
"""Largest number of colour values of a pixel."""

LARGEST_OBSERVATION = 2**24
"""Largest size of an observation that a file may describe: more numbers than a picture of 2,560 × 1,440 pixels has."""

LONGEST_REASON = 200
"""Characters of another library's error that a message quotes."""

_ONE_HOT = (gymnasium.spaces.Discrete, gymnasium.spaces.MultiDiscrete, gymnasium.spaces.MultiBinary)
"""Observation spaces that `EnvironmentSpec.make` turns into rows of zeros and ones."""


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
        """True for pictures: uint8 [height, width] or [height, width, colours], or a stack of either."""
        return self.dtype == "uint8" and 2 <= len(self.shape) <= 4

    @property
    def stack(self) -> int:
        """Frames in one observation: n of an image [n, height, width] or [n, height, width, colours], else 1.

        Three sizes of which the last is at most `MOST_COLOURS` are a picture with colours.
        """
        stacked = len(self.shape) == 4 or (len(self.shape) == 3 and self.shape[-1] > MOST_COLOURS)
        return self.shape[0] if self.is_image and stacked else 1

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """Shape of one frame of the stack."""
        return self.shape[1:] if self.stack > 1 or len(self.shape) == 4 else self.shape

    def zeros(self, *leading: int) -> NDArray[Any]:
        """Return an array of zeros [*leading, *shape]."""
        return np.zeros((*leading, *self.shape), dtype=self.dtype)

    def array(self, observations: Any) -> NDArray[Any]:
        """Copy observations [..., *shape] in this type."""
        return np.array(observations, dtype=self.dtype)

    @classmethod
    def of(cls, space: gymnasium.Space[Any], name: str) -> "ObservationSpec":
        """Return the observations of a space; BadInput about environment `name` for a space that is not a Box."""
        if not isinstance(space, gymnasium.spaces.Box):
            raise BadInput(f"{name}: its observations are {space}, expected a Box of numbers or an image")
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


def interface_of(
    observations: gymnasium.Space[Any], actions: gymnasium.Space[Any], name: str
) -> tuple[ObservationSpec, int]:
    """Return the observations and the number of actions of environment `name`; BadInput for other spaces."""
    if not isinstance(actions, gymnasium.spaces.Discrete) or actions.start != 0:
        raise BadInput(f"{name}: its actions are {actions}, expected Discrete(n) from 0")
    return ObservationSpec.of(observations, name), int(actions.n)


@dataclass(frozen=True)
class EnvironmentSpec:
    """A Gymnasium environment with discrete actions, by name and settings.

    Stored with datasets and policies, so that neither is used in another environment by mistake. `settings` are the
    keyword arguments of `gymnasium.make` that change the task (frames a decision, reward), not how it is shown.
    """

    id: str = "QWOP-v1"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", short_id(self.id))

    def make(self, **more: Any) -> gymnasium.Env[Any, Any]:
        """Make the environment; `more` are settings that do not change the task (`render_mode`, `max_idle_frames`).

        Discrete observations (FrozenLake's) become one-hot rows of numbers.
        """
        with self.refusing():
            env = gymnasium.make(self.registered_id, **{**self.settings, **more})
        return FlattenObservation(env) if isinstance(env.observation_space, _ONE_HOT) else env

    def interface(self) -> tuple[ObservationSpec, int]:
        """Return the observations and the number of actions; BadInput unless they are a Box and Discrete(n) from 0."""
        if self._registered is not None and self._registered.entry_point is None:
            return self._interface_of_vector()
        env = self.make()
        try:
            return interface_of(env.observation_space, env.action_space, str(self))
        finally:
            env.close()

    def _interface_of_vector(self) -> tuple[ObservationSpec, int]:
        """The interface of an environment that has only a vector form."""
        with self.refusing():
            several = gymnasium.make_vec(self.registered_id, self.capabilities.group, **self.settings)
        try:
            return interface_of(several.single_observation_space, several.single_action_space, str(self))
        finally:
            several.close()

    @property
    def registered_id(self) -> str:
        """Id under which Gymnasium finds the environment."""
        return registered_id(self.id, self.settings)

    @property
    def _registered(self) -> EnvSpec | None:
        return gymnasium.envs.registration.registry.get(self.registered_id)

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
        if not isinstance(entry_point, Capable):
            return NONE
        with self.refusing():
            return entry_point.capabilities(**self.settings)

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
        except gymnasium.error.Error as error:
            raise BadInput(f"environment {self.id}: {_first_line(error)}") from None
        except Exception as error:
            # A setting that the constructor does not have.
            if found := re.search(r"unexpected keyword argument '(\w+)'", str(error)):
                raise BadInput(f"environment {self.id}: no setting {found[1]}") from None
            why = f"{type(error).__name__}: {_first_line(error)}"
            raise BadInput(f"environment {self}: cannot be made ({why})") from error

    def without(self, setting: str) -> "EnvironmentSpec":
        """The same environment, with its default of a setting."""
        return EnvironmentSpec(self.id, {name: value for name, value in self.settings.items() if name != setting})

    def to_json(self) -> dict[str, Any]:
        """The environment as files hold it; of the original's page, the task alone (not its place or browser)."""
        settings = dict(self.settings)
        if self.id in REGISTERED:
            settings = {name: value for name, value in settings.items() if name in REGISTERED[self.id].task}
        return {"id": self.id, "settings": settings}

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

"""Environments: as data, stored with episodes and policies, and as the record that opening one gives."""

import inspect
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator, registry

from ..common.errors import LONGEST_REASON, BadInput, printable, quoted
from ..common.imports import without_module
from .actions import Env, IndexedActions, Space, action_names, with_indexed_actions
from .capabilities import NONE, Capabilities
from .foreign import CheckedEnvironment
from .from_files import environment_in_file, known_form
from .observation import SMALLEST_PICTURE as SMALLEST_PICTURE
from .observation import Observations as Observations
from .observation import ObservationSpec as ObservationSpec
from .observation import PlainObservations, plain_form
from .observation import interface_of as interface_of
from .registration import NAMESPACE, REGISTERED, registered_id, short_id, stored_id

LONGEST = 5_000
"""Decisions of a game in an environment that neither Gymnasium nor its own settings limit; most have 200 to 1,000."""

NO_LIMIT = -1
"""Gymnasium's number for no limit at all."""


@dataclass(frozen=True)
class EnvironmentSpec:
    """A Gymnasium environment with discrete actions, by name and settings.

    Stored with datasets and policies, so that neither is used in another environment by mistake. `settings` are the
    keyword arguments of `gymnasium.make` that change the task (frames a decision, reward), not how it is shown.
    """

    id: str = "QWOP-v1"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        id = short_id(self.id)
        if id not in REGISTERED:
            id = known_form(without_module(id, f"environment {self.id}"))
            id = known_form(stored_id(id))
        object.__setattr__(self, "id", id)

    def open(self) -> "Environment":
        """The record of the environment; see `Environment.open`."""
        return Environment.open(self)

    def interface(self) -> tuple[ObservationSpec, int]:
        """Return the observations and the number of actions; BadInput for spaces that have no form here."""
        opened = self.open()
        return opened.observation, opened.actions

    @property
    def registered_id(self) -> str:
        """Id under which Gymnasium finds the environment."""
        return registered_id(self.id, self.settings)

    @property
    def registered(self) -> EnvSpec | None:
        """Entry of Gymnasium's registry under that id; None if there is none."""
        return registry.get(self.registered_id)

    @property
    def default_limit(self) -> int | None:
        """Decisions after which a game is truncated where its environment has no limit; None where it has one.

        Vector forms that are played, and environments with abilities that we know, end their games themselves.
        """
        entry = self.registered
        if entry is None or self.capabilities != NONE or self.has_games:
            return None
        choice = self.settings.get("max_episode_steps")
        limit = entry.max_episode_steps if choice is None else choice
        return LONGEST if limit in (None, NO_LIMIT) else None

    @property
    def limit_note(self) -> list[str]:
        """A line about that limit to print before games are played; none where the environment has its own."""
        if (limit := self.default_limit) is None:
            return []
        return [
            f"{self.id} sets no limit of decisions, so its games are truncated after {limit:,}; "
            "environment.max_episode_steps sets another"
        ]

    @property
    def capabilities(self) -> Capabilities:
        """Abilities that the environment declares for these settings; none if it is not installed here. BadInput for
        wrong settings."""
        entry = self.registered
        entry_point = None if entry is None else _creator(entry.entry_point or entry.vector_entry_point)
        declare = getattr(entry_point, "capabilities", None)
        if not inspect.ismethod(declare):  # a class method; other packages may use the name for anything
            return NONE
        with self.refusing():
            declared: object = declare(**self.settings)
        return declared if isinstance(declared, Capabilities) else NONE

    @property
    def has_games(self) -> bool:
        """True if it registers a vector form that plays the same games as the single one."""
        entry_point = None if self.registered is None else self.registered.vector_entry_point
        if entry_point is None:
            return False
        with self.refusing():  # the package of a registered environment may not be installed
            creator = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
        return bool(getattr(creator, "metadata", {}).get("same_games_as_single", False))

    @property
    def all_settings(self) -> dict[str, Any]:
        """The settings, and the defaults of those that were left out, where the environment declares them."""
        return {**self.capabilities.settings, **self.settings}

    def without(self, setting: str) -> "EnvironmentSpec":
        """The same environment, with its default of a setting."""
        return EnvironmentSpec(self.id, {name: value for name, value in self.settings.items() if name != setting})

    def make(self, **more: Any) -> Env:
        """Make the environment; `more` are settings that do not change the task (`render_mode`, `max_idle_frames`).

        Observations that are not in a Box become rows of numbers (`plain_form`), discrete actions of other
        forms numbers from 0 (`with_indexed_actions`). Results of environments of other packages are checked.
        """
        return self.one(more)

    def one(self, more: Mapping[str, Any], batched: bool = False) -> Env:
        """Make the environment as `make` does. batched: see `CheckedEnvironment`."""
        settings, id, entry = {**self.settings, **more}, self.registered_id, self.registered
        if entry is None or self.id in REGISTERED or id.startswith(f"{NAMESPACE}-"):
            return self._made(id, settings)
        choice = settings.get("max_episode_steps")
        limit = entry.max_episode_steps if choice is None else choice
        # `CheckedEnvironment` takes the place of Gymnasium's checks, and of its limit unless wrappers lie around that.
        counts = type(limit) is int and limit > 0 and not entry.additional_wrappers
        if counts:
            settings.pop("max_episode_steps", None)
            entry = replace(entry, max_episode_steps=None)
        env = self._made(replace(entry, order_enforce=False, disable_env_checker=True), settings)
        draws = settings.get("render_mode") == "rgb_array"
        if draws and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")):
            # Where there is no display, pygame would report that on stderr for every film.
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        if plain_form(env.observation_space)[0] is not env.observation_space:
            env = PlainObservations(env)
        checked = CheckedEnvironment(env, str(self), self.capabilities, draws, batched, limit if counts else None)
        return with_indexed_actions(checked)

    def _made(self, entry: EnvSpec | str, settings: Mapping[str, Any]) -> Env:
        with self.refusing():
            if self._is_vector_alone:
                raise BadInput(
                    f"environment {self.id}: it is registered with a vector form alone, expected a single game; "
                    "register that too (entry_point of gymnasium.register)"
                )
            return gymnasium.make(entry, **settings)

    def several(self, count: int, **more: Any) -> Any:
        """Make the registered vector form of `count` games."""
        with self.refusing():
            return gymnasium.make_vec(self.registered_id, num_envs=count, **{**self.settings, **more})

    @property
    def _is_vector_alone(self) -> bool:
        return self.registered is not None and self.registered.entry_point is None

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
            if match := re.search(r"(?:unexpected keyword argument|multiple values for argument) '(\w+)'", str(error)):
                advice = (
                    "it cannot be drawn, which takes a render_mode 'rgb_array'"
                    if match[1] == "render_mode"
                    else "leave it out where it is set: on the command line or in a file, such as a schedule's"
                )
                raise BadInput(f"environment {self.id}: no setting {match[1]}; {advice}") from None
            why = f"{type(error).__name__}: {_first_line(error)}"
            lacks = isinstance(error, TypeError) and re.search(r"missing \d+ required", str(error))
            advice = "; register it with values for what it lacks (kwargs of gymnasium.register)" if lacks else ""
            raise BadInput(f"environment {self}: cannot be made ({why}){advice}") from error

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in sorted(self.settings.items()))
        return printable(f"{self.id}({inside})")


@dataclass(frozen=True)
class Environment:
    """All that other code knows of an environment, found out once, when it is opened, and passed on.

    spec: its id and settings. observation, actions, action_names: as policies and datasets hold them (None: the actions
    have numbers alone). own_observations, own_actions: the spaces that the environment itself declares. capabilities:
    what it declares beyond them, such as its rate. reward_threshold: mean return from which it counts as solved, or
    None. longest_episode: decisions after which Gymnasium truncates a game, or None. default_limit: those after which
    games are truncated here because the environment has no limit, or None. has_games: it registers a vector form that
    plays the same games as the single one.
    """

    spec: EnvironmentSpec
    observation: ObservationSpec
    actions: int
    action_names: tuple[str, ...] | None
    own_observations: Space
    own_actions: Space
    capabilities: Capabilities
    reward_threshold: float | None
    longest_episode: int | None
    default_limit: int | None
    has_games: bool
    registered: EnvSpec | None = field(repr=False)

    @classmethod
    def open(
        cls, environment: EnvironmentSpec | str = "QWOP-v1", settings: Mapping[str, Any] | None = None
    ) -> "Environment":
        """Make an environment once, look at it, and close it; what was found is kept for the next call.

        BadInput for one that cannot be made, and for spaces that have no form here.
        """
        spec = EnvironmentSpec(environment, settings or {}) if isinstance(environment, str) else environment
        name = json.dumps([spec.id, dict(spec.settings)], sort_keys=True, default=repr)
        entry = _OPENED.get(name)
        if entry is None or entry.registered is not spec.registered:  # another class under the same id
            entry = _OPENED[name] = cls._of(spec)
        return entry

    @classmethod
    def _of(cls, spec: EnvironmentSpec) -> "Environment":
        capabilities, entry = spec.capabilities, spec.registered
        if spec._is_vector_alone:
            with closing(spec.several(capabilities.group)) as games:
                own = observations, actions = games.single_observation_space, games.single_action_space
            names = capabilities.action_names
        else:
            with closing(spec.make()) as env:
                observations, actions = env.observation_space, env.action_space
                names = capabilities.action_names or action_names(env)
                while isinstance(env, IndexedActions | CheckedEnvironment | PlainObservations):
                    env = env.env
                own = env.observation_space, env.action_space
        observation, count = interface_of(observations, actions, str(spec))
        threshold, longest = (None, None) if entry is None else (entry.reward_threshold, entry.max_episode_steps)
        return cls(
            spec,
            observation,
            count,
            names,
            *own,
            capabilities,
            threshold,
            longest,
            spec.default_limit,
            spec.has_games,
            entry,
        )

    def make(self, **more: Any) -> Env:
        """Make the environment; see `EnvironmentSpec.make`."""
        return self.spec.make(**more)


_OPENED: dict[str, Environment] = {}


def _creator(entry_point: Callable[..., Any] | str | None) -> Any:
    """The class of an environment, imported only to be asked: one that is not installed here declares nothing."""
    try:
        return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    except ImportError:
        return None


def _first_line(error: Exception) -> str:
    return quoted(str(error).strip().partition("\n")[0], LONGEST_REASON)

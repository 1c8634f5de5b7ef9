"""An environment: the data that episodes and policies hold of it, all that is known of it, and how it is made."""

import inspect
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator, registry

from ..common.errors import LONGEST_REASON, BadInput, printable, quoted
from ..common.imports import without_module
from .actions import Env, Space, action_names, own_actions
from .foreign import CheckedEnvironment
from .observation import SMALLEST_PICTURE as SMALLEST_PICTURE
from .observation import Observations as Observations
from .observation import ObservationSpec as ObservationSpec
from .observation import interface_of as interface_of
from .registration import NAMESPACE, TASKS, environment_in_file, registered_id, stored_id, task_of

LONGEST = 5_000
"""Decisions of a game in an environment that neither Gymnasium nor its own settings limit; most have 200 to 1,000."""

NO_LIMIT = -1
"""Gymnasium's number for no limit at all."""


@dataclass(frozen=True)
class Capabilities:
    """Abilities that shared code may rely on; by default an environment has none. Its class declares them, for the
    settings it is made with, by a class method `capabilities(**settings)`.

    decisions_per_second: of the game's clock, if it has one (`info["clock"]`, seconds).
    idle_start: games may begin with up to `max_idle_frames` frames without a key, or with as many as
        `reset(options={"idle_frames": k})` says.
    deterministic: a game depends on its idle frames and its actions alone, not on the seed.
    runs: games are runs; `info` has `score` and `distance` (metres), `time` (seconds from the first key) and `outcome`.
    keys: decisions are keys held for a number of frames (`info["frames"]`), from which `replay` plays a game again;
        `info` also has `clock` and `outcome`.
    saved_games: its vector form saves and restores single games (`save_game`, `put_game`).
    original: the id of the same task in the page of the original game.
    action_names, observation_names: of every action and every number observed.
    feature_names: of every feature that its vector form provides apart from the observations (`seen_numbers`).
    group: neighbouring environments of its vector form that play one game together; their number is a multiple of it.
    training: its vector form takes `training=True`, with which a lost life ends an episode, though the game goes on
        (`infos["game_goes_on"]`), and `idle_limit`, the decisions without an event after which a game is truncated.
    settings: every setting of the task, with the default of those that were left out.
    """

    decisions_per_second: float | None = None
    idle_start: bool = False
    deterministic: bool = False
    runs: bool = False
    keys: bool = False
    saved_games: bool = False
    original: str | None = None
    action_names: tuple[str, ...] | None = None
    observation_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    group: int = 1
    training: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def info_names(self) -> frozenset[str]:
        """Names of infos that have the meaning given above; an environment may use any other name as it likes."""
        declared = {
            ("score", "distance", "time", "idle_frames"): self.runs,
            ("outcome",): self.runs or self.keys,
            ("clock",): self.keys or self.decisions_per_second is not None,
            ("frames", "late"): self.keys,
            ("game_goes_on",): self.training,
        }
        return frozenset(name for names, able in declared.items() if able for name in names)


class Spaces(NamedTuple):
    """Observations and actions of an environment.

    observation, actions, action_names: as policies and datasets hold them (None: the actions have numbers alone).
    own_observations, own_actions: the spaces that the environment itself declares.
    """

    observation: ObservationSpec
    actions: int
    action_names: tuple[str, ...] | None
    own_observations: Space
    own_actions: Space


@dataclass(frozen=True)
class EnvironmentSpec:
    """A Gymnasium environment with discrete actions, by name and settings, and the record of all that is known of it.

    Id and settings are stored with datasets and policies, so that neither is used in another environment by mistake;
    the rest is found out when it is first needed, once. `settings` are the keyword arguments of `gymnasium.make` that
    change the task (frames a decision, reward), not how it is shown.
    """

    id: str = "QWOP-v1"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", stored_id(without_module(self.id, f"environment {self.id}")))

    @property
    def registered(self) -> EnvSpec | None:
        """Entry of Gymnasium's registry; None if there is none."""
        return registry.get(registered_id(self.id, self.settings))

    @cached_property
    def capabilities(self) -> Capabilities:
        """Abilities that the environment declares for these settings; none if it is not installed here. BadInput for
        wrong settings."""
        entry, declared = self.registered, None
        point = entry and (entry.entry_point or entry.vector_entry_point)
        with suppress(ImportError):  # what is not installed here declares nothing
            creator = load_env_creator(point) if isinstance(point, str) else point
            declare = getattr(creator, "capabilities", None)
            if inspect.ismethod(declare):  # a class method; other packages may use the name for anything
                with self.refusing():
                    declared = declare(**self.settings)
        return declared if isinstance(declared, Capabilities) else Capabilities()

    @property
    def has_games(self) -> bool:
        """True if a vector form that it registers plays the same games as the single one, as those of abilities do."""
        return bool(self.registered and self.registered.vector_entry_point) and self.capabilities != Capabilities()

    @property
    def longest_episode(self) -> int | None:
        """Decisions after which Gymnasium truncates a game, or None."""
        if (entry := self.registered) is None:
            return None
        limit = self.settings.get("max_episode_steps") or entry.max_episode_steps
        return None if limit == NO_LIMIT else limit

    @property
    def default_limit(self) -> int | None:
        """Decisions after which a game is truncated where its environment has no limit; None where it has one.

        Vector forms that are played, and environments with abilities that we know, end their games themselves.
        """
        own = self.registered is None or self.longest_episode or self.capabilities != Capabilities()
        return None if own else LONGEST

    @property
    def limit_note(self) -> list[str]:
        """A line about that limit to print before games are played; none where the environment has its own."""
        if (limit := self.default_limit) is None:
            return []
        return [
            f"{self.id} sets no limit of decisions, so its games are truncated after {limit:,}; "
            "environment.max_episode_steps sets another"
        ]

    def interface(self) -> tuple[ObservationSpec, int]:
        """Return the observations and the number of actions; BadInput as for `spaces`."""
        return self.spaces[:2]

    @property
    def spaces(self) -> Spaces:
        """The environment's observations and actions: it is made once to look at them, and closed.

        BadInput for one that cannot be made, and for spaces that have no form here.
        """
        name, entry = json.dumps([self.id, dict(self.settings)], sort_keys=True, default=repr), self.registered
        if name not in _SPACES or _SPACES[name][0] is not entry:  # a notebook may register another class under the id
            _SPACES[name] = entry, self._look()
        return _SPACES[name][1]

    def _look(self) -> Spaces:
        names = self.capabilities.action_names
        if self._is_vector_alone:
            with closing(self.several(self.capabilities.group)) as games:
                own = games.single_observation_space, games.single_action_space
            return Spaces(*interface_of(*own, str(self)), names, *own)
        with closing(self.make()) as env:
            interface = interface_of(env.observation_space, env.action_space, str(self))
            space: Space = env.own_observations if isinstance(env, CheckedEnvironment) else env.observation_space
            return Spaces(*interface, names or action_names(env), space, own_actions(env))

    @property
    def all_settings(self) -> dict[str, Any]:
        """The settings, and the defaults of those that were left out, where the environment declares them."""
        return {**self.capabilities.settings, **self.settings}

    def without(self, setting: str) -> "EnvironmentSpec":
        """The same environment, with its default of a setting."""
        return EnvironmentSpec(self.id, {name: value for name, value in self.settings.items() if name != setting})

    def make(self, **more: Any) -> Env:
        """Make the environment; `more` are settings that do not change the task (`render_mode`, `max_idle_frames`).

        Environments of other packages are brought into the project's form, and checked (`CheckedEnvironment`).
        """
        settings, entry = {**self.settings, **more}, self.registered
        is_ours = entry is None or self.id in TASKS or entry.id.startswith(f"{NAMESPACE}-")
        if entry is not None and not is_ours:  # `CheckedEnvironment` takes the place of Gymnasium's checks
            entry = replace(entry, order_enforce=False, disable_env_checker=True)
        with self.refusing():
            if self._is_vector_alone:
                raise BadInput(
                    f"environment {self.id}: it is registered with a vector form alone, expected a single game; "
                    "register that too (entry_point of gymnasium.register)"
                )
            env: Env = gymnasium.make(entry or self.id, **settings)
        if is_ours:
            return env
        draws = settings.get("render_mode") == "rgb_array"
        if draws and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")):
            # Where there is no display, pygame would report that on stderr for every film.
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        return CheckedEnvironment(env, str(self), self.capabilities.info_names, draws)

    def several(self, count: int, **more: Any) -> Any:
        """Make the registered vector form of `count` games."""
        with self.refusing():
            return gymnasium.make_vec(self.registered or self.id, num_envs=count, **{**self.settings, **more})

    @property
    def _is_vector_alone(self) -> bool:
        return self.registered is not None and self.registered.entry_point is None

    def to_json(self) -> dict[str, Any]:
        """The environment as files hold it; of the original's page, the task alone (not its place or browser)."""
        settings = dict(self.settings)
        if (task := task_of(self.id)) is not None:
            settings = {name: value for name, value in settings.items() if name in task.model_fields}
        return {"id": self.id, "settings": settings}

    def require_readable(self) -> None:
        """Raise BadInput for settings that a file may not set, so that a file that is written can be read."""
        environment_in_file(self.to_json())

    @classmethod
    def from_json(cls, data: Any, overrides: Collection[str] = ()) -> "EnvironmentSpec":
        """The environment that a file describes.

        BadInput for what a file may not say, unless it is a setting that is in `overrides`: see `registration`.
        """
        return cls(*environment_in_file(data, overrides))

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


_SPACES: dict[str, tuple[EnvSpec | None, Spaces]] = {}


def _first_line(error: Exception) -> str:
    return quoted(str(error).strip().partition("\n")[0], LONGEST_REASON)

"""A wrapper of any Gymnasium environment that records the games played in it."""

import copy
import os
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import registry
from numpy.typing import ArrayLike

from ..common.errors import BadInput
from ..common.files import named_path
from ..datasets.arrays import ArrayForm, write_episode
from ..datasets.exchange.imported import ImportDefaults
from ..envs.names import keys_of_decisions
from ..envs.observation import without_tensors
from ..envs.spec import EnvironmentSpec

STOPPED = "stopped"
"""Outcome of a game that its player left."""


@dataclass
class Game:
    """A game so far. seed: of its reset, if it had one. infos: of the reset, and of each decision."""

    seed: int | None = None
    observations: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[Any] = field(default_factory=list)
    probabilities: list[ArrayLike | None] = field(default_factory=list)
    infos: list[dict[str, Any]] = field(default_factory=list)

    def first(self, length: int) -> tuple[list[Any], list[Any], list[Any]]:
        """Observations, actions and rewards of the first decisions."""
        return self.observations[: length + 1], self.actions[:length], self.rewards[:length]


class Collector(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Records whatever is played in an environment into a dataset, each game as soon as it ends.

    The environment is one that `gymnasium.make` has made; wrappers that change observations, actions or rewards go
    around the collector. A game that `reset` or `close` leaves is recorded too, as truncated.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], folder: str | os.PathLike[str], player: str = "me", *, epsilon: float = 0.05
    ) -> None:
        """folder: of the dataset, which is made if need be. player: name in the dataset. epsilon: smoothing of the
        behaviour probabilities of decisions whose probabilities are not given.

        Raises BadInput for an environment without a registered id, and for settings that files may not contain.
        """
        super().__init__(env)
        self.folder: Path = named_path(folder, "dataset's folder")
        self._environment = _specification(env)
        self._environment.require_readable()
        self._player, self._epsilon = player, epsilon
        self._game = Game()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._leave()
        observation, info = self.env.reset(seed=seed, options=options)
        self._game = Game(seed, [_copy(observation)], infos=[info])
        return observation, info

    def step(self, action: Any, probabilities: ArrayLike | None = None) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play a decision. probabilities: μ(·|s) that the action was drawn from, [A], if they are known."""
        decision = _copy(action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._game.observations.append(_copy(observation))
        self._game.actions.append(decision)
        self._game.rewards.append(_copy(reward))
        self._game.infos.append(info)
        self._game.probabilities.append(_copy(probabilities))
        if terminated or truncated:
            self._write(bool(terminated))
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        self._leave()
        self.env.close()

    def _leave(self) -> None:
        """Record a game that has not ended."""
        if self._game.actions:
            self._write(False, outcome=STOPPED)

    def _write(self, terminated: bool, **more: Any) -> None:
        """Write the game. BadInput for one that no file can hold; its first decisions that one can are kept."""
        game, self._game = self._game, Game()
        if self._environment.capabilities.keys:
            more = {**facts_of_run(game.actions, game.infos), **more}
        try:
            self._write_first(game, len(game.actions), terminated=terminated, truncated=not terminated, **more)
        except BadInput:
            form, defaults = ArrayForm.of(self._environment), ImportDefaults(self._player, self._epsilon)

            def fails(length: int) -> bool:
                try:
                    form.episode(defaults, *game.first(length), source="collector")
                except BadInput:
                    return True
                return False

            if length := bisect_right(range(1, len(game.actions)), False, key=fails):
                self._write_first(game, length, outcome=STOPPED)
            raise

    def _write_first(self, game: Game, length: int, **more: Any) -> None:
        """Write this many decisions of a game."""
        if all(one is not None for one in game.probabilities[:length]):
            known = game.probabilities[:length]
            more |= {"behaviour_probabilities": known, "mu_kind": "recorded", "mu_epsilon": None}
        if game.seed is not None:
            more["seed"] = game.seed
        write_episode(
            self.folder,
            *game.first(length),
            environment=self._environment,
            player=self._player,
            source="collector",
            epsilon=self._epsilon,
            **more,
        )


def _copy(value: Any) -> Any:
    """The value as it is now; environments reuse their arrays, and tensors with a gradient cannot be copied."""
    return copy.deepcopy(without_tensors(value))


def facts_of_run(actions: ArrayLike, infos: list[dict[str, Any]]) -> dict[str, Any]:
    """Keys, times, distance and outcome of a game of QWOP, from the information of its steps. actions: int [T]."""
    idle, *frames = (info["frames"] for info in infos)
    late = [info["late"] for info in infos[1:]]
    return {
        "keys": keys_of_decisions(np.array(actions, dtype=np.int16), frames, late, idle),
        "times": np.array([info["clock"] for info in infos], dtype=np.float64),
        "metres": float(infos[-1]["distance"]),
        "outcome": STOPPED if infos[-1]["outcome"] == "running" else str(infos[-1]["outcome"]),
    }


def _specification(env: gymnasium.Env[Any, Any]) -> EnvironmentSpec:
    """The id and the settings of an environment; BadInput for one that was not made by its id."""
    spec = env.spec
    if spec is None:
        raise BadInput("the environment has no id; register it, and make it by gymnasium.make")
    registered = registry.get(spec.id)
    usual = {} if registered is None else registered.kwargs
    settings = {
        name: value
        for name, value in spec.kwargs.items()
        if name != "render_mode" and (name not in usual or usual[name] != value)
    }
    if registered is not None and spec.max_episode_steps != registered.max_episode_steps:
        settings["max_episode_steps"] = spec.max_episode_steps
    return EnvironmentSpec(spec.id, settings)

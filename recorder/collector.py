"""A wrapper of any Gymnasium environment that records the games played in it."""

import copy
import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import registry
from numpy.typing import ArrayLike

from ..common.errors import BadInput
from ..common.files import named_path
from ..datasets.arrays import write_episode
from ..envs.names import keys_of_decisions
from ..envs.spec import EnvironmentSpec

STOPPED = "stopped"
"""Outcome of a game that its player left."""


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
        self._seed: int | None = None
        self._observations: list[Any] = []
        self._actions: list[Any] = []
        self._rewards: list[float] = []
        self._probabilities: list[ArrayLike | None] = []
        self._infos: list[dict[str, Any]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._leave()
        observation, info = self.env.reset(seed=seed, options=options)
        self._seed = seed
        self._observations, self._infos = [copy.deepcopy(observation)], [info]
        return observation, info

    def step(self, action: Any, probabilities: ArrayLike | None = None) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play a decision. probabilities: μ(·|s) that the action was drawn from, [A], if they are known."""
        decision = copy.deepcopy(action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._observations.append(copy.deepcopy(observation))
        self._actions.append(decision)
        self._rewards.append(float(reward))
        self._infos.append(info)
        self._probabilities.append(copy.deepcopy(probabilities))
        if terminated or truncated:
            self._write(bool(terminated))
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        self._leave()
        self.env.close()

    def _leave(self) -> None:
        """Record a game that has not ended."""
        if self._actions:
            self._write(False, outcome=STOPPED)

    def _write(self, terminated: bool, **more: Any) -> None:
        if all(one is not None for one in self._probabilities):
            more |= {"behaviour_probabilities": self._probabilities, "mu_kind": "recorded", "mu_epsilon": None}
        if self._seed is not None:
            more["seed"] = self._seed
        if self._environment.capabilities.keys:
            more = {**facts_of_run(self._actions, self._infos), **more}
        game = self._observations, self._actions, self._rewards
        self._observations, self._actions, self._rewards, self._probabilities, self._infos = [], [], [], [], []
        self._seed = None  # of this game alone
        write_episode(
            self.folder,
            *game,
            environment=self._environment,
            terminated=terminated,
            truncated=not terminated,
            player=self._player,
            source="collector",
            epsilon=self._epsilon,
            **more,
        )


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

"""Fakes that the tests of several rooms share."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from qwop.datasets import Dataset, DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.behaviour_probabilities import smoothed
from qwop.datasets.from_keys import episode_from_keys
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.rollout import Game

ROW = spaces.Box(-np.inf, np.inf, (3,), np.float32)


class Odd(gymnasium.Env[Any, Any]):
    """An environment of another package that gives what a test puts into it: three decisions; notes its actions.

    see, pay, tell: functions of n, the observation, reward and info after n decisions. end: of the truth that the game
    is over. length: decisions of a game.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    pictures: Any = None
    """Each picture of a game."""

    def __init__(
        self,
        actions: Any = None,
        observations: Any = ROW,
        see: Any = None,
        pay: Any = lambda count: 1.0,
        tell: Any = lambda count: {},
        end: Any = bool,
        length: int = 3,
        render_mode: str | None = None,
    ) -> None:
        self.action_space, self.observation_space = actions or spaces.Discrete(2), observations
        self.see, self.pay, self.tell, self.end, self.length = see, pay, tell, end, length
        self.taken: list[Any] = []

    def look(self) -> Any:
        space = self.observation_space
        return np.zeros(space.shape, space.dtype) if self.see is None else self.see(len(self.taken))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.taken = []
        return self.look(), {}

    def step(self, action: Any) -> tuple[Any, Any, Any, bool, Any]:
        assert self.action_space.contains(action), action
        self.taken.append(action)
        count = len(self.taken)
        return self.look(), self.pay(count), self.end(count == self.length), False, self.tell(count)

    def render(self) -> Any:
        if self.pictures is None:
            raise NotImplementedError
        return self.pictures[len(self.taken)]


@contextmanager
def registered(kind: type[gymnasium.Env[Any, Any]], **settings: Any) -> Iterator[str]:
    """The id of an environment of this class with these settings."""
    id = f"{kind.__name__}-v0"
    gymnasium.register(id, kind, kwargs=settings, disable_env_checker=True)
    try:
        yield id
    finally:
        gymnasium.registry.pop(id)


def python(code: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run code as `python -c` in a folder, with these environment variables."""
    command, env = [sys.executable, "-c", code], {**os.environ, **variables}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8")


def xdotool(*words: str | int) -> str:
    """What xdotool prints, which moves the pointer and presses keys of a screen."""
    return subprocess.run(["xdotool", *map(str, words)], capture_output=True, text=True, check=False).stdout.strip()


def until(reached: Callable[[], Any], seconds: float = 60) -> Any:
    """The first true result of a function; the last one, which is not, when the seconds are over."""
    end = time.monotonic() + seconds
    while not (result := reached()) and time.monotonic() < end:
        time.sleep(0.02)
    return result


def untrained(environment: EnvironmentSpec, seed: int = 1) -> Policy:
    """A small policy of new weights."""
    observation, actions = environment.interface()
    network = ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(seed))
    return Policy(network, environment, observation)


def game_of(keys: Any, info: DatasetInfo, **more: Any) -> Episode:
    """A person's game of QWOP of these keys, one number a frame."""
    about = {"player": "me", "source": "a test", "epsilon": 0.05, **more}
    return episode_from_keys(np.asarray(keys, np.uint8), info, **about)


def dataset_of(folder: Path, info: DatasetInfo, *episodes: Episode) -> Dataset:
    """The dataset in a folder, with these episodes added."""
    writer = DatasetWriter(folder, info)
    for episode in episodes:
        writer.write(episode)
    return open_dataset(folder)


def episode_of(observations: Any, actions: Any, count: int = 2, **fields: Any) -> Episode:
    """An episode of a person with `count` actions and a reward of 1 for each; observations have one row more."""
    if "behaviour_probabilities" not in fields:
        fields["behaviour_probabilities"] = smoothed(actions, count, 0.05)
    about = {
        "rewards": np.ones(len(actions), dtype=np.float32),
        "times": np.arange(len(actions) + 1.0),
        "keys": None,
        "terminated": True,
        "truncated": False,
        "outcome": "terminated",
        "player": "a player",
        "source": "a game",
        "mu_kind": "smoothed",
        "mu_epsilon": 0.05,
    }
    return Episode(observations=observations, actions=actions, **{**about, **fields})


def game_without_rows(**fields: Any) -> Game:
    """A game of a policy that fell, without its decisions."""
    rows = dict.fromkeys(("observations", "actions", "probabilities", "rewards", "times"), np.zeros(0))
    end = {"keys": None, "terminated": True, "truncated": False, "outcome": "fell", "info": {}, "seed": 0, "index": 0}
    return Game(**{**rows, **end, **fields})

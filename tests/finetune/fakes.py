"""An environment that counts its steps, so that every number can be checked, and policies for it."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from qwop.finetune.experience.collector import Collector
from qwop.policies.state import ArrayState


class Counting(gymnasium.Env[NDArray[Any], int]):
    """Observes (episode, step), as numbers or as an image of 2 pixels.

    An episode lasts `length` steps and ends as `ending` says; a reward is the action.
    """

    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, length: int, ending: str, image: bool = False) -> None:
        self.length, self.ending, self.episode, self.count = length, ending, -1, 0
        numbers = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.observation_space = gymnasium.spaces.Box(0, 255, (1, 2, 1), np.uint8) if image else numbers

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.episode, self.count = self.episode + 1 if seed is None else 0, 0
        return self.seen(), {}

    def step(self, action: int) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        self.count += 1
        over = self.count == self.length
        info = {"distance": 10.0 * self.episode, "time": 1.5, "outcome": "finished" if over else "running"}
        info["clock"] = self.count / 10
        return self.seen(), float(action), over and self.ending == "end", over and self.ending == "limit", info

    def seen(self) -> NDArray[Any]:
        space = self.observation_space
        return np.array([self.episode, self.count]).reshape(space.shape or ()).astype(space.dtype)


class Saving(SyncVectorEnv):
    """Saves its games."""

    def get_state(self) -> dict[str, Any]:
        return {"games": [[env.episode, env.count] for env in self.envs]}  # type: ignore[attr-defined]

    def set_state(self, state: dict[str, Any]) -> NDArray[Any]:
        games: Any = self.envs
        for env, numbers in zip(games, state["games"], strict=True):
            env.episode, env.count = numbers
        return np.stack([env.seen() for env in games])


class Uniform:
    """A policy that draws every action alike."""

    def __init__(self, actions: int) -> None:
        self._actions = actions

    def initial_state(self, n: int) -> ArrayState:
        return ()

    def step(self, observations: NDArray[Any], state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        return np.full((len(observations), self._actions), 1 / self._actions, dtype=np.float32), state

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.float32]) -> ArrayState:
        return state


class Memoryless(Uniform):
    """Prefers the action that is the step modulo 3, and says so."""

    def __init__(self) -> None:
        super().__init__(3)

    def step(self, observations: NDArray[Any], state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        preferred = observations.reshape(len(observations), -1)[:, 1].astype(int) % 3
        return (0.1 + 0.7 * np.eye(3)[preferred]).astype(np.float32), state


class Remembering:
    """Counts the decisions of each game in a state of its own, and prefers the action that is their number modulo 3."""

    def __init__(self) -> None:
        self.states: list[NDArray[np.int64]] = []
        self.fed: list[tuple[NDArray[Any], ...]] = []

    def initial_state(self, n: int) -> ArrayState:
        return (np.zeros((n, 1), dtype=np.int64),)

    def step(self, observations: NDArray[Any], state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        (counts,) = state
        self.states.append(counts[:, 0].copy())
        return (0.1 + 0.7 * np.eye(3)[counts[:, 0] % 3]).astype(np.float32), (counts + 1,)

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.float32]) -> ArrayState:
        self.fed.append((state[0][:, 0].copy(), actions.copy(), rewards.copy()))
        return state


def vector(*games: Counting, kind: type[SyncVectorEnv] = SyncVectorEnv) -> SyncVectorEnv:
    return kind([lambda game=game: game for game in games], autoreset_mode=AutoresetMode.SAME_STEP)  # type: ignore[misc]


def make_collector(kind: type[SyncVectorEnv] = SyncVectorEnv, image: bool = False, seed: int = 0) -> Collector:
    games = Counting(4, "end", image), Counting(3, "limit", image), Counting(100, "end", image)
    return Collector(vector(*games, kind=kind), 5, np.random.default_rng(seed))

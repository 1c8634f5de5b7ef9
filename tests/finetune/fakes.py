"""Play and games for the tests, in which every number is another so that a mix-up shows."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.experience.collector import Collector
from qwop.finetune.experience.sequences import LIVE, Sequences, Transitions, TruncatedObservations
from qwop.policies.networks import ArrayState
from torch import Tensor, nn

CARTPOLE = EnvironmentSpec("CartPole-v1")
CPU = torch.device("cpu")


def weights_of(module: nn.Module) -> Tensor:
    """A copy of its parameters as one vector."""
    return torch.cat([one.detach().cpu().flatten() for one in module.parameters()])


def make_sequences(
    n: int, steps: int = 4, actions: int = 3, shape: tuple[int, ...] = (2,), source: int = LIVE, first: int = 0,
    truncated_every: int = 0,
) -> Sequences:  # fmt: skip
    """n sequences; sequence i holds the numbers from (first + i)·1000; each `truncated_every`-th ends at a limit."""
    base = (first + np.arange(n))[:, None] * 1000
    t = np.arange(steps + 1)[None, :]
    size = int(np.prod(shape))
    observations = ((base + t)[..., None] + np.arange(size) / 10).reshape(n, steps + 1, *shape).astype(np.float32)
    truncated = np.zeros((n, steps), dtype=np.bool_)
    if truncated_every:
        truncated[::truncated_every, steps // 2] = True
    sequence, step = truncated.nonzero()
    seen = observations[sequence, step] + 0.5
    return Sequences(
        observations=observations,
        actions=((base + t[:, :-1]) % actions).astype(np.int64),
        rewards=(base + t[:, :-1]).astype(np.float32),
        behaviour_probabilities=np.full((n, steps, actions), 1 / actions, dtype=np.float32),
        terminated=np.zeros((n, steps), dtype=np.bool_),
        truncated=truncated,
        finals=TruncatedObservations(sequence, step, seen.astype(np.float32)),
        source=np.full(n, source, dtype=np.int8),
    )


def make_episode(
    length: Any, first: float = 0.0, actions: int = 3, shape: tuple[int, ...] = (2,), terminated: bool = True,
    truncated: bool = False, probabilities: Any = None,
) -> Episode:  # fmt: skip
    """An episode whose first observed number counts up from `first`, as its rewards do."""
    counts = first + np.arange(length + 1)
    size = int(np.prod(shape))
    observations = (counts[:, None] + np.arange(size) / 10).reshape(length + 1, *shape).astype(np.float32)
    if probabilities is None:
        probabilities = np.full((length, actions), 1 / actions, dtype=np.float32)
    return Episode(
        observations=observations,
        actions=(np.arange(length) % actions).astype(np.int16),
        behaviour_probabilities=probabilities,
        rewards=counts[:-1].astype(np.float32),
        times=np.arange(length + 1, dtype=np.float64),
        keys=None,
        terminated=terminated,
        truncated=truncated,
        outcome="terminated" if terminated else "truncated",
        player="tests",
        source="tests",
        mu_kind="recorded",
    )


def make_transitions(n: int, source: int = LIVE, first: int = 0) -> Transitions:
    """n transitions, whose numbers count up from `first`."""
    count = first + np.arange(n)
    return Transitions(
        observations=count[:, None].astype(np.float32),
        actions=count.astype(np.int64),
        rewards=count.astype(np.float32),
        discounts=np.full(n, 0.9, dtype=np.float32),
        next_observations=(count[:, None] + 1).astype(np.float32),
        source=np.full(n, source, dtype=np.int8),
    )


def make_batch(
    seed: int, n: int = 4, k: int = 6, actions: int = 3, size: int = 2, certainty: float = 8.0,
    state: Callable[[np.random.Generator], tuple[Any, ...]] = lambda random: (),
) -> Sequences:  # fmt: skip
    """Live play with ends and time limits, by a policy that is not the learner's: ratios are away from 1.

    state: draws the state that the n sequences begin with.
    """
    random = np.random.default_rng(seed)
    terminated, truncated = (np.zeros((n, k), dtype=np.bool_) for _ in range(2))
    terminated[0, 1] = terminated[2, k - 1] = terminated[1, 3] = True
    truncated[1, 2] = truncated[3, k - 1] = truncated[1, 3] = True
    sequence, step = truncated.nonzero()
    return Sequences(
        observations=random.normal(3.0, 2.0, size=(n, k + 1, size)).astype(np.float32),
        actions=random.integers(actions, size=(n, k)),
        rewards=random.normal(0.5, 1.0, size=(n, k)).astype(np.float32),
        behaviour_probabilities=random.dirichlet(np.full(actions, certainty), size=(n, k)).astype(np.float32),
        terminated=terminated,
        truncated=truncated,
        finals=TruncatedObservations(
            sequence, step, random.normal(5.0, 1.0, size=(len(sequence), size)).astype(np.float32)
        ),
        source=np.full(n, LIVE, dtype=np.int8),
        state=state(random),
    )


def make_play(iterations: int, streams: int = 2, steps: int = 6, actions: int = 3) -> list[Sequences]:
    """Games under way over all iterations, with ends and time limits: the sequences of one follow those of another."""
    random, total = np.random.default_rng(3), steps * iterations
    observations = random.normal(size=(streams, total + 1, 2)).astype(np.float32)
    taken, rewards = random.integers(actions, size=(streams, total)), random.normal(1.0, 2.0, size=(streams, total))
    terminated, truncated = random.random((2, streams, total)) < 0.12
    finals = random.normal(size=(streams, total, 2)).astype(np.float32)
    parts = []
    for start in range(0, total, steps):
        here = slice(start, start + steps)
        sequence, step = truncated[:, here].nonzero()
        parts.append(
            Sequences(
                observations=observations[:, start : start + steps + 1],
                actions=taken[:, here],
                rewards=rewards[:, here].astype(np.float32),
                behaviour_probabilities=np.full((streams, steps, actions), 1 / actions, dtype=np.float32),
                terminated=terminated[:, here],
                truncated=truncated[:, here],
                finals=TruncatedObservations(sequence, step, finals[:, here][sequence, step]),
                source=np.full(streams, LIVE, dtype=np.int8),
            )
        )
    return parts


def write_games(
    folder: Path, spec: EnvironmentSpec, episodes: Iterable[Episode] | Iterable[int] = (30, 25), **facts: Any
) -> Dataset:
    """A dataset of these games, or of counting ones of these lengths; facts: those of its spec that are others."""
    observation, actions = spec.interface()
    info = DatasetInfo(spec, **{"observation": observation, "actions": actions, **facts})
    writer = DatasetWriter(folder, info)
    for one in episodes:
        counting = {"actions": info.actions, "shape": info.observation.shape}
        writer.write(one if isinstance(one, Episode) else make_episode(one, **counting))
    return open_dataset(folder)


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


class Memoryless:
    """Prefers the action that is the step modulo 3, and says so."""

    def initial_state(self, n: int) -> ArrayState:
        return ()

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.float32]) -> ArrayState:
        return state

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


def check_sequences(one: Sequences) -> None:
    """Assert that shapes agree and that every truncated step has its final observation."""
    n, k = one.actions.shape
    assert one.observations.shape[:2] == (n, k + 1)
    assert one.rewards.shape == one.terminated.shape == one.truncated.shape == (n, k)
    assert one.behaviour_probabilities.shape[:2] == (n, k)
    assert one.source.shape == (n,)
    assert all(len(part) == n for part in one.state)
    truncations = np.argwhere(one.truncated & ~one.terminated)
    places = {(int(i), int(t)) for i, t in zip(one.finals.sequence, one.finals.step, strict=True)}
    assert places >= {(int(i), int(t)) for i, t in truncations}
    assert one.finals.observations.shape == (len(places), *one.observations.shape[2:])

"""Games played by a policy, many at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..envs.names import ACTION_KEYS
from ..envs.spec import EnvironmentSpec
from .policy import Policy, choose


@dataclass(frozen=True)
class Game:
    """One whole game of T decisions, as it was played.

    observations float32 [T + 1, *shape]; actions int16 [T]; probabilities float32 [T, A], what the actions were drawn
    with (one-hot if greedy); rewards float32 [T]; times float64 [T + 1], seconds of the game clock (or of decisions,
    where an environment has no clock); keys: for every decision the keys of each frame that it lasted, the idle frames
    of the start in the first (None where an environment tells no frames); info: of the last step; seed: what the
    environment was reset with; index: its number among the games played.
    """

    observations: NDArray[np.float32]
    actions: NDArray[np.int16]
    probabilities: NDArray[np.float32]
    rewards: NDArray[np.float32]
    times: NDArray[np.float64]
    keys: tuple[NDArray[np.uint8], ...] | None
    terminated: bool
    truncated: bool
    outcome: str
    info: dict[str, Any]
    seed: int
    index: int

    def __len__(self) -> int:
        return len(self.actions)


def play(
    policy: Policy,
    *,
    episodes: int,
    seed: int,
    greedy: bool,
    num_envs: int = 64,
    max_idle_frames: int = 0,
    environment: EnvironmentSpec | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Game]:
    """The first `episodes` games of `seed`, in order; up to `num_envs` of them are played at a time.

    Game k depends on (seed, k) alone, whatever `num_envs`: it has its own reset seed and its own generator. All games
    that were started are played to their end, so short ones are not favoured. `environment` is the policy's own unless
    another of the same shapes is given. `progress` hears the number of games finished.
    """
    spec = environment or policy.environment
    more = {"max_idle_frames": max_idle_frames} if max_idle_frames else {}
    slots = [spec.make(**more) for _ in range(min(num_envs, episodes))]
    try:
        yield from _play(policy, slots, episodes, seed, greedy, progress)
    finally:
        for slot in slots:
            slot.close()


@dataclass
class _Started:
    """A game under way in one slot."""

    index: int
    seed: int
    generator: np.random.Generator
    observations: list[NDArray[np.float32]]
    times: list[float]
    idle_frames: int
    actions: list[int] = field(default_factory=list)
    probabilities: list[NDArray[np.float32]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)


def _play(
    policy: Policy,
    slots: list[gymnasium.Env[Any, Any]],
    episodes: int,
    seed: int,
    greedy: bool,
    progress: Callable[[int], None] | None,
) -> Iterator[Game]:
    started: dict[int, _Started] = {slot: _start(env, seed, slot) for slot, env in enumerate(slots)}
    finished: dict[int, Game] = {}
    next_index, next_out, ended = len(slots), 0, 0
    while started:
        games = list(started.items())
        probabilities = policy.probabilities(np.stack([game.observations[-1] for _, game in games]))
        uniforms = None if greedy else np.array([game.generator.random() for _, game in games])
        actions, probabilities = choose(probabilities, uniforms)
        for (slot, game), action, row in zip(games, actions, probabilities, strict=True):
            observation, reward, terminated, truncated, info = slots[slot].step(action)
            game.actions.append(int(action))
            game.probabilities.append(row)
            game.rewards.append(float(reward))
            game.observations.append(np.asarray(observation, dtype=np.float32))
            game.times.append(float(info.get("clock", len(game.actions))))
            if "frames" in info:
                game.frames.append(int(info["frames"]))
            if terminated or truncated:
                finished[game.index] = _finish(game, bool(terminated), bool(truncated), info)
                ended += 1
                if progress is not None:
                    progress(ended)
                if next_index < episodes:
                    started[slot] = _start(slots[slot], seed, next_index)
                    next_index += 1
                else:
                    del started[slot]
        while next_out in finished:
            yield finished.pop(next_out)
            next_out += 1


def _start(env: gymnasium.Env[Any, Any], seed: int, index: int) -> _Started:
    for_reset, for_actions = np.random.SeedSequence(seed, spawn_key=(index,)).spawn(2)
    reset_seed = int(for_reset.generate_state(1)[0])
    observation, info = env.reset(seed=reset_seed)
    return _Started(
        index=index,
        seed=reset_seed,
        generator=np.random.default_rng(for_actions),
        observations=[np.asarray(observation, dtype=np.float32)],
        times=[float(info.get("clock", 0.0))],
        idle_frames=int(info.get("frames", 0)),
    )


def _finish(game: _Started, terminated: bool, truncated: bool, info: dict[str, Any]) -> Game:
    keys = None
    if game.frames:
        played = [np.full(n, ACTION_KEYS[a], dtype=np.uint8) for a, n in zip(game.actions, game.frames, strict=True)]
        played[0] = np.concatenate([np.zeros(game.idle_frames, dtype=np.uint8), played[0]])
        keys = tuple(played)
    return Game(
        observations=np.stack(game.observations),
        actions=np.array(game.actions, dtype=np.int16),
        probabilities=np.stack(game.probabilities),
        rewards=np.array(game.rewards, dtype=np.float32),
        times=np.array(game.times),
        keys=keys,
        terminated=terminated,
        truncated=truncated,
        outcome=str(info.get("outcome", "terminated" if terminated else "truncated")),
        info=dict(info),
        seed=game.seed,
        index=game.index,
    )

"""Live play: sequences from a vector of environments."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from ...envs.names import outcome_name
from ...envs.qwop.task import FRAMES_A_SECOND
from ...policies.policy import choose
from ..replay.behaviour import Probabilities
from .sequences import LIVE, Finals, Sequences


@dataclass(frozen=True)
class EpisodeEnd:
    """A live episode that ended: its return, its decisions and, where the environment tells them, metres, seconds from
    the first key, game frames since the reset, and whether the runner finished."""

    total_reward: float
    decisions: int
    metres: float | None
    seconds: float | None
    frames: int | None
    finished: bool | None


class Collector:
    """Plays `steps` decisions at a time in every environment, drawing actions from the policy that it is given.

    Episodes run on from one sequence to the next. `env` resets in the same step, as `make_vector` has it. The state
    holds the games themselves where the environment can give them (`get_state`, `set_state`). One that cannot starts
    new games whenever the state is taken, so that a run that goes on and one that is resumed play the same.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], steps: int, generator: np.random.Generator) -> None:
        self._env = env
        self._steps = steps
        self._generator = generator
        self._n = env.num_envs
        self._observations: NDArray[np.float32]
        self._returns: NDArray[np.float64]
        self._lengths: NDArray[np.int64]
        self._restart()

    def collect(self, policy: Probabilities) -> tuple[Sequences, list[EpisodeEnd]]:
        """The next sequence of every environment, and the episodes, from their start, that ended in them."""
        n, k = self._n, self._steps
        shape = self._observations.shape[1:]
        observations = np.empty((n, k + 1, *shape), dtype=np.float32)
        rewards = np.empty((n, k), dtype=np.float32)
        actions = np.empty((n, k), dtype=np.int64)
        terminated = np.empty((n, k), dtype=np.bool_)
        truncated = np.empty((n, k), dtype=np.bool_)
        probabilities: list[NDArray[np.float32]] = []
        stopped: list[tuple[int, int, NDArray[np.float32]]] = []
        ends: list[EpisodeEnd] = []
        for t in range(k):
            observations[:, t] = self._observations
            mu = policy(self._observations)
            probabilities.append(mu)
            actions[:, t], _ = choose(mu, self._generator.random(n))
            seen, reward, terminated[:, t], truncated[:, t], infos = self._env.step(actions[:, t])
            rewards[:, t] = reward
            self._observations = np.array(seen, dtype=np.float32)
            self._returns += reward
            self._lengths += 1
            done = terminated[:, t] | truncated[:, t]
            restarted = infos.get("restarted", np.zeros(n, dtype=np.bool_))
            for i in np.flatnonzero(done):
                end = self._end(int(i), infos)
                if not restarted[i]:
                    ends.append(end)
                if not terminated[i, t]:
                    stopped.append((int(i), t, np.array(infos["final_obs"][i], dtype=np.float32)))
        observations[:, k] = self._observations
        finals = Finals(
            np.array([i for i, _, _ in stopped], dtype=np.int64),
            np.array([t for _, t, _ in stopped], dtype=np.int64),
            np.stack([seen for _, _, seen in stopped]) if stopped else np.zeros((0, *shape), dtype=np.float32),
        )
        sequences = Sequences(
            observations=observations,
            actions=actions,
            rewards=rewards,
            behaviour_probabilities=np.stack(probabilities, axis=1),
            terminated=terminated,
            truncated=truncated,
            finals=finals,
            source=np.full(n, LIVE, dtype=np.int8),
        )
        return sequences, ends

    def enter(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Go over to new games in another vector of as many environments; the one until now is closed."""
        self._env.close()
        self._env = env
        self._restart()

    def get_state(self) -> dict[str, Any]:
        """The games under way; where the environment cannot give them, new ones begin and their seed is the state."""
        if not hasattr(self._env, "get_state"):
            return {"seed": self._restart(), "generator": self._generator.bit_generator.state}
        return {
            "env": self._env.get_state(),
            "generator": self._generator.bit_generator.state,
            "observations": self._observations.copy(),
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where the state was taken."""
        self._generator.bit_generator.state = state["generator"]
        if "seed" in state:
            self._reset(int(state["seed"]))
            return
        self._env.set_state(state["env"])  # type: ignore[attr-defined]
        self._observations = np.array(state["observations"], dtype=np.float32)
        self._returns = np.array(state["returns"], dtype=np.float64)
        self._lengths = np.array(state["lengths"], dtype=np.int64)

    def _restart(self) -> int:
        seed = int(self._generator.integers(2**31))
        self._reset(seed)
        return seed

    def _reset(self, seed: int) -> None:
        first, _ = self._env.reset(seed=seed)
        self._observations = np.array(first, dtype=np.float32)
        self._returns = np.zeros(self._n)
        self._lengths = np.zeros(self._n, dtype=np.int64)

    def _end(self, i: int, infos: dict[str, Any]) -> EpisodeEnd:
        final = infos.get("final_info", {})
        end = EpisodeEnd(
            total_reward=float(self._returns[i]),
            decisions=int(self._lengths[i]),
            metres=float(final["distance"][i]) if "distance" in final else None,
            seconds=float(final["time"][i]) if "time" in final else None,
            frames=round(final["clock"][i] * FRAMES_A_SECOND) if "clock" in final else None,
            finished=outcome_name(final["outcome"][i]) == "finished" if "outcome" in final else None,
        )
        self._returns[i], self._lengths[i] = 0.0, 0
        return end

"""Live play: collects sequences from a vector environment with a copy of the policy."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...common.errors import BadInput
from ...envs.names import outcome_name
from ...envs.spec import Observations, ObservationSpec
from ...envs.vector import VectorEnv
from ...policies.cuda_graphs import CudaGraphs
from ...policies.dense_layers import DenseLayers
from ...policies.devices import undisturbed
from ...policies.networks import ArrayState, Network, TrunkedPolicy, feed_arrays, reset_rows, to_arrays, to_tensors
from ...policies.policy import choose
from ...policies.q_networks import QNetwork, epsilon_greedy
from .sequences import LIVE, Sequences, TruncatedObservations

Teacher = Callable[[VectorEnv, Observations], NDArray[np.float32]]
"""π_T(·|s), [n, A], in the current states of n games with these observations."""


@dataclass(frozen=True)
class EpisodeStats:
    """Statistics of a finished live episode: return and decisions; if the environment reports them, metres, seconds
    since the first key, and True if the runner finished."""

    total_reward: float
    decisions: int
    metres: float | None
    seconds: float | None
    finished: bool | None


class Collector:
    """Plays `steps` decisions at a time in every environment, with actions sampled from a policy.

    Episodes continue from one sequence to the next. An Atari game that continues after a lost life is one episode in
    the log, although its sequences say `terminated`. `env` resets in the same step, as `make_vector`'s do. If the
    environment can save its games (`saves_games`), the state includes them. Otherwise it includes all actions since
    `restart`, and restoring it plays them again from the same seed.
    """

    def __init__(
        self,
        env: VectorEnv,
        steps: int,
        generator: np.random.Generator,
        state: dict[str, Any] | None = None,
        teacher: Teacher | None = None,
    ) -> None:
        """Start new games, or continue from an earlier collector's state."""
        self._env, self._teacher = env, teacher
        self._steps = steps
        self._generator = generator
        self._n = env.num_envs
        self._spec = ObservationSpec.of(env.single_observation_space, "live play")
        self._observations: NDArray[Any]
        self._policy_state: ArrayState | None = None
        self._returns: NDArray[np.float64]
        self._lengths: NDArray[np.int64]
        self._played: list[NDArray[np.int32]] = []
        """Actions, [n, k], of each sequence since `restart`, if games cannot be saved."""
        if state is None:
            self.restart()
        else:
            self.set_state(state)

    def collect(self, policy: "PolicySnapshot") -> tuple[Sequences, list[EpisodeStats]]:
        """Play the next sequence of every environment; return the sequences and the episodes that ended in them.

        With a teacher the sequences include its probabilities π_T(·|s).
        """
        n, k = self._n, self._steps
        shape = self._observations.shape[1:]
        observations = np.empty((n, k + 1, *shape), dtype=self._observations.dtype)
        if self._policy_state is None:
            self._policy_state = policy.initial_state(n)
        state_before = self._policy_state
        rewards = np.empty((n, k), dtype=np.float32)
        actions = np.empty((n, k), dtype=np.int64)
        terminated = np.empty((n, k), dtype=np.bool_)
        truncated = np.empty((n, k), dtype=np.bool_)
        probabilities: list[NDArray[np.float32]] = []
        uniforms = self._generator.random((k, n))
        teacher_probabilities: list[NDArray[np.float32]] = []
        truncations: list[tuple[int, int, NDArray[Any]]] = []
        ends: list[EpisodeStats] = []
        for t in range(k):
            observations[:, t] = self._observations
            if self._teacher is not None:
                teacher_probabilities.append(self._teacher(self._env, self._observations))
            mu, self._policy_state = policy.step(self._observations, self._policy_state)
            probabilities.append(mu)
            choice, _ = choose(mu, uniforms[t])
            actions[:, t] = choice
            following, reward, over, stops, infos = self._env.step(choice)
            rewards[:, t], terminated[:, t], truncated[:, t] = reward, over, stops
            self._policy_state = policy.feed(self._policy_state, choice, rewards[:, t])
            self._observations = np.asarray(following, dtype=self._spec.dtype)
            self._returns += reward
            self._lengths += 1
            finished = over | stops
            if not finished.any():
                continue
            restarted, goes_on = infos.get("restarted"), infos.get("game_goes_on")
            for i in np.flatnonzero(finished if goes_on is None else finished & ~goes_on):
                end = self._end(int(i), infos)
                if restarted is None or not restarted[i]:
                    ends.append(end)
                if not over[i]:
                    truncations.append((int(i), t, self._spec.array(infos["final_obs"][i])))
            if self._policy_state:
                self._policy_state = reset_rows(self._policy_state, policy.initial_state(n), finished)
        observations[:, k] = self._observations
        if not self.saves_games():
            self._played.append(actions.astype(np.int32))
        finals = TruncatedObservations(
            np.array([i for i, _, _ in truncations], dtype=np.int64),
            np.array([t for _, t, _ in truncations], dtype=np.int64),
            np.stack([following for _, _, following in truncations]) if truncations else self._spec.zeros(0),
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
            state=state_before,
            teacher=np.stack(teacher_probabilities, axis=1) if teacher_probabilities else None,
        )
        return sequences, ends

    def enter(self, env: VectorEnv, teacher: Teacher | None = None) -> None:
        """Close the current vector environment and start new games in `env`, which has the same size."""
        self._env.close()
        self._env, self._teacher = env, teacher
        self.restart()

    def saves_games(self) -> bool:
        """True if the environment can save games and continue them."""
        return hasattr(self._env, "get_state")

    def restart(self) -> None:
        """Discard the games in progress and start new ones."""
        self._reset(int(self._generator.integers(2**31)))

    def get_state(self) -> dict[str, object]:
        """The games in progress or, if they cannot be saved, their seed and actions."""
        if hasattr(self._env, "get_state"):
            games = {"env": self._env.get_state()}
        else:
            games = {"seed": self._seed, "actions": np.concatenate(self._played, axis=1)}
        return {
            **games,
            "generator": self._generator.bit_generator.state,
            "observations": self._observations.copy(),
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
            "policy": None if self._policy_state is None else list(self._policy_state),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state; BadInput if its games do not come out the same."""
        self._generator.bit_generator.state = state["generator"]
        if "seed" in state:
            self._reset(int(state["seed"]))
            self._played = [np.asarray(state["actions"])]
            for choice in self._played[0].T:
                self._observations = self._spec.array(self._env.step(choice.astype(np.int64))[0])
            if not self._played[0].size:
                return  # games that have just begun, perhaps in an environment that is not the same each time
        else:
            self._observations = self._spec.array(self._env.set_state(state["env"]))  # type: ignore[attr-defined]
        if not np.array_equal(self._observations, state["observations"], equal_nan=True):
            raise BadInput("its games do not come out the same when they are played again, so it cannot go on")
        self._returns = np.array(state["returns"], dtype=np.float64)
        self._lengths = np.array(state["lengths"], dtype=np.int64)
        self._policy_state = None if state["policy"] is None else tuple(state["policy"])

    def _reset(self, seed: int) -> None:
        self._seed, self._played = seed, [np.zeros((self._n, 0), dtype=np.int32)]
        first, _ = self._env.reset(seed=seed)
        self._observations = self._spec.array(first)
        self._policy_state = None
        self._returns = np.zeros(self._n)
        self._lengths = np.zeros(self._n, dtype=np.int64)

    def _end(self, i: int, infos: dict[str, Any]) -> EpisodeStats:
        final = infos.get("final_info", {})
        end = EpisodeStats(
            total_reward=float(self._returns[i]),
            decisions=int(self._lengths[i]),
            metres=float(final["distance"][i]) if "distance" in final else None,
            seconds=float(final["time"][i]) if "time" in final else None,
            finished=outcome_name(final["outcome"][i]) == "finished" if "outcome" in final else None,
        )
        self._returns[i], self._lengths[i] = 0.0, 0
        return end


CPU = torch.device("cpu")

WORTH_HOLDING = 8
"""Decisions between two `take`s from which it pays to lay the weights out for playing."""

WORTH_A_GPU = 2**18
"""Weights of a policy from which a GPU, where its learner has one, draws its actions; pictures are always worth it."""


def place_to_act(network: Network, learner: torch.device) -> torch.device:
    """The device that draws a network's actions: its learner's, if that is a CUDA GPU and the network is worth it."""
    wide = sum(one.numel() for one in network.parameters()) >= WORTH_A_GPU
    return learner if learner.type == "cuda" and (wide or network.observation.is_image) else CPU


class PolicySnapshot:
    """Copy of a network as of the last `take`, on the CPU, where the games run, unless `device` is given.

    live: the network itself, if it is there, for a learner that waits while it plays. decisions: those between
    two `take`s. From `WORTH_HOLDING` on, each `take` lays the weights out for playing, so a live network is taken, too.
    """

    @undisturbed
    def __init__(
        self, network: Network, live: bool = False, device: torch.device = CPU, decisions: int = WORTH_HOLDING
    ) -> None:
        itself = live and all(one.device.type == device.type for one in network.parameters())
        self._network = network if itself else copy.deepcopy(network).to(device).requires_grad_(False)
        self._device, self._holds = device, decisions >= WORTH_HOLDING
        self._prepare()

    def _prepare(self) -> None:
        self._dense: DenseLayers | None = None
        if isinstance(self._network, TrunkedPolicy | QNetwork) and self._device.type == "cpu":
            self._dense = self._network.dense_layers()
        self._hold()
        self._graphs = CudaGraphs(self._probabilities, list(self._network.parameters()))

    def __getstate__(self) -> dict[str, Any]:
        """The weights once, as a message to actors; what is made of them is made anew there."""
        return {"_network": self._network, "_device": self._device, "_holds": self._holds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    @torch.no_grad()
    def take(self, network: Network) -> None:
        """Copy the weights of the network."""
        if network is not self._network:
            mine, theirs = ([*one.parameters(), *one.buffers()] for one in (self._network, network))
            torch._foreach_copy_(mine, theirs)
        self._hold()

    def _hold(self) -> None:
        if self._dense is not None and self._holds:
            self._dense.hold()

    @undisturbed
    def initial_state(self, n: int) -> ArrayState:
        """The policy's state at the start of n episodes."""
        return to_arrays(self._network.initial_state(n))

    @undisturbed
    def step(self, observations: NDArray[Any], state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        """π(·|s) float32 [n, A] of observations [n, *shape], and the next state."""
        rows = torch.from_numpy(observations)
        with torch.inference_mode():
            if self._dense is not None and isinstance(self._network, QNetwork):
                q = self._dense.forward(self._network.layer_input(rows.flatten(1)))
                return epsilon_greedy(q.numpy(), self._network.epsilon.numpy()), state
            if self._dense is not None:
                assert isinstance(self._network, TrunkedPolicy)
                outputs = self._dense.forward(self._network.trunk_input(rows.flatten(1)))
                return torch.softmax(outputs, dim=0).numpy().T, state
            if not state:
                return self._graphs(None, rows.to(self._device)).cpu().numpy(), state
            logits, following = self._network.step(rows.to(self._device), to_tensors(state, self._device))
            return torch.softmax(logits, dim=-1).cpu().numpy(), to_arrays(following)

    def _probabilities(self, key: None, rows: Tensor) -> Tensor:
        """π(·|s), [n, A], of a memoryless network."""
        return torch.softmax(self._network.step(rows, ())[0], dim=-1)

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.float32]) -> ArrayState:
        """The state for the next `step`, updated with the actions taken, [n], and their rewards, [n]."""
        return feed_arrays(self._network, state, actions, rewards)

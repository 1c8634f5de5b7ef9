"""The interface between the training loop and a learning agent; learners, and the states of their parts."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from ...common.errors import BadInput
from ...common.settings import Settings
from ...policies.encoders import ObservationScaler, RunningStatistics
from ...policies.networks import Network, Values
from ...policies.q_networks import EpsilonGreedy
from ..experience.sequences import NStep, Sequences
from ..log import RunLog, UpdateStats
from ..replay.demonstrations import Demonstrations
from ..replay.memory import Memory
from ..replay.transition_memory import TransitionMemory
from ..schedules.phase import Phase, PhaseValues
from .settings import LiveSettings, QSettings

N = TypeVar("N", bound=Network, covariant=True)
S = TypeVar("S", bound=Settings, covariant=True)
K = TypeVar("K", bound=Network)


class Resumable:
    """Base class of objects whose state is the states of their public attributes. Those without a state, and those
    whose name begins with `_`, are made anew by the constructor."""

    @property
    def parts(self) -> dict[str, Any]:
        """The attributes that a checkpoint saves, by name: networks, optimisers, generators, and whatever has
        `get_state` and `set_state`."""
        kinds = nn.Module | Optimizer | np.random.Generator
        return {
            name: part
            for name, part in vars(self).items()
            if name[0] != "_" and (isinstance(part, kinds) or hasattr(part, "get_state"))
        }

    def get_state(self) -> dict[str, object]:
        """The full state needed to continue the run. Has no side effects."""
        return {name: _state_of(part) for name, part in self.parts.items()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `get_state`."""
        for name, part in self.parts.items():
            if isinstance(part, nn.Module | Optimizer):
                part.load_state_dict(state[name])
            elif isinstance(part, np.random.Generator):
                part.bit_generator.state = state[name]
            elif name in state:
                part.set_state(state[name])


def _state_of(part: Any) -> object:
    if isinstance(part, nn.Module | Optimizer):
        return copy.deepcopy(part.state_dict())
    return part.bit_generator.state if isinstance(part, np.random.Generator) else part.get_state()


class Learner(Resumable, Generic[N, S]):
    """Trains a network in place, one `update` at a time, from a batch and the schedule's current values.

    The schedule's values multiply the settings' learning rate and entropy weight; their γ is the settings' γ at the
    environment's decision rate.
    """

    values: Values | None = None

    def __init__(self, network: N, settings: S, device: torch.device) -> None:
        self.settings = settings
        self.network = network.to(device)
        # An earlier phase's learner may have left gradients that this one never overwrites.
        self.network.zero_grad(set_to_none=True)
        self._device = device

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self._device.type == "cuda":  # copies from pinned memory overlap with other work
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor.to(self._device)


class LiveLearner(Learner[N, S]):
    """Learns from the newest live play, which is then discarded.

    A new network's scaler gets the statistics of all live play; those that a network comes with stay fixed.
    """

    def __init__(self, network: N, settings: S, device: torch.device) -> None:
        super().__init__(network, settings, device)
        self.statistics = RunningStatistics(0 if network.scaler.fitted else network.observation.size)

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        """Learn from live play. Its statistics are added before the first update, but after later ones.

        An untrained policy is nearly uniform at any scale, but learns little from unscaled observations. The ratios of
        later updates must start from the behaviour policy, and so from its scale.
        """
        first = not self.network.scaler.fitted
        if first:
            self._add(played)
        stats = self._learn(played, now)
        if not first and self.statistics.count:
            self._add(played)
        return stats

    def _learn(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        raise NotImplementedError

    def _add(self, played: Sequences) -> None:
        """Add the observations to the statistics of the scaler."""
        self.statistics.add(played.observations[:, :-1].reshape(played.actions.size, -1))
        assert isinstance(self.network.scaler, ObservationScaler)  # no other scaler can lack statistics
        self.statistics.put_into(self.network.scaler)


class Agent(Resumable):
    """A learning algorithm with its memory. The loop combines it with live play, a schedule, a log and checkpoints.

    An iteration of the loop is `learn`, then `advance`. Live play draws its actions from a copy of `network`
    (`experience.collector`). Subclasses define `learn`; other hooks do nothing by default.
    """

    learner: Learner[Network, Settings]

    @property
    def network(self) -> Network:
        """The policy network, trained in place."""
        return self.learner.network

    @property
    def values(self) -> Values | None:
        """The separate value network V(s), if the agent learns one."""
        return self.learner.values

    def fit_initial_values(self, play: Callable[[], Sequences], now: PhaseValues) -> None:
        """Prepare before the schedule begins. Each call of `play` returns live play outside the schedule."""

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        """Store an iteration's live play (None in phases without live play) and run the iteration's updates."""
        raise NotImplementedError

    def advance(self, decisions: int, planned: int) -> None:
        """Update values that depend on overall progress (`decisions` of `planned`), such as ε."""

    def begin_phase(self, phase: Phase) -> None:
        """Start a phase. If it uses no demonstrations, remove them from memory immediately."""

    def change_environment(self) -> None:
        """Drop all data of the previous environment, because the next phase uses another one."""

    def drop_partial_episodes(self) -> None:
        """Discard unfinished episodes: the next live play starts new games."""

    def measurements(self) -> dict[str, float]:
        """Agent-specific values for a row of the log, in addition to those of the log itself."""
        return {}


class LiveAgent(Agent):
    """Learns once from each iteration's live play, which is then discarded.

    The rollouts may come from an earlier policy (`overlap`, actors); importance weights and ratios refer to that
    policy.
    """

    learner: LiveLearner[Network, Settings]

    def __init__(self, learner: LiveLearner[Network, Settings], log: RunLog) -> None:
        self.learner = learner
        self._log = log

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        assert live is not None  # `build` refuses phases without live play
        stats = self.learner.update(live, now)
        self._log.add_update(stats)


class FractionalCounter:
    """Accumulates amounts and returns the whole units that they make: a rate of 0.25 gives 1 every fourth time."""

    def __init__(self, unit: float = 1.0) -> None:
        self._unit, self._rest = unit, 0.0

    def take(self, amount: float) -> int:
        """Add an amount; return the whole units of the total and carry the rest over."""
        self._rest += amount
        whole = int(self._rest // self._unit)
        self._rest -= whole * self._unit
        return whole

    def get_state(self) -> float:
        return self._rest

    def set_state(self, state: float) -> None:
        self._rest = float(state)


@dataclass(eq=False)
class ReplayAgent(Agent):
    """Learns from a memory of live play, and from demonstrations. generator: of samples and of their number."""

    learner: Learner[Network, Settings]
    memory: Memory[Any]
    demonstrations: Demonstrations[Any] | None
    settings: LiveSettings
    log: RunLog
    generator: np.random.Generator
    demonstrations_due: FractionalCounter = field(default_factory=FractionalCounter, init=False)

    def begin_phase(self, phase: Phase) -> None:
        if not phase.live:
            self.drop_partial_episodes()

    def change_environment(self) -> None:
        self.drop_partial_episodes()
        self.memory.clear()

    def _next_demonstrations(self, now: PhaseValues, live: int) -> Any:
        """Demonstrations to store with `live` items of live play; None in a phase without demonstrations."""
        if self.demonstrations is None or not now.uses_demonstrations:
            return None
        return self.demonstrations.next(self.demonstrations_due.take(now.demonstrations * live))


@dataclass(eq=False)
class QAgent(ReplayAgent):
    """Learns Q from transitions in memory.

    ε follows the schedule and is part of the network, so the behaviour policy is exactly
    π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, in live play and from a policy file alike.
    """

    learner: Learner[EpsilonGreedy, QSettings]
    memory: TransitionMemory

    def __post_init__(self) -> None:
        self.n_step, self.updates_due = NStep(self.learner.settings.n_steps), FractionalCounter()
        self.decisions = self.settings.decisions

    @torch.no_grad()
    def advance(self, decisions: int, planned: int) -> None:
        """Set the network's ε."""
        a = self.learner.settings
        self.learner.network.epsilon.fill_(
            linear(a.epsilon_start, a.epsilon_end, decisions / (a.epsilon_share * planned))
        )

    def drop_partial_episodes(self) -> None:
        self.n_step.restart()

    def measurements(self) -> dict[str, float]:
        return {"memory/transitions": float(len(self.memory)), "learner/epsilon": float(self.learner.network.epsilon)}


def require_capacity(loop: Any, most: float) -> None:
    """Raise BadInput unless the memory can hold `loop.start` items, and `most`, the maximum of one iteration."""
    if loop.capacity < max(most, loop.start):
        raise BadInput(
            f"loop.capacity={loop.capacity}: fewer than loop.start={loop.start}, or than one iteration can bring "
            f"({most:g})"
        )


def network_of(run: Any, kind: type[K], reason: str = "", refused: Callable[[Phase], bool] = lambda phase: False) -> K:
    """The policy's network; BadInput if it is of another kind, or for a `refused` phase, with the reason."""
    name, network = run.algorithm.name, run.policy.network
    for phase in filter(refused, run.settings.phases):
        raise BadInput(f"schedule.phases.{phase.name}: algorithm={name} {reason}")
    if not isinstance(network, kind):
        raise BadInput(
            f"algorithm={name}: cannot train the policy's network ({network.architecture}); begin with policy=scratch "
            "or a policy of the same algorithm"
        )
    return network


def critic_of(run: Any, kind: type[K]) -> K:
    """The policy's network, whose Q values define the policy; BadInput if it is of another kind, or for phases with
    critic_only."""
    return network_of(run, kind, "has no policy apart from its values (critic_only)", lambda phase: phase.critic_only)


def linear(start: float, end: float, share: float) -> float:
    """Linear interpolation from start to end at `share`, which is clipped to 0 … 1."""
    return start + (end - start) * min(max(share, 0.0), 1.0)

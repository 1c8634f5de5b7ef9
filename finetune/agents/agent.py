"""The interface between the training loop and a learning agent; learners, and the states of their parts."""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from ...common.errors import BadInput
from ...common.settings import Settings
from ...envs.spec import ObservationSpec
from ...policies.networks import LayeredNetwork, Network, Values
from ...policies.scaling import ObservationScaler, RunningStatistics
from ..experience.sequences import Sequences
from ..log import RunLog, UpdateStats
from ..schedules.phase import Phase, PhaseValues

N = TypeVar("N", bound=Network, covariant=True)
S = TypeVar("S", bound=Settings, covariant=True)


class HasState(Protocol):
    """Anything with a state of its own."""

    def get_state(self) -> object: ...
    def set_state(self, state: Any) -> None: ...


Part = nn.Module | Optimizer | np.random.Generator | HasState | None
"""Part of an agent or of a learner whose state is saved."""


class HasParts:
    """Base class of objects whose state is the states of their parts."""

    @property
    def parts(self) -> Mapping[str, Part]:
        """The parts saved in a checkpoint, by name."""
        raise NotImplementedError

    def get_state(self) -> dict[str, object]:
        """The full state needed to continue the run. Has no side effects."""
        return {name: state_of(part) for name, part in self.parts.items()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `get_state`."""
        for name, part in self.parts.items():
            to_state(part, state[name])


class Learner(HasParts, Generic[N, S]):
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
    """Learns from the newest live play, which is then discarded."""

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        raise NotImplementedError


Layered = TypeVar("Layered", bound=LayeredNetwork)

Makes = Callable[[ObservationSpec | int, int, torch.Generator], Layered]
MakeNetwork = Makes[LayeredNetwork]
"""Makes an untrained network for observations (an int n: float32 [n]) and a number of actions."""

K = TypeVar("K", bound=Network)


def of_kind(network: Network, kind: type[K], algorithm: str) -> K:
    """The policy's network; BadInput if it is of another kind, which the algorithm cannot train."""
    if not isinstance(network, kind):
        raise BadInput(
            f"algorithm={algorithm}: cannot train the policy's network ({network.architecture}); begin with "
            "policy=scratch or a policy of the same algorithm"
        )
    return network


class Agent(HasParts):
    """A learning algorithm with its memory. The loop combines it with live play, a schedule, a log and checkpoints.

    An iteration of the loop is `learn`, then `advance`. Live play draws its actions from a copy of `network`
    (`experience.policy_snapshot`). Subclasses define `learn` and `parts`; other hooks do nothing by default.
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

    @property
    def parts(self) -> Mapping[str, Part]:
        return {"learner": self.learner}

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
        with self._log.timer.section("learning"):
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


class RunningScale:
    """Updates a new network's scaler with the statistics of all live play. A scaler that already has statistics stays
    fixed."""

    def __init__(self, network: LayeredNetwork) -> None:
        self._network = network
        self._statistics = None if network.scaler.fitted else RunningStatistics(network.observation_size)

    @contextmanager
    def learning_from(self, played: Sequences) -> Iterator[None]:
        """Context manager around an update on this live play. Its statistics are added before the first update, but
        after later ones.

        An untrained policy is nearly uniform at any scale, but learns little from unscaled observations. The ratios of
        later updates must start from the behaviour policy, and so from its scale.
        """
        first = not self._network.scaler.fitted
        if first:
            self._add(played)
        yield
        if not first:
            self._add(played)

    def get_state(self) -> dict[str, object]:
        return {} if self._statistics is None else self._statistics.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._statistics = None
        if state:
            self._statistics = RunningStatistics(self._network.observation_size)
            self._statistics.set_state(state)

    def _add(self, sequences: Sequences) -> None:
        """Add the observations to the running statistics, if kept, and update the scaler."""
        if self._statistics is not None:
            self._statistics.add(sequences.observations[:, :-1].reshape(sequences.actions.size, -1))
            assert isinstance(self._network.scaler, ObservationScaler)  # no other scaler can lack statistics
            self._statistics.put_into(self._network.scaler)


def state_of(part: Part) -> object:
    """The state of a network, an optimiser, a generator or anything with `get_state`; None of None."""
    if isinstance(part, nn.Module | Optimizer):
        return copy.deepcopy(part.state_dict())
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    return None if part is None else part.get_state()


def to_state(part: Part, state: Any) -> None:
    """Restore a part from a state returned by `state_of`."""
    if isinstance(part, nn.Module | Optimizer):
        part.load_state_dict(state)
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif part is not None and state is not None:
        part.set_state(state)

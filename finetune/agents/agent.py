"""The interface between the training loop and a learning agent."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch

from ...common.errors import BadInput
from ...common.settings import Settings
from ...envs.spec import ObservationSpec
from ...policies.networks import LayeredNetwork, Network, Values
from ..experience.sequences import Sequences
from ..metrics import Metrics
from ..schedules.phase import Phase, PhaseValues
from .learner import HasParts, Learner, LiveLearner, Part

N = TypeVar("N", bound=LayeredNetwork)

Makes = Callable[[ObservationSpec | int, int, torch.Generator], N]
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
        return None

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
        """Agent-specific values for a row of the log, in addition to those of `Metrics`."""
        return {}


class LiveAgent(Agent):
    """Learns once from each iteration's live play, which is then discarded.

    The rollouts may come from an earlier policy (`overlap`, actors); importance weights and ratios refer to that
    policy.
    """

    learner: LiveLearner[Network, Settings]

    def __init__(self, learner: LiveLearner[Network, Settings], metrics: Metrics) -> None:
        self.learner = learner
        self._metrics = metrics

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        assert live is not None  # `build` refuses phases without live play
        with self._metrics.timer.section("learning"):
            stats = self.learner.update(live, now)
        self._metrics.add_update(stats)


class FractionalCounter:
    """Accumulates fractional amounts and returns their whole part: a rate of 0.25 gives 1 every fourth time."""

    def __init__(self) -> None:
        self._owed = 0.0

    def take(self, amount: float) -> int:
        """Add an amount; return the whole part of the total and carry the rest over."""
        self._owed += amount
        whole = int(self._owed)
        self._owed -= whole
        return whole

    def get_state(self) -> float:
        return self._owed

    def set_state(self, state: float) -> None:
        self._owed = float(state)

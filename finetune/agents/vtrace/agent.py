"""V-trace as an agent: one update on each iteration's live play, which is then forgotten."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ....common.errors import BadInput
from ....datasets.reader import Dataset
from ....policies.networks import Network
from ....policies.policy import Policy
from ....policies.recurrent import RecurrentActorCritic
from ...experience.sequences import Sequences
from ...metrics import Diagnosis
from ...schedules.phase import Phase, PhaseValues
from ...settings import RunSettings
from ..base import AgentContext, MakeNetwork
from .learner import VtraceLearner
from .settings import VtraceLoopSettings, VtraceSettings


class Learner(Protocol):
    """Learns from unrolls: a `VtraceLearner`, or one that extends it."""

    @property
    def network(self) -> Network: ...

    def at_rate(self, decisions_per_second: float | None) -> None: ...

    def update(
        self,
        played: Sequences,
        *,
        learning_rate: float = 1.0,
        entropy: float = 1.0,
        critic_only: bool = False,
        teaching: float = 0.0,
    ) -> Diagnosis: ...

    def get_state(self) -> dict[str, Any]: ...

    def set_state(self, state: dict[str, Any]) -> None: ...


class VtraceAgent:
    """Learns from each iteration's live play. An earlier policy may have played it; the importance weights refer to
    that policy."""

    def __init__(self, learner: Learner, context: AgentContext) -> None:
        self.learner = learner
        self._metrics = context.metrics
        self._live: Sequences | None = None

    @property
    def network(self) -> Network:
        return self.learner.network

    @property
    def values(self) -> None:
        """None: the policy's network has the values."""

    def warm_up(self, play: Callable[[], Sequences]) -> None:
        """Do nothing: values are learned along with the policy."""

    def observe(self, live: Sequences | None, now: PhaseValues) -> None:
        assert live is not None  # `require_live_only` refuses phases without live play
        self._live = live

    def update(self, now: PhaseValues) -> None:
        assert self._live is not None
        with self._metrics.stopwatch.on("learning"):
            diagnosis = self.learner.update(
                self._live,
                learning_rate=now.learning_rate,
                entropy=now.entropy,
                critic_only=now.critic_only,
                teaching=now.teaching,
            )
        self._metrics.learned(diagnosis)

    def advance(self, decisions: int, planned: int) -> None:
        """Do nothing: no setting of V-trace follows the schedule besides those of its phases."""

    def begin_phase(self, phase: Phase) -> None:
        """Do nothing: there is no replay memory."""

    def enter(self, decisions_per_second: float | None) -> None:
        self.learner.at_rate(decisions_per_second)

    def interrupt(self) -> None:
        """Do nothing: each sequence stores its initial state."""

    def measurements(self) -> dict[str, float]:
        return {}

    def get_state(self) -> dict[str, Any]:
        return {"learner": self.learner.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        self.learner.set_state(state["learner"])


def new_recurrent(settings: VtraceSettings) -> MakeNetwork:
    """The untrained network of these settings."""
    return lambda size, actions, generator: RecurrentActorCritic(
        size, actions, settings.hidden, settings.memory, generator
    )


def require_live_only(phases: Sequence[Phase], algorithm: str) -> None:
    """Raise BadInput for phases with demonstrations, or without live play."""
    for phase in phases:
        if phase.uses_demonstrations or phase.imitates or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm={algorithm} learns from live play alone; leave out "
                "demonstrations, imitation and live"
            )


def build_vtrace(
    policy: Policy,
    dataset: Dataset | None,
    settings: RunSettings[VtraceSettings, VtraceLoopSettings],
    context: AgentContext,
) -> VtraceAgent:
    """Make the agent that learns the policy's network in place."""
    network = policy.network
    if not isinstance(network, RecurrentActorCritic):
        raise BadInput(
            f"algorithm=vtrace: the policy's network is {network.architecture}, expected "
            f"{RecurrentActorCritic.architecture}; start from policy=scratch or a policy that algorithm=vtrace made"
        )
    require_live_only(settings.phases, "vtrace")
    learner = VtraceLearner(network, settings.algorithm, context.device)
    learner.at_rate(context.decisions_per_second)
    return VtraceAgent(learner, context)

"""V-trace as an agent: one update on each iteration's live play, which is then forgotten."""

from collections.abc import Sequence

from ....common.errors import BadInput
from ....datasets.reader import Dataset
from ....policies.policy import Policy
from ....policies.recurrent import RecurrentActorCritic
from ...experience.sequences import Sequences
from ...schedules.phase import Phase, PhaseValues
from ...settings import RunSettings
from ..base import Agent, AgentContext, MakeNetwork
from ..learner import Learner
from .learner import VtraceLearner
from .settings import VtraceLoopSettings, VtraceSettings


class VtraceAgent(Agent):
    """Learns from each iteration's live play. An earlier policy may have played it; the importance weights refer to
    that policy."""

    def __init__(self, learner: Learner, context: AgentContext) -> None:
        self.learner = learner
        self._metrics = context.metrics

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        assert live is not None  # `require_live_only` refuses phases without live play
        with self._metrics.stopwatch.on("learning"):
            diagnosis = self.learner.update(live, now)
        self._metrics.learned(diagnosis)


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

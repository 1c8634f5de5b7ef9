"""V-trace agent: one update on each iteration's live play, which is then discarded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ....common.errors import BadInput
from ....policies.recurrent import RecurrentActorCritic
from ...schedules.phase import Phase
from ..agent import LiveAgent, MakeNetwork
from .learner import VtraceLearner
from .settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...run import Run


def new_network(settings: VtraceSettings) -> MakeNetwork:
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


def new_learner(
    network: RecurrentActorCritic, settings: VtraceSettings, seed: int, device: torch.device
) -> VtraceLearner:
    """Make a standalone learner, which uses no randomness."""
    return VtraceLearner(network, settings, device)


def build(run: "Run[VtraceSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place."""
    network = run.policy.network
    if not isinstance(network, RecurrentActorCritic):
        raise BadInput(
            f"algorithm=vtrace: the policy's network is {network.architecture}, expected "
            f"{RecurrentActorCritic.architecture}; start from policy=scratch or a policy that algorithm=vtrace made"
        )
    require_live_only(run.settings.phases, "vtrace")
    return LiveAgent(VtraceLearner(network, run.algorithm, run.device), run.log.metrics)

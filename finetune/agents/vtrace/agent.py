"""V-trace agent: one update on each iteration's live play, which is then discarded."""

from typing import TYPE_CHECKING

import torch

from ....common.errors import BadInput
from ....policies.recurrent import RecurrentActorCritic
from ..agent import K, LiveAgent, Makes, of_kind
from .learner import VtraceLearner
from .settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...run import Run


def new_network(settings: VtraceSettings) -> Makes[RecurrentActorCritic]:
    """The untrained network of these settings."""
    return lambda size, actions, generator: RecurrentActorCritic(
        size, actions, settings.hidden, settings.memory, generator
    )


def network_of(run: "Run[VtraceSettings, VtraceLoopSettings]", kind: type[K], algorithm: str) -> K:
    """The policy's network; BadInput if it is of another kind, or for phases with demonstrations or without live
    play."""
    for phase in run.settings.phases:
        if phase.uses_demonstrations or phase.imitates or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm={algorithm} learns from live play alone; leave out "
                "demonstrations, imitation and live"
            )
    return of_kind(run.policy.network, kind, algorithm)


def new_learner(
    network: RecurrentActorCritic, settings: VtraceSettings, seed: int, device: torch.device
) -> VtraceLearner:
    """Make a standalone learner, which uses no randomness."""
    return VtraceLearner(network, settings, device)


def build(run: "Run[VtraceSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place."""
    network = network_of(run, RecurrentActorCritic, "vtrace")
    return LiveAgent(VtraceLearner(network, run.algorithm, run.device), run.log.metrics)

"""V-trace agent: one update on each iteration's live play, which is then discarded."""

from typing import TYPE_CHECKING

import torch

from ....common.errors import BadInput
from ....policies.recurrent import RecurrentActorCritic
from ..agent import LiveAgent, Makes
from .distillation import N, NewLearner, distilled
from .learner import Objectives, S, VtraceLearner, actor_critic
from .settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...run import Run


def new_network(settings: VtraceSettings) -> Makes[RecurrentActorCritic]:
    """The untrained network of these settings."""
    return lambda size, actions, generator: RecurrentActorCritic(
        size, actions, settings.hidden, settings.memory, generator
    )


def network_of(
    run: "Run[S, VtraceLoopSettings]",
    kind: type[N],
    algorithm: str,
    make: Makes[N],
    begin: NewLearner[N, S],
) -> N:
    """The policy's network, distilled if it is of another kind; BadInput for phases with demonstrations or without live
    play."""
    for phase in run.settings.phases:
        if phase.uses_demonstrations or phase.imitates or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm={algorithm} learns from live play alone; leave out "
                "demonstrations, imitation and live"
            )
    network = run.policy.network
    return network if isinstance(network, kind) else distilled(run, make, begin)


def new_learner(
    network: RecurrentActorCritic,
    settings: VtraceSettings,
    seed: int,
    device: torch.device,
    objective: Objectives = actor_critic,
) -> VtraceLearner:
    """Make a standalone learner, which uses no randomness."""
    return VtraceLearner(network, settings, device, objective)


def build(run: "Run[VtraceSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place. One of another kind is distilled first."""
    network = network_of(run, RecurrentActorCritic, "vtrace", new_network(run.algorithm), new_learner)
    return LiveAgent(VtraceLearner(network, run.algorithm, run.device), run.log.metrics)

"""V-trace agent: one update on each iteration's live play, which is then discarded."""

from typing import TYPE_CHECKING, TypeVar

import torch

from ....common.errors import BadInput
from ....policies.networks import Network
from ....policies.recurrent import RecurrentActorCritic
from ..agent import LiveAgent, MakeNetwork
from .learner import VtraceLearner
from .settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...run import Run

N = TypeVar("N", bound=Network)


def new_network(settings: VtraceSettings) -> MakeNetwork:
    """The untrained network of these settings."""
    return lambda size, actions, generator: RecurrentActorCritic(
        size, actions, settings.hidden, settings.memory, generator
    )


def network_of(run: "Run[VtraceSettings, VtraceLoopSettings]", kind: type[N], algorithm: str) -> N:
    """The policy's network; BadInput for another kind, and for phases with demonstrations or without live play."""
    network = run.policy.network
    if not isinstance(network, kind):
        raise BadInput(
            f"algorithm={algorithm}: the policy's network is {network.architecture}, expected {kind.architecture}; "
            f"start from policy=scratch or a policy that algorithm={algorithm} made, or let algorithm=vtrace be taught "
            "(policy=scratch teacher=FILE schedule=vtrace-kickstarted)"
        )
    for phase in run.settings.phases:
        if phase.uses_demonstrations or phase.imitates or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm={algorithm} learns from live play alone; leave out "
                "demonstrations, imitation and live"
            )
    return network


def new_learner(
    network: RecurrentActorCritic, settings: VtraceSettings, seed: int, device: torch.device
) -> VtraceLearner:
    """Make a standalone learner, which uses no randomness."""
    return VtraceLearner(network, settings, device)


def build(run: "Run[VtraceSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place."""
    network = network_of(run, RecurrentActorCritic, "vtrace")
    return LiveAgent(VtraceLearner(network, run.algorithm, run.device), run.log.metrics)

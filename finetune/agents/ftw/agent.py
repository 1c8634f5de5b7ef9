"""The two-timescale agent: a V-trace agent with another learner."""

from ....common.errors import BadInput
from ....datasets.reader import Dataset
from ....policies.policy import Policy
from ....policies.two_timescale import TwoTimescaleActorCritic
from ...settings import RunSettings
from ..base import AgentContext, MakeNetwork
from ..vtrace.agent import VtraceAgent, require_live_only
from .learner import FtwLearner
from .settings import FtwLoopSettings, FtwSettings


def new_two_timescale(settings: FtwSettings) -> MakeNetwork:
    """The untrained network of these settings."""
    return lambda observation, actions, generator: TwoTimescaleActorCritic(
        observation, actions, settings.hidden, settings.memory, settings.latent, settings.period, generator
    )


def build_ftw(
    policy: Policy,
    dataset: Dataset | None,
    settings: RunSettings[FtwSettings, FtwLoopSettings],
    context: AgentContext,
) -> VtraceAgent:
    """Make the agent that learns the policy's network in place."""
    network = policy.network
    if not isinstance(network, TwoTimescaleActorCritic):
        raise BadInput(
            f"algorithm=ftw: the policy's network is {network.architecture}, expected "
            f"{TwoTimescaleActorCritic.architecture}; start from policy=scratch or a policy that algorithm=ftw made"
        )
    require_live_only(settings.phases, "ftw")
    learner = FtwLearner(network, settings.algorithm, context.device, context.generator)
    learner.at_rate(context.decisions_per_second)
    return VtraceAgent(learner, context)

"""PPO as an agent: one update on each iteration's live play, which is then forgotten."""

import copy

import torch

from ....common.errors import BadInput
from ....datasets.reader import Dataset
from ....policies.networks import Actor, ActorCritic, ValuedActor, Values
from ....policies.policy import Policy
from ....pretrain.rows import rows_of
from ...experience.sequences import Sequences
from ...schedules.environments import require_same_play
from ...schedules.phase import PhaseValues
from ...settings import RunSettings
from ..base import Agent, AgentContext, MakeNetwork
from .learner import PpoLearner
from .settings import PpoLoopSettings, PpoSettings


class PpoAgent(Agent):
    """Learns from each iteration's live play; in phases with imitation, also from demonstrated decisions.

    With `overlap`, an iteration is played by the policy before the last update. The ratios refer to that policy, so
    clipping stays valid.
    """

    def __init__(self, learner: PpoLearner, context: AgentContext) -> None:
        self.learner: PpoLearner = learner
        self._metrics = context.metrics

    @property
    def values(self) -> Values | None:
        return self.learner.values

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        assert live is not None  # `build_ppo` refuses phases without live play
        with self._metrics.stopwatch.on("learning"):
            diagnosis = self.learner.update(self.learner.settings.learned(live), now)
        self._metrics.learned(diagnosis)


def new_actor(settings: PpoSettings) -> MakeNetwork:
    """The untrained network of these settings."""
    kind = ValuedActor if settings.shared else Actor
    return lambda observation, actions, generator: kind(
        observation, actions, settings.hidden, generator, settings.convolutions
    )


def build_ppo(
    policy: Policy,
    dataset: Dataset | None,
    settings: RunSettings[PpoSettings, PpoLoopSettings],
    context: AgentContext,
) -> PpoAgent:
    """Make the agent that learns the policy's network, in place, from the policy's values, or untrained ones.

    With `shared`, an `ActorCritic` without values becomes a `ValuedActor` first.
    """
    network = policy.network
    if not isinstance(network, Actor | ActorCritic):
        raise BadInput(
            f"algorithm=ppo: the policy's network is {network.architecture}, expected {Actor.architecture}, "
            f"{ValuedActor.architecture} or {ActorCritic.architecture}; start from policy=scratch or a policy of "
            "qwop-pretrain"
        )
    for phase in settings.phases:
        if phase.uses_demonstrations or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm=ppo has no memory; leave out demonstrations and live, "
                "or choose algorithm=acer (imitation needs no memory)"
            )
    demonstrated = None
    if any(phase.imitates for phase in settings.phases):
        if dataset is None:
            raise BadInput("imitation: the run has no demonstrations; name them (demonstrations=data/kurodo)")
        require_same_play(settings.phases, policy.environment, dataset)
        demonstrated = rows_of(dataset)
    values, chosen = copy.deepcopy(policy.values), settings.algorithm
    generator = torch.Generator().manual_seed(context.seed)
    if chosen.shared and not isinstance(network, ValuedActor):
        if values is not None or not isinstance(network, ActorCritic):
            raise BadInput(
                f"algorithm.shared=true: the policy's network is {network.architecture}"
                f"{'' if values is None else ' with values of its own'}, which cannot take a head for V(s) on its own "
                "layers; start from policy=scratch or a policy of qwop-pretrain, or set algorithm.shared=false"
            )
        network = ValuedActor.from_actor_critic(network, generator)
    if values is None and not isinstance(network, ValuedActor):
        values = Values(network.observation, chosen.hidden, generator, chosen.convolutions)
    learner = PpoLearner(network, values, settings.algorithm, context.device, context.generator, demonstrated)
    learner.at_rate(context.decisions_per_second)
    return PpoAgent(learner, context)

"""A PPO trainer put together from its parts."""

import torch

from ....common.errors import BadInput
from ....datasets.reader import Dataset
from ....policies.networks import Actor, ActorCritic
from ....policies.policy import Policy
from ...loop import LiveSettings
from ...start import MakeNetwork
from ..acer.assembly import Outside, RunSettings, loop_arguments
from .learner import PpoLearner, PpoSettings
from .training import OnPolicyTrainer


def new_actor(settings: PpoSettings) -> MakeNetwork:
    """The network that a run from nothing starts with."""
    return lambda size, actions, generator: Actor(size, actions, settings.hidden, generator)


def build_ppo(
    policy: Policy, dataset: Dataset | None, settings: RunSettings[PpoSettings, LiveSettings], outside: Outside
) -> OnPolicyTrainer:
    """A trainer that learns the policy's network in place; its values begin knowing nothing."""
    network = policy.network
    if not isinstance(network, Actor | ActorCritic):
        raise BadInput(
            f"algorithm=ppo: the policy's network is {network.architecture}, expected {Actor.architecture} or "
            f"{ActorCritic.architecture}; start from policy=scratch or a policy of qwop-pretrain"
        )
    for phase in settings.phases:
        if phase.uses_demonstrations or phase.imitation.largest or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm=ppo learns from live play alone; leave demonstrations, "
                "imitation and live away, or take algorithm=acer"
            )
    arguments = loop_arguments(policy, settings, outside)
    generator = torch.Generator().manual_seed(settings.seed)
    learner = PpoLearner(network, settings.algorithm, outside.device, generator)
    learner.at_rate(arguments["environments"].rates[arguments["schedule"].index])
    return OnPolicyTrainer(learner=learner, settings=settings.loop, **arguments)

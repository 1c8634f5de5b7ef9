"""A trainer of prioritised double DQN put together from its parts."""

import numpy as np
import torch

from ....common.errors import BadInput
from ....datasets.reader import Dataset
from ....policies.networks import DuelingQ
from ....policies.policy import Policy
from ...experience.transitions import NStep, Transitions, TransitionStream
from ...replay.demonstrations import Demonstrations
from ...replay.prioritised_memory import PrioritisedMemory, PrioritySettings
from ...schedules.environments import phase_environments
from ...schedules.schedule import decisions_per_second
from ...start import MakeNetwork
from ..acer.assembly import Outside, RunSettings, loop_arguments, require_same
from .learner import DdqnLearner, DdqnSettings
from .training import DdqnLoopSettings, DdqnTrainer


def new_dueling_q(settings: DdqnSettings) -> MakeNetwork:
    """What makes an untrained network of these settings."""

    def make(size: int, actions: int, generator: torch.Generator) -> DuelingQ:
        return DuelingQ(size, actions, settings.hidden, generator, max(settings.quantiles, 1))

    return make


def build_ddqn(
    policy: Policy, dataset: Dataset | None, settings: RunSettings[DdqnSettings, DdqnLoopSettings], outside: Outside
) -> DdqnTrainer:
    """A trainer that learns the policy's network, which comes as it is, in place."""
    network, loop, algorithm = policy.network, settings.loop, settings.algorithm
    if not isinstance(network, DuelingQ):
        raise BadInput(
            f"algorithm=ddqn: the policy is an {network.architecture}, whose weights say nothing about Q values; "
            "record its games (qwop-record source=policy) and give them as demonstrations with policy=scratch"
        )
    for phase in settings.phases:
        if phase.critic_only:
            raise BadInput(
                f"schedule.phases.{phase.name}.critic_only: algorithm=ddqn has no policy apart from its values"
            )
    brought = loop.num_envs * (loop.steps + algorithm.n_steps)
    most = brought + round(loop.num_envs * loop.steps * max(p.demonstrations.largest for p in settings.phases))
    if loop.capacity < max(most, loop.start):
        raise BadInput(
            f"loop.capacity={loop.capacity}: fewer transitions than loop.start={loop.start} or than one iteration can "
            f"bring ({most})"
        )
    stream = None
    using = [i for i, phase in enumerate(settings.phases) if phase.uses_demonstrations]
    if dataset is not None and using:
        require_same(settings.phases, policy, dataset)
        spec = phase_environments(policy.environment, settings.phases)[using[0]]
        stream = TransitionStream(demonstrated(dataset, algorithm.at_rate(decisions_per_second(spec))))
    arguments = loop_arguments(policy, settings, outside)
    priorities = PrioritySettings(algorithm.alpha, algorithm.priority_epsilon, algorithm.demonstration_bonus)
    return DdqnTrainer(
        learner=DdqnLearner(network, algorithm, outside.device),
        memory=PrioritisedMemory(loop.capacity, policy.observation, priorities),
        demonstrations=stream,
        algorithm=algorithm,
        rate=arguments["environments"].rates[arguments["schedule"].index],
        settings=loop,
        **arguments,
    )


def demonstrated(dataset: Dataset, settings: DdqnSettings) -> Transitions:
    """Every decision of the dataset as a transition, in recorded order; γ is that of the settings."""
    decisions = int(np.sum([len(episode) for episode in dataset]))
    whole = Demonstrations(dataset, streams=1, steps=decisions).next(1)
    return NStep(1, settings.n_steps, settings.gamma).push(whole)

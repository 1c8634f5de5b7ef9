"""A trainer put together from its parts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import torch

from ....common.errors import BadInput
from ....datasets.reader import Dataset
from ....policies.networks import ActorCritic
from ....policies.policy import Policy
from ...experience.collector import Collector
from ...loop import LiveSettings, LoopArguments, Progress
from ...replay.behaviour import Behaviour, BehaviourSettings
from ...replay.demonstrations import Demonstrations
from ...replay.sequence_memory import SequenceMemory
from ...reports.run_log import RunLog
from ...schedules.environments import PhaseEnvironments, phase_environments
from ...schedules.schedule import PUBLISHED_RATE, Phase, Schedule
from ...schedules.stability import ReturnMonitor, StabilitySettings
from .learner import AcerLearner, AcerSettings
from .training import LoopSettings, Trainer

A = TypeVar("A")
L = TypeVar("L", bound=LiveSettings)


@dataclass(frozen=True)
class RunSettings(Generic[A, L]):
    """Everything that decides a run besides what it starts from. max_idle_frames: of each game's start, in QWOP."""

    phases: tuple[Phase, ...]
    algorithm: A
    loop: L
    scale: float = 1.0
    behaviour: BehaviourSettings = field(default_factory=BehaviourSettings)
    stability: StabilitySettings = field(default_factory=StabilitySettings)
    max_idle_frames: int = 30
    seed: int = 0


@dataclass(frozen=True)
class Outside:
    """What a run has to do with the world: its device, the folder of its checkpoints, its log, and who hears of it."""

    device: torch.device
    folder: Path
    log: RunLog
    phase_over: Callable[[int, Phase], None] = lambda index, phase: None
    checkpoint_taken: Callable[[], None] = lambda: None
    progress: Callable[[Progress], None] = lambda progress: None


def loop_arguments(policy: Policy, settings: RunSettings[A, L], outside: Outside) -> LoopArguments:
    """What every loop is made of. The seed decides the environments, the actions and what is sampled."""
    loop = settings.loop
    environments = PhaseEnvironments(
        phase_environments(policy.environment, settings.phases),
        loop.num_envs,
        settings.max_idle_frames,
        policy.observation,
        policy.actions,
        [phase.restarts for phase in settings.phases],
    )
    rates = [rate or PUBLISHED_RATE for rate in environments.rates]
    schedule = Schedule(settings.phases, rates, settings.scale, ReturnMonitor(settings.stability))
    for_play, for_loop = (np.random.default_rng(seed) for seed in np.random.SeedSequence(settings.seed).spawn(2))
    return LoopArguments(
        schedule=schedule,
        collector=Collector(environments.make(schedule.index), loop.steps, for_play),
        generator=for_loop,
        log=outside.log,
        folder=outside.folder,
        environments=environments,
        phase_over=outside.phase_over,
        checkpoint_taken=outside.checkpoint_taken,
        progress=outside.progress,
    )


def build_acer(
    policy: Policy, dataset: Dataset | None, settings: RunSettings[AcerSettings, LoopSettings], outside: Outside
) -> Trainer:
    """A trainer that learns the policy's network, which comes as it is, in place."""
    network, loop = policy.network, settings.loop
    if not isinstance(network, ActorCritic):
        raise BadInput(
            f"algorithm=acer: the policy's network is {network.architecture}, expected {ActorCritic.architecture}; "
            "give a policy of qwop-pretrain or of acer itself"
        )
    most = max(phase.demonstrations.largest for phase in settings.phases)
    if loop.capacity < loop.num_envs * (1 + most):
        raise BadInput(
            f"loop.capacity={loop.capacity}: fewer sequences than one iteration brings ({loop.num_envs} live ones and "
            f"{loop.num_envs * most:g} of demonstrations)"
        )
    behaviour = Behaviour(settings.behaviour)
    demonstrations = None
    if dataset is not None and any(phase.uses_demonstrations for phase in settings.phases):
        require_same(settings.phases, policy, dataset)
        demonstrations = Demonstrations(dataset, streams=loop.num_envs, steps=loop.steps)
        behaviour.prepare(demonstrations, policy.probabilities, str(dataset.folder))
    arguments = loop_arguments(policy, settings, outside)
    rate = arguments["environments"].rates[arguments["schedule"].index]
    learner = AcerLearner(network, settings.algorithm, outside.device)
    learner.at_rate(rate)
    return Trainer(
        learner=learner,
        memory=SequenceMemory(loop.capacity, loop.steps, policy.observation, policy.actions),
        demonstrations=demonstrations,
        behaviour=behaviour,
        settings=loop,
        **arguments,
    )


def require_same(phases: tuple[Phase, ...], policy: Policy, dataset: Dataset) -> None:
    """Demonstrations are of the environment of every phase that uses them."""
    for phase, spec in zip(phases, phase_environments(policy.environment, phases), strict=True):
        if phase.uses_demonstrations and spec != dataset.info.environment:
            raise BadInput(
                f"schedule.phases.{phase.name}: uses demonstrations of {dataset.info.environment} in {spec}; leave "
                "demonstrations or environment away"
            )

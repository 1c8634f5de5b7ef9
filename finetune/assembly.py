"""A trainer put together from its parts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from ..conf.errors import BadInput
from ..datasets.reader import Dataset
from ..envs.vector import make_vector
from ..policies.policy import Policy
from .behaviour import Behaviour, BehaviourSettings
from .collector import Collector
from .demonstrations import Demonstrations
from .learner import AcerLearner, AcerSettings
from .replay import SequenceMemory
from .runlog import RunLog
from .schedule import PUBLISHED_RATE, Phase, Schedule, decisions_per_second
from .stability import ReturnMonitor, StabilitySettings
from .training import LoopSettings, Progress, Trainer


@dataclass(frozen=True)
class RunSettings:
    """Everything that decides a run besides what it starts from. max_idle_frames: of each game's start, in QWOP."""

    phases: tuple[Phase, ...]
    scale: float = 1.0
    algorithm: AcerSettings = field(default_factory=AcerSettings)
    loop: LoopSettings = field(default_factory=LoopSettings)
    behaviour: BehaviourSettings = field(default_factory=BehaviourSettings)
    stability: StabilitySettings = field(default_factory=StabilitySettings)
    max_idle_frames: int = 30
    seed: int = 0


def build_trainer(
    policy: Policy,
    dataset: Dataset | None,
    settings: RunSettings,
    *,
    device: torch.device,
    folder: Path,
    log: RunLog,
    phase_over: Callable[[int, Phase], None] = lambda index, phase: None,
    checkpoint_taken: Callable[[], None] = lambda: None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> Trainer:
    """A trainer that learns the policy's network in place; `folder` gets its checkpoints.

    The seed decides the environments, the actions, what is sampled, and how often; the network comes as it is.
    """
    loop, rate = settings.loop, decisions_per_second(policy.environment)
    most = max(phase.demonstrations.largest for phase in settings.phases)
    if loop.capacity < loop.num_envs * (1 + most):
        raise BadInput(
            f"loop.capacity={loop.capacity}: fewer sequences than one iteration brings ({loop.num_envs} live ones and "
            f"{loop.num_envs * most:g} of demonstrations)"
        )
    for_play, for_loop = (np.random.default_rng(seed) for seed in np.random.SeedSequence(settings.seed).spawn(2))
    more = {"max_idle_frames": settings.max_idle_frames} if rate is not None else {}
    behaviour = Behaviour(settings.behaviour)
    demonstrations = None
    if dataset is not None and any(phase.uses_demonstrations for phase in settings.phases):
        demonstrations = Demonstrations(dataset, streams=loop.num_envs, steps=loop.steps)
        behaviour.prepare(demonstrations, policy.probabilities, str(dataset.folder))
    return Trainer(
        learner=AcerLearner(policy.network, settings.algorithm.at_rate(rate), device),
        memory=SequenceMemory(loop.capacity, loop.steps, policy.observation_shape, policy.actions),
        demonstrations=demonstrations,
        behaviour=behaviour,
        schedule=Schedule(settings.phases, rate or PUBLISHED_RATE, settings.scale, ReturnMonitor(settings.stability)),
        collector=Collector(make_vector(policy.environment, loop.num_envs, **more), loop.steps, for_play),
        settings=loop,
        generator=for_loop,
        log=log,
        folder=folder,
        phase_over=phase_over,
        checkpoint_taken=checkpoint_taken,
        progress=progress,
    )

"""A training run, assembled from its parts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..common.errors import BadInput
from ..datasets.reader import Dataset
from ..policies.policy import Policy
from .agents.base import AgentContext
from .agents.registry import ALGORITHMS, Algorithm
from .distributed.collector import ActorsCollector, PhaseNumbers
from .distributed.ray_actors import RayActors
from .distributed.settings import RaySettings
from .experience.collector import Collector
from .loop import Environments, LivePlay, Loop, Progress
from .reports.run_log import RunLog
from .schedules.environments import PhaseEnvironments, phase_environments
from .schedules.phase import Phase
from .schedules.schedule import PUBLISHED_RATE, Schedule
from .schedules.stability import ReturnMonitor
from .settings import RunSettings


@dataclass(frozen=True)
class RunContext:
    """Device, checkpoint folder, log and callbacks of a run.

    on_evaluation: called with the number and the phase when an evaluation within it is due. on_phase_end: called with
    those of a phase that has just ended. on_checkpoint: called after each checkpoint. on_progress: called after each
    iteration.
    """

    device: torch.device
    folder: Path
    log: RunLog
    on_evaluation: Callable[[int, Phase], None] = lambda index, phase: None
    on_phase_end: Callable[[int, Phase], None] = lambda index, phase: None
    on_checkpoint: Callable[[], None] = lambda: None
    on_progress: Callable[[Progress], None] = lambda progress: None


def build_run(
    algorithm: Algorithm,
    policy: Policy,
    dataset: Dataset | None,
    settings: RunSettings[Any, Any],
    context: RunContext,
    teacher: tuple[str, Policy] | None = None,
) -> Loop:
    """Compose the loop that trains the policy's network in place. The seed decides everything that is random.

    teacher: a policy, and its name, that phases with teaching imitate.
    """
    _require_teacher(algorithm, settings, teacher)
    loop = settings.loop
    environments = PhaseEnvironments(
        phase_environments(policy.environment, settings.phases),
        loop.num_envs,
        settings.max_idle_frames,
        policy.observation,
        policy.actions,
        [phase.restarts for phase in settings.phases],
        dataset,
        [teacher if phase.is_taught else None for phase in settings.phases],
    )
    rates = [rate or PUBLISHED_RATE for rate in environments.rates]
    schedule = Schedule(settings.phases, rates, settings.scale, ReturnMonitor(settings.stability))
    for_play, for_agent = (np.random.default_rng(seed) for seed in np.random.SeedSequence(settings.seed).spawn(2))
    agent = algorithm.build(
        policy,
        dataset,
        settings,
        AgentContext(context.device, context.log.metrics, for_agent, settings.seed, environments.rates[schedule.index]),
    )
    collector, entered = _live_play(environments, schedule.index, settings, algorithm.asynchronous, for_play)
    return Loop(
        agent,
        collector,
        schedule,
        entered,
        loop,
        context.log,
        context.folder,
        on_evaluation=context.on_evaluation,
        on_phase_end=context.on_phase_end,
        on_checkpoint=context.on_checkpoint,
        on_progress=context.on_progress,
    )


def _require_teacher(algorithm: Algorithm, settings: RunSettings[Any, Any], teacher: tuple[str, Policy] | None) -> None:
    taught = [phase.name for phase in settings.phases if phase.is_taught]
    if taught and not algorithm.taught:
        able = ", ".join(name for name, one in ALGORITHMS.items() if one.taught)
        raise BadInput(f"schedule.phases.{taught[0]}.teaching: the algorithm cannot imitate a teacher; choose {able}")
    if taught and teacher is None:
        raise BadInput(f"schedule.phases.{taught[0]}.teaching: the run has no teacher; name one (teacher=champion)")
    if teacher is not None and not taught:
        raise BadInput(
            f"teacher={teacher[0]}: no phase imitates it; give one a weight (schedule.phases.NAME.teaching=[1,0]), or "
            "choose schedule=taught"
        )


def _live_play(
    environments: PhaseEnvironments,
    phase: int,
    settings: RunSettings[Any, Any],
    asynchronous: bool,
    generator: np.random.Generator,
) -> tuple[LivePlay, Environments]:
    """Live play, in this process or by actors, and the environments that it enters."""
    loop, distributed = settings.loop, settings.distributed
    if not isinstance(distributed, RaySettings):
        return Collector(environments.make(phase), loop.steps, generator), environments
    count = distributed.actors
    if not asynchronous and loop.num_envs % count:
        raise BadInput(
            f"loop.num_envs={loop.num_envs}: {count} actors share them (distributed.actors); give a multiple"
        )
    games = loop.num_envs if asynchronous else loop.num_envs // count
    actors = RayActors(count, distributed.address, environments.with_num_envs(games), loop.steps)
    play = ActorsCollector(actors, count, phase, generator, asynchronous=asynchronous)
    return play, PhaseNumbers(environments)

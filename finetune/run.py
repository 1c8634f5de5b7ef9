"""A training run: its parts, and the loop built from them."""

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar, cast

import numpy as np
import torch

from ..common.errors import BadInput
from ..datasets.reader import Dataset
from ..policies.devices import undisturbed
from ..policies.policy import Policy
from .agents.agent import Agent
from .agents.registry import ALGORITHMS
from .agents.settings import Discounted, LiveSettings
from .distributed.collector import ActorsCollector, PhaseCollector
from .distributed.ray_actors import RayActors, require_ray
from .distributed.settings import RaySettings
from .loop import LivePlay, Loop, Observer
from .reports.run_log import RunLog
from .schedules.environments import PhaseEnvironments
from .schedules.phase import Phase
from .schedules.schedule import Schedule
from .settings import FinetuneSettings

A = TypeVar("A", bound=Discounted, covariant=True)
L = TypeVar("L", bound=LiveSettings, covariant=True)


@dataclass(frozen=True)
class Run(Generic[A, L]):
    """All parts of a run. A is the type of the algorithm's settings, L that of its loop's.

    policy: trained in place. teacher: the policy that phases with kickstarting imitate, and its name. folder: for
    checkpoints. stage: number among the `stages` of a schedule. begun_at: decisions of the earlier stages. whole: the
    phases of all stages, if there are several. The seed determines everything random.
    """

    settings: FinetuneSettings
    policy: Policy
    demonstrations: Dataset | None
    device: torch.device
    log: RunLog
    folder: Path
    teacher: tuple[str, Policy] | None = None
    observer: Observer = Observer()
    stage: int = 0
    begun_at: int = 0
    whole: tuple[Phase, ...] | None = None

    @property
    def algorithm(self) -> A:
        return cast(A, self.settings.algorithm)

    @property
    def loop(self) -> L:
        return cast(L, self.settings.loop)

    @cached_property
    def environments(self) -> PhaseEnvironments:
        return PhaseEnvironments(
            self.settings.phases,
            self.policy,
            self.loop.num_envs,
            self.settings.max_idle_frames,
            self.demonstrations,
            self.teacher,
        )

    @cached_property
    def gammas(self) -> tuple[float, ...]:
        """The discount of each phase, at the decision rate of its environment."""
        return tuple(map(self.algorithm.gamma_at, self.environments.rates))

    @cached_property
    def shown(self) -> dict[str, object] | None:
        """Number and digest of the demonstrations, by which a resumed run knows them again; None without any."""
        shown = self.demonstrations
        return None if shown is None else {"games": len(shown), "sha256": shown.digest()}

    @cached_property
    def schedule(self) -> Schedule:
        lengths = self.settings.schedule
        return Schedule(
            lengths.phases, self.environments.rates, self.gammas, lengths.scale, lengths.decisions, self.whole
        )

    @property
    def for_play(self) -> np.random.Generator:
        """Generator of actions and of the games' seeds."""
        return self._generators[0]

    @property
    def for_agent(self) -> np.random.Generator:
        """Generator of samples and of their shuffling."""
        return self._generators[1]

    @cached_property
    def _generators(self) -> list[np.random.Generator]:
        seeds = np.random.SeedSequence(self.settings.seed).spawn(2 * self.stage + 2)
        return [np.random.default_rng(seed) for seed in seeds[-2:]]


@undisturbed
def build(run: Run[Discounted, LiveSettings]) -> Loop:
    """Build the loop of a run; BadInput if its parts do not fit together."""
    return Loop(run, _agent(run), _live_play(run))


@undisturbed
def rehearse(run: Run[Discounted, LiveSettings]) -> None:
    """Build the agent of a copy of the policy; BadInput as of `build`."""
    _agent(replace(run, policy=copy.deepcopy(run.policy), observer=Observer()))


def _agent(run: Run[Discounted, LiveSettings]) -> Agent:
    _require_teacher(run)
    _require_actors(run)
    assert run.schedule.planned  # computed before the agent is built, so that errors in the schedule come first
    return run.settings.chosen_algorithm.build(run)


def _require_teacher(run: Run[Discounted, LiveSettings]) -> None:
    taught = [phase.name for phase in run.settings.phases if phase.kickstarts]
    if taught and not run.settings.chosen_algorithm.kickstarts:
        able = ", ".join(name for name, one in ALGORITHMS.items() if one.kickstarts)
        raise BadInput(
            f"schedule.phases.{taught[0]}.kickstarting: the algorithm cannot imitate a teacher; choose {able}"
        )
    if taught and run.teacher is None:
        raise BadInput(f"schedule.phases.{taught[0]}.kickstarting: the run has no teacher; name one (teacher=champion)")
    if run.teacher is not None and not taught:
        raise BadInput(
            f"teacher={run.teacher[0]}: no phase imitates it; give one a weight "
            "(schedule.phases.NAME.kickstarting=[1,0]), or choose schedule=pictures"
        )


def _require_actors(run: Run[Discounted, LiveSettings]) -> None:
    distributed, games = run.settings.distributed, run.loop.num_envs
    if not isinstance(distributed, RaySettings):
        return
    if not run.settings.chosen_algorithm.asynchronous and games % distributed.actors:
        raise BadInput(
            f"loop.num_envs={games}: {distributed.actors} actors share them (distributed.actors); give a multiple"
        )
    require_ray()


def _live_play(run: Run[Discounted, LiveSettings]) -> LivePlay:
    """Make the collector of live play: in this process or with actors."""
    loop, distributed, phase = run.loop, run.settings.distributed, run.schedule.index
    if not isinstance(distributed, RaySettings):
        return PhaseCollector(run.environments, phase, loop.steps, run.for_play)
    count, asynchronous = distributed.actors, run.settings.chosen_algorithm.asynchronous
    games = loop.num_envs if asynchronous else loop.num_envs // count
    actors = RayActors(count, distributed.address, run.environments.with_num_envs(games), loop.steps)
    return ActorsCollector(actors, count, phase, run.for_play, asynchronous=asynchronous)

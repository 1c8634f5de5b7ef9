"""A training run: what it is made of, its stages, and its state in a folder."""

import copy
from collections.abc import Callable, Iterator
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
from .distributed.actors import ActorsCollector, PhaseCollector, RayEngine, require_ray
from .evaluation import Evaluations
from .figures import START_POLICY
from .log import Progress, RunLog
from .schedules.environments import PhaseEnvironments
from .schedules.phase import Schedule
from .settings import FinetuneSettings, RaySettings

A = TypeVar("A", bound=Discounted, covariant=True)
L = TypeVar("L", bound=LiveSettings, covariant=True)

POLICY, START, TEACHER = "policy.safetensors", START_POLICY, "teacher.safetensors"
"""A run's policy as it is, written after each checkpoint, its initial policy and its teacher, in its folder."""

Watch = Callable[[Progress], bool | None]
"""Called after each iteration; False ends the run."""

LivePlay = PhaseCollector | ActorsCollector
"""Source of live play: games in this process, or actors in other processes."""


@dataclass(frozen=True)
class Run(Generic[A, L]):
    """All parts of a run. A is the type of the algorithm's settings, L that of its loop's.

    whole: the settings, with the phases of all stages; a stage is consecutive phases with the same algorithm. policy:
    the one that the stage begins with, trained in place. out: folder. teacher: the policy that phases with kickstarting
    imitate, and its name.
    stage: number of the current stage. begun_at: decisions of the earlier ones. The seed determines everything random.
    """

    whole: FinetuneSettings
    policy: Policy
    demonstrations: Dataset | None
    device: torch.device
    log: RunLog
    out: Path
    evaluations: Evaluations
    teacher: tuple[str, Policy] | None = None
    watch: Watch | None = None
    stage: int = 0
    begun_at: int = 0

    @cached_property
    def settings(self) -> FinetuneSettings:
        """The settings of the stage: its algorithm and loop; the phases of other stages have no length."""
        return self.whole.stages()[self.stage]

    @property
    def algorithm(self) -> A:
        return cast(A, self.settings.algorithm)

    @property
    def loop(self) -> L:
        return cast(L, self.settings.loop)

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.out / "checkpoints"

    @cached_property
    def environments(self) -> PhaseEnvironments:
        """The games of each phase, in this process or in one of the actors that share them."""
        settings, games = self.settings, self.loop.num_envs
        if isinstance(settings.distributed, RaySettings) and not settings.chosen_algorithm.asynchronous:
            games //= settings.distributed.actors
        idle = settings.max_idle_frames
        return PhaseEnvironments(settings.phases, self.policy, games, idle, self.demonstrations, self.teacher)

    @cached_property
    def gammas(self) -> tuple[float, ...]:
        """The discount of each phase, at the decision rate of its environment."""
        return tuple(map(self.algorithm.gamma_at, self.environments.rates))

    @cached_property
    def schedule(self) -> Schedule:
        """The position in the stage."""
        lengths = self.whole.schedule
        return Schedule(
            self.settings.phases, self.environments.rates, self.gammas, lengths.scale, lengths.decisions, lengths.phases
        )

    @cached_property
    def for_play(self) -> np.random.Generator:
        """Generator of actions and of the games' seeds."""
        return self._generator(2 * self.stage)

    @cached_property
    def for_agent(self) -> np.random.Generator:
        """Generator of samples and of their shuffling."""
        return self._generator(2 * self.stage + 1)

    def _generator(self, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.whole.seed, spawn_key=(number,)))

    def at(self, stage: int, begun_at: int, policy: Policy) -> "Run[A, L]":
        """The run in another stage, which begins after so many decisions with this policy."""
        first = replace(policy, environment=self.policy.environment)
        return replace(self, stage=stage, begun_at=begun_at, policy=first)

    def later(self) -> Iterator["Run[A, L]"]:
        """Yield the run in each later stage, as if it began now."""
        for stage in range(self.stage + 1, len(self.whole.stages())):
            yield self.at(stage, 0, self.policy)

    @cached_property
    def planned_later(self) -> int:
        """Decisions of all later stages, as planned."""
        return sum(one.schedule.planned for one in self.later())

    @undisturbed
    def rehearse(self) -> None:
        """Build the agent with a copy of the policy; BadInput if the parts do not fit together."""
        replace(self, policy=copy.deepcopy(self.policy)).new_agent()

    def new_agent(self) -> Agent:
        """The stage's agent, which trains the policy's network in place; BadInput if the parts do not fit together."""
        self._require_teacher()
        self._require_actors()
        assert self.schedule.planned  # computed before the agent is built, so that errors in the schedule come first
        return self.settings.chosen_algorithm.build(self)

    def new_play(self) -> LivePlay:
        """The collector of live play: in this process or with actors."""
        steps, distributed, phase = self.loop.steps, self.settings.distributed, self.schedule.index
        if not isinstance(distributed, RaySettings):
            return PhaseCollector(self.environments, phase, steps, self.for_play)
        parts = distributed.actors, self.environments, phase, steps, self.for_play
        asynchronous = self.settings.chosen_algorithm.asynchronous
        return ActorsCollector(RayEngine(distributed.actors, distributed.address), *parts, asynchronous=asynchronous)

    def _require_teacher(self) -> None:
        imitating = [phase.name for phase in self.settings.phases if phase.kickstarts]
        if imitating and not self.settings.chosen_algorithm.kickstarts:
            able = ", ".join(name for name, one in ALGORITHMS.items() if one.kickstarts)
            raise BadInput(
                f"schedule.phases.{imitating[0]}.kickstarting: the algorithm cannot imitate a teacher; choose {able}"
            )
        if imitating and self.teacher is None:
            raise BadInput(
                f"schedule.phases.{imitating[0]}.kickstarting: the run has no teacher; name one (teacher=champion)"
            )
        if self.teacher is not None and not any(phase.kickstarts for phase in self.whole.phases):
            raise BadInput(
                f"teacher={self.teacher[0]}: no phase imitates it; give one a weight "
                "(schedule.phases.NAME.kickstarting=[1,0]), or choose schedule=pictures"
            )

    def _require_actors(self) -> None:
        distributed, games = self.settings.distributed, self.loop.num_envs
        if not isinstance(distributed, RaySettings):
            return
        if not self.settings.chosen_algorithm.asynchronous and games % distributed.actors:
            raise BadInput(
                f"loop.num_envs={games}: {distributed.actors} actors share them (distributed.actors); give a multiple"
            )
        require_ray()

"""The environments of a schedule, whose phases may change settings of the first one."""

from collections.abc import Sequence
from typing import Any

from gymnasium.vector import VectorEnv

from ...common.errors import BadInput
from ...datasets.reader import Dataset
from ...envs.qwop.vector import QWOPVectorEnv
from ...envs.spec import EnvironmentSpec, ObservationSpec
from ...envs.vector import make_vector
from .demonstrated_states import demonstrated_states
from .phase import Phase
from .restarts import Restarts, RestartSettings


def phase_environments(first: EnvironmentSpec, phases: Sequence[Phase]) -> tuple[EnvironmentSpec, ...]:
    """The environment of every phase: `first` with the settings changed by this phase and those before it."""
    specs = []
    for phase in phases:
        first = EnvironmentSpec(first.id, {**first.settings, **phase.environment})
        specs.append(first)
    return tuple(specs)


def require_same_environment(phases: Sequence[Phase], first: EnvironmentSpec, dataset: Dataset) -> None:
    """Raise BadInput unless the demonstrations belong to the environment of every phase that uses them."""
    for phase, spec in zip(phases, phase_environments(first, phases), strict=True):
        if phase.uses_demonstrations and spec != dataset.info.environment:
            raise BadInput(
                f"schedule.phases.{phase.name}: uses demonstrations of {dataset.info.environment} in {spec}; leave out "
                "demonstrations or environment"
            )


JUDGEMENT = ("reward", "shaping", "time_limit")
"""Settings of an environment that change neither observations nor what an action does."""


def require_same_observations(phases: Sequence[Phase], first: EnvironmentSpec, dataset: Dataset) -> None:
    """Raise BadInput unless phases that imitate are played at the observations and decision rate of the demonstrations.

    Rewards and time limits may differ.
    """

    def played(spec: EnvironmentSpec) -> EnvironmentSpec:
        return EnvironmentSpec(spec.id, {name: v for name, v in spec.settings.items() if name not in JUDGEMENT})

    for phase, spec in zip(phases, phase_environments(first, phases), strict=True):
        if phase.imitates and played(spec) != played(dataset.info.environment):
            raise BadInput(
                f"schedule.phases.{phase.name}: imitates demonstrations of {dataset.info.environment} in {spec}; only "
                f"{', '.join(JUDGEMENT)} may differ"
            )


class PhaseEnvironments:
    """Makes the vector environment of every phase; `specs` and `restarts` have one entry for each.

    demonstrations: for restarts from their states.

    Raises BadInput, before anything is played, for a phase whose observations or actions differ from the policy's.
    """

    def __init__(
        self,
        specs: Sequence[EnvironmentSpec],
        num_envs: int,
        max_idle_frames: int,
        observation: ObservationSpec,
        actions: int,
        restarts: Sequence[RestartSettings | None],
        demonstrations: Dataset | None = None,
    ) -> None:
        self.specs = tuple(specs)
        self._restarts = tuple(restarts)
        self._demonstrations = demonstrations
        self.rates = tuple(spec.capabilities.decisions_per_second for spec in specs)
        """Decisions a second of each phase; None where an environment has no clock."""
        self._num_envs = num_envs
        self._max_idle_frames = max_idle_frames
        for spec in dict.fromkeys(map(str, specs)):
            self._require_fit(next(one for one in specs if str(one) == spec), observation, actions)
        for phase, restarted in zip(specs, restarts, strict=True):
            if restarted and not phase.capabilities.saved_games:
                raise BadInput(f"restarts in {phase}: only games of QWOP-v1 can be saved and begun from")

    def make(self, phase: int) -> VectorEnv[Any, Any, Any]:
        """The vector environment of this phase."""
        idle = self.specs[phase].capabilities.idle_start
        more = {"max_idle_frames": self._max_idle_frames} if idle else {}
        env = make_vector(self.specs[phase], self._num_envs, **more)
        restarts = self._restarts[phase]
        if restarts is None:
            return env
        assert isinstance(env, QWOPVectorEnv)
        if restarts.source == "live":
            return Restarts(env, restarts)
        if self._demonstrations is None:
            raise BadInput("restarts.source=demonstrations: the run has none; name them (demonstrations=data/kurodo)")
        return Restarts(env, restarts, demonstrated_states(self._demonstrations, self.specs[phase], restarts.metres))

    def same(self, one: int, other: int) -> bool:
        """True if both phases are played in the same environment."""
        return (self.specs[one], self._restarts[one]) == (self.specs[other], self._restarts[other])

    def _require_fit(self, spec: EnvironmentSpec, observation: ObservationSpec, actions: int) -> None:
        found = spec.interface()
        if found != (observation, actions):
            raise BadInput(
                f"{spec}: observations {found[0]} and {found[1]} actions, but the policy has {observation} and "
                f"{actions}; a phase cannot change the observations"
            )

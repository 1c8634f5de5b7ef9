"""The environments of a schedule: its phases may change settings of the one that it begins in."""

from collections.abc import Sequence
from typing import Any

from gymnasium.vector import VectorEnv

from ...common.errors import BadInput
from ...envs.qwop.vector import QWOPVectorEnv
from ...envs.spec import EnvironmentSpec, ObservationSpec
from ...envs.vector import make_vector
from .restarts import Restarts, RestartSettings
from .schedule import Phase, decisions_per_second


def phase_environments(first: EnvironmentSpec, phases: Sequence[Phase]) -> tuple[EnvironmentSpec, ...]:
    """The environment of every phase: `first`, with the settings that this phase and those before it change."""
    specs = []
    for phase in phases:
        first = EnvironmentSpec(first.id, {**first.settings, **phase.environment})
        specs.append(first)
    return tuple(specs)


class PhaseEnvironments:
    """The environment of every phase, and vectors of `num_envs` of it; `restarts` are those of every phase.

    BadInput, before anything is played, for a phase whose observations or actions are others than the policy's.
    """

    def __init__(
        self,
        specs: Sequence[EnvironmentSpec],
        num_envs: int,
        max_idle_frames: int,
        observation: ObservationSpec,
        actions: int,
        restarts: Sequence[RestartSettings | None],
    ) -> None:
        self.specs = tuple(specs)
        self._restarts = tuple(restarts)
        self.rates = tuple(decisions_per_second(spec) for spec in specs)
        """Decisions a second of the game's clock; None where there is none."""
        self._num_envs = num_envs
        self._max_idle_frames = max_idle_frames
        for spec in dict.fromkeys(map(str, specs)):
            self._require_fit(next(one for one in specs if str(one) == spec), observation, actions)
        for phase, restarted in zip(specs, restarts, strict=True):
            if restarted and not phase.capabilities.saved_games:
                raise BadInput(f"restarts in {phase}: only games of QWOP-v1 can be saved and begun from")

    def make(self, phase: int) -> VectorEnv[Any, Any, Any]:
        """A vector of the environment of this phase."""
        more = {"max_idle_frames": self._max_idle_frames} if self.rates[phase] is not None else {}
        env = make_vector(self.specs[phase], self._num_envs, **more)
        restarts = self._restarts[phase]
        if restarts is None:
            return env
        assert isinstance(env, QWOPVectorEnv)
        return Restarts(env, restarts)

    def same(self, one: int, other: int) -> bool:
        """Whether both phases are played in the same environment."""
        return (self.specs[one], self._restarts[one]) == (self.specs[other], self._restarts[other])

    def _require_fit(self, spec: EnvironmentSpec, observation: ObservationSpec, actions: int) -> None:
        found = spec.interface()
        if found != (observation, actions):
            raise BadInput(
                f"{spec}: observations {found[0]} and {found[1]} actions, but the policy has {observation} and "
                f"{actions}; a phase cannot change the observations"
            )

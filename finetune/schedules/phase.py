"""Phases of training as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from ...common.errors import BadInput
from .restarts import RestartSettings, parse_restarts


@dataclass(frozen=True)
class Ramp:
    """A value that changes linearly over a phase."""

    start: float
    end: float

    def at(self, progress: float) -> float:
        """The value when this share of the phase is over, 0 to 1."""
        return self.start + (self.end - self.start) * progress

    @property
    def largest(self) -> float:
        return max(self.start, self.end)


NONE, FULL = Ramp(0.0, 0.0), Ramp(1.0, 1.0)


class PhaseValues(NamedTuple):
    """A phase's values at one moment; see `Phase`. uses_demonstrations holds for the whole phase."""

    demonstrations: float = 0.0
    learning_rate: float = 1.0
    imitation: float = 0.0
    entropy: float = 1.0
    live: bool = True
    critic_only: bool = False
    uses_demonstrations: bool = False


@dataclass(frozen=True)
class Phase:
    """A stretch of training.

    hours: of game time at the decision rate.
    demonstrations: demonstrations that enter the memory for each live sequence (transition); once a phase has none from
        start to end, those in memory are removed when it begins.
    learning_rate, entropy: factors of the algorithm's learning rate and entropy weight.
    imitation: weight of the imitation loss on demonstrations.
    live: play the environment. Without it only demonstrations are learned from, and their decisions count.
    critic_only: learn values and leave the policy as it is.
    until_unstable: end early once live return destabilises (`stability.ReturnMonitor`).
    environment: settings of the environment that change from this phase on.
    restarts: the fraction of this phase's games that start from a saved state, and the stretch of track that these
        states come from: {share: 0.5, metres: [38, 50]}.
    """

    name: str
    hours: float
    demonstrations: Ramp = NONE
    learning_rate: Ramp = FULL
    imitation: Ramp = NONE
    entropy: Ramp = FULL
    live: bool = True
    critic_only: bool = False
    until_unstable: bool = False
    environment: Mapping[str, Any] = field(default_factory=dict)
    restarts: RestartSettings | None = None

    @property
    def uses_demonstrations(self) -> bool:
        return self.demonstrations.largest > 0

    def at(self, progress: float) -> PhaseValues:
        """The values in force when this share of the phase is over."""
        return PhaseValues(
            demonstrations=self.demonstrations.at(progress),
            learning_rate=self.learning_rate.at(progress),
            imitation=self.imitation.at(progress),
            entropy=self.entropy.at(progress),
            live=self.live,
            critic_only=self.critic_only,
            uses_demonstrations=self.uses_demonstrations,
        )


def parse_phases(node: Mapping[str, Mapping[str, Any]]) -> tuple[Phase, ...]:
    """Read phases from a configuration: name → settings; a ramp is one number, or two for its start and end."""
    phases = tuple(_parse_phase(str(name), settings) for name, settings in node.items())
    if not phases:
        raise BadInput("schedule.phases: none; expected at least one, name: {hours: …}")
    return phases


def _parse_phase(name: str, settings: Mapping[str, Any]) -> Phase:
    where = f"schedule.phases.{name}"
    kinds = {one.name: one.type for one in fields(Phase) if one.name != "name"}
    if not isinstance(settings, Mapping) or "hours" not in settings:
        raise BadInput(f"{where}: no hours; expected at least {{hours: …}}")
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in kinds:
            raise BadInput(f"{where}.{key}: no such setting; a phase has {', '.join(kinds)}")
        if key == "environment":
            if not isinstance(value, Mapping):
                raise BadInput(f"{where}.environment={value}: expected settings, {{frames_per_step: 2, …}}")
            values[key] = {str(name): one for name, one in value.items()}
            continue
        if key == "restarts":
            values[key] = parse_restarts(value)
            continue
        if kinds[key] is bool:
            if not isinstance(value, bool):
                raise BadInput(f"{where}.{key}={value}: expected true or false")
            values[key] = value
            continue
        numbers = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        allowed = (1, 2) if kinds[key] is Ramp else (1,)
        good = all(isinstance(one, int | float) and not isinstance(one, bool) and one >= 0 for one in numbers)
        if not good or len(numbers) not in allowed:
            wanted = "a number of at least 0" + (", or two: at the start and the end" if kinds[key] is Ramp else "")
            raise BadInput(f"{where}.{key}={value}: expected {wanted}")
        values[key] = Ramp(float(numbers[0]), float(numbers[-1])) if kinds[key] is Ramp else float(numbers[0])
    phase = Phase(name=name, **values)
    if not phase.live and not phase.uses_demonstrations:
        raise BadInput(f"{where}: neither live play nor demonstrations; nothing to learn from")
    return phase

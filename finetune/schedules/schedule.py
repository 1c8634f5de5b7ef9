"""Schedules as data: phases one after the other, and where a run is in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ...common.errors import BadInput
from ...envs.spec import EnvironmentSpec
from .restarts import RestartSettings, parse_restarts
from .stability import ReturnMonitor

PUBLISHED_RATE = 9.0
"""Decisions a second of the published training; also what an hour means where an environment has no clock."""


@dataclass(frozen=True)
class Ramp:
    """A value that moves in a straight line through a phase."""

    start: float
    end: float

    def at(self, progress: float) -> float:
        """The value when this share of the phase is over."""
        return self.start + (self.end - self.start) * progress

    @property
    def largest(self) -> float:
        return max(self.start, self.end)


NONE, FULL = Ramp(0.0, 0.0), Ramp(1.0, 1.0)


@dataclass(frozen=True)
class Phase:
    """A stretch of training.

    hours: of game time, at the decision rate. demonstrations: sequences of demonstrations that enter the memory for
    each live one; 0 throughout means that they leave it when the phase begins. learning_rate: a factor of the
    algorithm's. imitation: weight of the cross-entropy of demonstrated actions. entropy: a factor of the algorithm's
    weight of it. live: whether the environment is played at all; without it the demonstrations alone are learned from,
    and their decisions count. critic_only: learn values and leave the policy as it is. until_unstable: the phase also
    ends when live return destabilises. environment: settings of the environment that are others from this phase on.
    restarts: a share of this phase's games begins where earlier ones were, {share: 0.5, metres: [38, 50]}.
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


def parse_phases(node: Mapping[str, Mapping[str, Any]]) -> tuple[Phase, ...]:
    """Phases of a configuration: name → settings; a ramp is one number, or two: at the start and at the end."""
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


class Schedule:
    """Where a run is in its phases.

    `scale` shrinks (or stretches) every phase; `decisions_per_second`, one number or one for every phase, turns hours
    into decisions.
    """

    def __init__(
        self,
        phases: Sequence[Phase],
        decisions_per_second: float | Sequence[float],
        scale: float,
        monitor: ReturnMonitor,
    ) -> None:
        self.phases = tuple(phases)
        rates = (
            decisions_per_second if isinstance(decisions_per_second, Sequence) else [decisions_per_second] * len(phases)
        )
        self.lengths = tuple(
            round(phase.hours * 3600 * rate * scale) for phase, rate in zip(phases, rates, strict=True)
        )
        if sum(self.lengths) < 1:
            raise BadInput(f"schedule.scale={scale}: nothing is left of the schedule")
        self._monitor = monitor
        self._index = 0
        self._played = 0
        self._skip_empty()

    @property
    def index(self) -> int:
        """The number of the phase, from 0; the number of phases once all are over."""
        return self._index

    @property
    def place(self) -> int:
        """The number of the phase under way; of the last one that was played, once all are over."""
        played = [number for number, length in enumerate(self.lengths) if length]
        return played[-1] if self.finished else self._index

    @property
    def finished(self) -> bool:
        return self._index == len(self.phases)

    @property
    def phase(self) -> Phase:
        return self.phases[self._index]

    @property
    def progress(self) -> float:
        """The share of the phase that is over."""
        return self._played / self.lengths[self._index]

    @property
    def remaining(self) -> int:
        """Decisions until the end of the last phase."""
        return sum(self.lengths[self._index :]) - self._played

    def advance(self, decisions: int, live_returns: Sequence[float] = ()) -> bool:
        """Count decisions, and the returns of live episodes that ended; true if a phase is over by that."""
        self._played += decisions
        for one in live_returns:
            self._monitor.add(one)
        over = self._played >= self.lengths[self._index]
        if over or (self.phase.until_unstable and self._monitor.unstable):
            self._index += 1
            self._played = 0
            self._monitor.restart()
            self._skip_empty()
            return True
        return False

    def get_state(self) -> dict[str, Any]:
        """Where it is. Empty phases just before that are not counted as over: in a longer schedule they may be more."""
        index = self._index
        while not self._played and index and not self.lengths[index - 1]:
            index -= 1
        return {"index": index, "played": self._played, "monitor": self._monitor.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where `get_state` was called, in a schedule with the same phases up to there."""
        self._index = int(state["index"])
        self._played = int(state["played"])
        self._monitor.set_state(state["monitor"])
        self._skip_empty()

    def _skip_empty(self) -> None:
        while not self.finished and not self.lengths[self._index]:
            self._index += 1


def decisions_per_second(environment: EnvironmentSpec) -> float | None:
    """Of the game's clock; None where an environment has none that we know."""
    return environment.capabilities.decisions_per_second

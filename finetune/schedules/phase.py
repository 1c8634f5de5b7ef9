"""Phases of training as data, and a run's position in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer

from ...common.errors import BadInput, quoted
from ...common.schema import Entries, Expected
from ...common.settings import LARGEST, Positive, Settings, Several, Share
from ...common.shared_settings import PolicysEnvironment


@dataclass(frozen=True)
class Ramp:
    """A value that changes linearly over a phase."""

    start: float
    end: float

    def at(self, progress: float) -> float:
        """Value at this progress of the phase, 0 to 1."""
        return self.start + (self.end - self.start) * progress

    @property
    def plain(self) -> float | list[float]:
        """One number, or the start and the end."""
        return self.start if self.start == self.end else [self.start, self.end]

    @property
    def largest(self) -> float:
        return max(self.start, self.end)


NONE, FULL = Ramp(0.0, 0.0), Ramp(1.0, 1.0)


class PhaseValues(NamedTuple):
    """A phase's values at one moment; see `Phase`. gamma: the discount per decision, at the rate of the phase's
    environment. uses_demonstrations is constant over the phase."""

    gamma: float
    demonstrations: float = 0.0
    learning_rate: float = 1.0
    imitation: float = 0.0
    kickstarting: float = 0.0
    entropy: float = 1.0
    live: bool = True
    critic_only: bool = False
    uses_demonstrations: bool = False


RAMPS = ("demonstrations", "learning_rate", "imitation", "kickstarting", "entropy")
"""Values that change linearly over a phase; the others are constant."""

MOST = LARGEST[float]

RAMP = f"a number or [start, end], at least 0, at most {MOST:g}"


def _ramp_of(value: Any) -> Ramp:
    """A ramp of one number, or two for its start and end; ValueError for anything else."""
    if isinstance(value, Ramp):
        return value
    numbers = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    good = all(isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= MOST for one in numbers)
    if not good or len(numbers) not in (1, 2):
        raise ValueError
    return Ramp(float(numbers[0]), float(numbers[-1]))


RampSetting = Annotated[
    InstanceOf[Ramp], BeforeValidator(_ramp_of), PlainSerializer(lambda ramp: ramp.plain), Expected(RAMP)
]

AlgorithmOfPhases = Annotated[
    Mapping[str, Any],
    BeforeValidator(lambda value: {"name": value} if isinstance(value, str) and value else value),
    Expected("an option of algorithm, or its name and settings, such as {name: ppo, gamma: 0.98}"),
]
"""An algorithm and settings of it, which differ from its defaults or from those of the phase before."""


class RestartSettings(Settings):
    """Starts of games from states that other games went through."""

    share: Annotated[float, Field(gt=0, lt=1), Field(examples=["0.5"])]
    """Fraction of new games that start from a saved state."""
    metres: Annotated[
        Several[float], Expected("the ends of the stretch in metres, the nearer first"), Field(examples=["[38,50]"])
    ] = (0.0, 100.0)
    """Stretch of track that the saved states come from, in metres."""
    source: Literal["live", "falls", "demonstrations"] = "live"
    """Origin of the states: live, earlier games of the run; falls, the last seconds before falls of these games; or
    demonstrations, which must have their keys."""
    seconds: Annotated[Positive, Field(examples=["10"])] | None = None
    """Time after which a game that started from a saved state is truncated, in seconds. Default: never."""

    def check(self) -> None:
        if len(self.metres) != 2 or not self.metres[0] < self.metres[1]:
            raise BadInput(
                f"metres={quoted(self.metres)}: expected the ends of the stretch in metres, the nearer first, such as "
                "[38,50]"
            )


class Phase(Settings):
    """A stretch of training."""

    name: str
    """Name of the phase."""
    hours: Annotated[float, Field(ge=0, le=100_000)] | None = None
    """Length in hours of game time at the decision rate; or give decisions."""
    demonstrations: RampSetting = NONE
    """Demonstrations that enter the memory for each live sequence (transition). If a phase has none throughout, those
    in memory are removed when it begins."""
    learning_rate: RampSetting = FULL
    """Factor of the algorithm's learning rate."""
    imitation: RampSetting = NONE
    """Weight of the imitation loss on demonstrations."""
    kickstarting: RampSetting = NONE
    """Weight of imitating the teacher in the games that the policy plays."""
    entropy: RampSetting = FULL
    """Factor of the algorithm's entropy weight."""
    live: bool = True
    """Play the environment. Without it only demonstrations are learned from, and their decisions count."""
    critic_only: bool = False
    """Learn values and leave the policy as it is."""
    weight_average: Share = 0.0
    """Share of the phase, at its end, whose weights are averaged: the phase leaves their mean (Polyak and Juditsky
    1992)."""
    evaluations: Annotated[int, Field(ge=0, le=1000)] = 0
    """Evaluations within the phase, evenly spaced, of greedy games alone, besides the one at its end."""
    environment: PolicysEnvironment = Field(default_factory=dict)
    """Environment settings that change from this phase on, such as {frames_per_step: 2}."""
    restarts: RestartSettings | None = None
    """Games that start from saved states, of earlier games or of demonstrations: {share: 0.5, metres: [38, 50]},
    {share: 0.5, source: falls}."""
    decisions: Annotated[int, Field(ge=0, le=10**12)] | None = None
    """Length in decisions, in place of hours where both are given."""
    algorithm: AlgorithmOfPhases = Field(default_factory=dict)
    """Algorithm from this phase on: an option of the group algorithm, or its name and settings, {name: ppo, epochs: 6}.
    Without a name, settings that change for the algorithm of the phase before. The optimiser and the memory begin anew.
    Empty: as in the phase before."""
    loop: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of the loop from this phase on."""
    only: Literal["runs", "falls", "taught", "untaught"] | None = None
    """Runs that have the phase: those whose first policy finishes games (runs) or none (falls), as the run sees at its
    start; those with a teacher (taught) or without one (untaught). null: all."""

    def check(self) -> None:
        if self.hours is None and self.decisions is None:
            raise BadInput("hours is not set: expected the phase's length, such as hours=10 or decisions=75000")
        if not self.live and not self.uses_demonstrations:
            raise BadInput("live=false: neither live play nor demonstrations; nothing to learn from")

    @property
    def uses_demonstrations(self) -> bool:
        """True if demonstrations enter the memory."""
        return self.demonstrations.largest > 0

    @property
    def imitates(self) -> bool:
        """True if demonstrated actions are imitated."""
        return self.imitation.largest > 0

    @property
    def kickstarts(self) -> bool:
        """True if the teacher is imitated."""
        return self.kickstarting.largest > 0

    @property
    def needs_demonstrations(self) -> bool:
        """True if demonstrations enter the memory, are imitated, or provide start states."""
        restarts = self.restarts is not None and self.restarts.source == "demonstrations"
        return self.uses_demonstrations or self.imitates or restarts

    def length(self, decisions_per_second: float) -> float:
        """The length in decisions, at this rate."""
        if self.decisions is not None:
            return self.decisions
        assert self.hours is not None
        return self.hours * 3600 * decisions_per_second

    def evaluation_due(self, before: float, after: float) -> bool:
        """True if an evaluation falls in the interval (before, after] of the phase's progress."""
        parts = self.evaluations + 1
        return int(after * parts) > int(before * parts)

    def averages(self, progress: float) -> bool:
        """True if an iteration that begins at this progress of the phase counts in the mean of the weights."""
        return progress >= 1.0 - self.weight_average

    def at(self, progress: float, gamma: float) -> PhaseValues:
        """Values at this progress of the phase, with the discount in its environment."""
        return PhaseValues(
            gamma=gamma,
            **{name: getattr(self, name).at(progress) for name in RAMPS},
            live=self.live,
            critic_only=self.critic_only,
            uses_demonstrations=self.uses_demonstrations,
        )


Phases = Annotated[tuple[Phase, ...], Entries(Phase, "one phase or more, {name: {hours: …}}")]
"""Phases by name, in order."""

PUBLISHED_RATE = 9.0
"""Decisions per second of the published training, also used for environments without a clock."""


class Schedule:
    """Counts decisions through phases.

    rates: decisions per second of each phase, to convert hours into decisions; None means `PUBLISHED_RATE`. gammas:
    discount of each phase. scale: multiplies the length of every phase. decisions: total of the schedule; phases are
    scaled to this sum, and `scale` is ignored. whole: all phases, if `phases` has only those of one stage and the
    others are empty. Raises BadInput if nothing is left of the schedule.
    """

    def __init__(
        self,
        phases: Sequence[Phase],
        rates: Sequence[float | None],
        gammas: Sequence[float],
        scale: float,
        decisions: int | None = None,
        whole: Sequence[Phase] | None = None,
    ) -> None:
        self.phases = tuple(phases)
        self._gammas = tuple(gammas)
        lengths = [phase.length(rate or PUBLISHED_RATE) for phase, rate in zip(whole or phases, rates, strict=True)]
        counts = tuple(round(length * scale) for length in lengths)
        if decisions is not None and sum(lengths) > 0:
            counts = _in_all(decisions, lengths)
        self.lengths = tuple(
            length if phase.length(1.0) else 0 for length, phase in zip(counts, self.phases, strict=True)
        )
        self.planned = sum(self.lengths)
        """Decisions of all phases."""
        if self.planned < 1:
            raise BadInput(f"schedule.scale={scale}: nothing is left of the schedule")
        self.index = 0
        """Number of the current phase, from 0; the number of phases once all are over."""
        self._decisions = 0
        self._skip_empty()

    @property
    def values(self) -> PhaseValues:
        """Current values of the current phase."""
        return self.phase.at(self.progress, self._gammas[self.index])

    @property
    def place(self) -> int:
        """Number of the current phase or, once all are over, of the last one played."""
        numbers = [number for number, length in enumerate(self.lengths) if length]
        return numbers[-1] if self.finished else self.index

    @property
    def finished(self) -> bool:
        return self.index == len(self.phases)

    @property
    def phase(self) -> Phase:
        return self.phases[self.index]

    @property
    def progress(self) -> float:
        """Progress of the current phase, 0 to 1."""
        return self._decisions / self.lengths[self.index]

    @property
    def remaining(self) -> int:
        """Decisions until the end of the last phase."""
        return sum(self.lengths[self.index :]) - self._decisions

    def advance(self, decisions: int) -> bool:
        """Count decisions; true if this ends a phase."""
        self._decisions += decisions
        if self._decisions < self.lengths[self.index]:
            return False
        self.index, self._decisions = self.index + 1, 0
        self._skip_empty()
        return True

    def get_state(self) -> dict[str, object]:
        """Position in the schedule."""
        return {"index": self.index, "played": self._decisions}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`."""
        self.index, self._decisions = int(state["index"]), int(state["played"])

    def _skip_empty(self) -> None:
        while not self.finished and not self.lengths[self.index]:
            self.index += 1


def _in_all(decisions: int, lengths: Sequence[float]) -> tuple[int, ...]:
    """Integers proportional to the lengths, with the sum `decisions`."""
    ends = [round(decisions * end / sum(lengths)) for end in (0, *accumulate(lengths))]
    return tuple(end - start for start, end in pairwise(ends))

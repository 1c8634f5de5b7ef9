"""Phases of training as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...common.checks import LARGEST, quoted
from ...common.errors import BadInput
from ...common.settings import Settings, changes, read, setting
from ...common.shared_settings import environment_settings


@dataclass(frozen=True)
class Ramp:
    """A value that changes linearly over a phase."""

    start: float
    end: float

    def at(self, progress: float) -> float:
        """Value at this progress of the phase, 0 to 1."""
        return self.start + (self.end - self.start) * progress

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

RAMP = f"a number or [start, end], at least 0, at most {LARGEST[float]:g}"


def parse_ramp(value: Any, place: str) -> Ramp:
    """Read a ramp: one number, or two for its start and end; BadInput, which names the `place`, for anything else."""
    numbers = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    most = LARGEST[float]
    good = all(isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= most for one in numbers)
    if not good or len(numbers) not in (1, 2):
        raise BadInput(f"{place}={quoted(value)}: expected {RAMP}")
    return Ramp(float(numbers[0]), float(numbers[-1]))


def _plain_number(value: float) -> float:
    return int(value) if value.is_integer() else value


def _plain_ramp(value: Ramp) -> Any:
    numbers = [_plain_number(value.start), _plain_number(value.end)]
    return numbers[0] if numbers[0] == numbers[1] else numbers


def ramp(default: Ramp, help: str) -> Any:
    """Declare a setting that is a ramp."""
    return setting(default, help, expected=RAMP, parse=parse_ramp, plain=_plain_ramp)


FIRST_STRETCH = 0.1
"""Share of the stretch that order=backwards opens at first, at its far end."""


@dataclass(frozen=True)
class RestartSettings(Settings):
    """Starts of games from states that other games went through."""

    share: float = setting(help="Fraction of new games that start from a saved state.", above=0, below=1, example="0.5")
    metres: tuple[float, ...] = setting(
        (0.0, 100.0),
        help="Stretch of track that the saved states come from, in metres.",
        expected="the ends of the stretch in metres, the nearer first",
        example="[38,50]",
    )
    source: str = setting(
        "live",
        "Origin of the states: live, earlier games of the run; falls, the last seconds before falls of these games; or "
        "demonstrations, which must have their keys.",
        choices=("live", "falls", "demonstrations"),
    )
    seconds: float | None = setting(
        None,
        "Time after which a game that started from a saved state is truncated, in seconds. Default: never.",
        above=0,
        example="10",
    )
    order: str = setting(
        "uniform",
        "Choice of a state: uniform over the stretch, or backwards, starting at its far end and including more and "
        "more of it until the phase ends (Salimans and Chen 2018).",
        choices=("uniform", "backwards"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.metres) != 2 or not self.metres[0] < self.metres[1]:
            raise BadInput(
                f"metres={quoted(self.metres)}: expected the ends of the stretch in metres, the nearer first, such as "
                "[38,50]"
            )

    def stretch(self, progress: float) -> tuple[float, float]:
        """Stretch in use at this progress of the phase, metres."""
        low, high = self.metres
        if self.order == "uniform":
            return low, high
        return high - max(progress, FIRST_STRETCH) * (high - low), high


@dataclass(frozen=True)
class Phase(Settings):
    """A stretch of training."""

    name: str = setting(help="Name of the phase.")
    hours: float | None = setting(
        None, "Length in hours of game time at the decision rate; or give decisions.", at_least=0, at_most=100_000
    )
    demonstrations: Ramp = ramp(
        NONE,
        "Demonstrations that enter the memory for each live sequence (transition). If a phase has none throughout, "
        "those in memory are removed when it begins.",
    )
    learning_rate: Ramp = ramp(FULL, "Factor of the algorithm's learning rate.")
    imitation: Ramp = ramp(NONE, "Weight of the imitation loss on demonstrations.")
    kickstarting: Ramp = ramp(NONE, "Weight of imitating the teacher in the games that the policy plays.")
    entropy: Ramp = ramp(FULL, "Factor of the algorithm's entropy weight.")
    live: bool = setting(
        True, "Play the environment. Without it only demonstrations are learned from, and their decisions count."
    )
    critic_only: bool = setting(False, "Learn values and leave the policy as it is.")
    weight_average: float = setting(
        0.0,
        "Share of the phase, at its end, whose weights are averaged: the phase leaves their mean (Polyak and Juditsky "
        "1992).",
        at_least=0,
        at_most=1,
    )
    evaluations: int = setting(
        0,
        "Evaluations within the phase, evenly spaced, of greedy games alone, besides the one at its end.",
        at_least=0,
        at_most=1000,
    )
    until_unstable: bool = setting(False, "End early once live return destabilises; see stability.")
    environment: Mapping[str, Any] = environment_settings(
        "Environment settings that change from this phase on, such as {frames_per_step: 2}.", "the policy"
    )
    restarts: RestartSettings | None = setting(
        None,
        "Games that start from saved states, of earlier games or of demonstrations: {share: 0.5, metres: [38, 50]}, "
        "{share: 0.5, source: demonstrations, order: backwards}.",
    )
    decisions: int | None = setting(
        None, "Length in decisions, in place of hours where both are given.", at_least=0, at_most=10**12
    )
    algorithm: str | None = setting(
        None,
        "Algorithm from this phase on, an option of the group algorithm with its own settings. Its memory is empty at "
        "first. null: that of the phase before.",
        example="ppo-clone",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
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


def parse_phases(node: Any, place: str = "schedule.phases") -> tuple[Phase, ...]:
    """Read phases from a configuration: name → settings; BadInput, which names the `place`, for anything else."""
    if not isinstance(node, Mapping) or not node:
        raise BadInput(f"{place}={quoted(node)}: expected one phase or more, {{name: {{hours: …}}}}")
    return tuple(read(Phase, phase, f"{place}.{name}", partial=True, name=str(name)) for name, phase in node.items())


def plain_phases(phases: Sequence[Phase]) -> dict[str, Any]:
    """Convert phases to plain data, as in a schedule's file: only settings that differ from their defaults."""
    return {
        phase.name: {
            name: _plain_number(value) if name == "hours" and value is not None else value
            for name, value in changes(phase).items()
            if name != "name"
        }
        for phase in phases
    }

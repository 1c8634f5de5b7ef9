"""Notes of a run on settings that may be unintended."""

from collections.abc import Iterator

from ..envs.registration import REGISTERED
from .agents.registry import BUILT_IN
from .agents.settings import LiveSettings
from .schedules.schedule import Schedule
from .settings import FinetuneSettings, option_of

LATE = 0.25
"""Fraction of the schedule before the first update, above which the terminal warns."""

LONGER = 0.25
"""Fraction of the schedule that whole iterations add to it, above which the terminal says so."""


def settings_notes(settings: FinetuneSettings, environment: str) -> Iterator[str]:
    """Yield notes on an algorithm that the schedule or the environment (its id) is not made for."""
    made_for, name = settings.schedule.algorithm.get("name"), option_of(settings.algorithm)
    if made_for is not None and made_for.partition("-")[0] != name:
        yield f"note: this schedule is made for algorithm={made_for}; the run learns by {name}"
    if environment not in REGISTERED and name in BUILT_IN and settings.algorithm == type(settings.algorithm)():
        yield (
            f"note: algorithm={name} has the settings for QWOP; algorithm=ppo-small has those for small "
            "environments, algorithm=ppo-atari those for pictures"
        )


def length_notes(loop: LiveSettings, schedule: Schedule) -> Iterator[str]:
    """Yield notes on a schedule that is too short: for filling the memory, whole iterations, or one of its phases."""
    planned, played = schedule.planned, schedule.in_iterations(loop.decisions)
    if loop.before_learning > LATE * planned:
        yield (
            f"warning: learning begins after {loop.before_learning:,} of {planned:,} decisions, when the memory holds "
            "loop.start; set it lower, or make the schedule longer"
        )
    if played - planned > LONGER * planned:
        yield (
            f"note: {played:,} decisions are played in place of the schedule's {planned:,}, as each phase ends with a "
            f"whole iteration (loop.num_envs × loop.steps = {loop.decisions:,})"
        )
    for phase, length in zip(schedule.phases, schedule.lengths, strict=True):
        if phase.length(1.0) and not length:
            yield f"note: phase {phase.name} is left out, as the schedule is too short for it; make the schedule longer"

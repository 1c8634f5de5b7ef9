"""Stages of a schedule: consecutive phases with the same algorithm."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..common.errors import naming
from .schedules.phase import Phase
from .settings import FinetuneSettings

Read = Callable[[Sequence[str]], FinetuneSettings]
"""Reads settings from command-line arguments, with the options of `algorithm`."""


def stages(settings: FinetuneSettings, read: Read) -> list[FinetuneSettings]:
    """Split settings into those of each stage, with its own algorithm and loop, and the other stages' phases empty.

    Stages of length 0 are omitted; if all are, the first one is kept. Raises BadInput for a phase whose algorithm
    does not exist.
    """
    starts = [number for number, phase in enumerate(settings.phases) if phase.algorithm is not None or not number]
    made = []
    for first, end in zip(starts, [*starts[1:], len(settings.phases)], strict=True):
        phases = [
            phase if first <= number < end else Phase(phase.name, 0, environment=phase.environment)
            for number, phase in enumerate(settings.phases)
        ]
        chosen = _with_algorithm(settings, settings.phases[first], read)
        made.append(replace(chosen, schedule=replace(settings.schedule, phases=tuple(phases))))
    return [stage for stage in made if any(map(_has_length, stage.phases))] or made[:1]


def stage_of(phase: int, all_stages: list[FinetuneSettings]) -> int:
    """Number of the stage that contains this phase; ValueError if none does."""
    for number, stage in enumerate(all_stages):
        if 0 <= phase < len(stage.phases) and _has_length(stage.phases[phase]):
            return number
    raise ValueError(f"phase {phase} is none of the schedule's")


def _has_length(phase: Phase) -> bool:
    return phase.length(1.0) > 0


def _with_algorithm(settings: FinetuneSettings, phase: Phase, read: Read) -> FinetuneSettings:
    """Settings with the phase's algorithm, if it names one."""
    if phase.algorithm is None:
        return settings
    with naming(f"schedule.phases.{phase.name}.algorithm"):
        option = read(["schedule=kurodo-published", f"algorithm={phase.algorithm}"])
    return replace(settings, algorithm=option.algorithm, loop=option.loop)

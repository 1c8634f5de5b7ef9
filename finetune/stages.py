"""Stages of a schedule: phases in a row that one algorithm learns in."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..common.errors import naming
from .schedules.phase import Phase
from .settings import FinetuneSettings

Read = Callable[[Sequence[str]], FinetuneSettings]
"""Reads the settings of a command line, which knows the options of `algorithm`."""


def stages(settings: FinetuneSettings, read: Read) -> list[FinetuneSettings]:
    """The settings of each stage, with its own algorithm and loop; the phases of the others are empty there.

    A stage without length is left out, unless nothing else is left. Raises BadInput for a phase whose algorithm does
    not exist.
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
    """The number of the stage that the phase of this number is in."""
    return next(number for number, stage in enumerate(all_stages) if _has_length(stage.phases[phase]))


def _has_length(phase: Phase) -> bool:
    return phase.length(1.0) > 0


def _with_algorithm(settings: FinetuneSettings, phase: Phase, read: Read) -> FinetuneSettings:
    """The settings with the algorithm that the phase names, if it does."""
    if phase.algorithm is None:
        return settings
    with naming(f"schedule.phases.{phase.name}.algorithm"):
        option = read(["schedule=kurodo-published", f"algorithm={phase.algorithm}"])
    return replace(settings, algorithm=option.algorithm, loop=option.loop)

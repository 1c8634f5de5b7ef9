"""A run's position in its phases."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from ...common.errors import BadInput
from .phase import Phase, PhaseValues

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
        scaled = tuple(round(length * scale) for length in lengths)
        if decisions is not None and sum(lengths) > 0:
            scaled = _in_all(decisions, lengths)
        self.lengths = tuple(
            length if phase.length(1.0) else 0 for length, phase in zip(scaled, self.phases, strict=True)
        )
        if sum(self.lengths) < 1:
            raise BadInput(f"schedule.scale={scale}: nothing is left of the schedule")
        self.index = 0
        """Number of the current phase, from 0; the number of phases once all are over."""
        self._played = 0
        self._skip_empty()

    @property
    def planned(self) -> int:
        """Decisions of all phases."""
        return sum(self.lengths)

    def in_iterations(self, decisions: int) -> int:
        """Decisions of all phases, each of which ends with a whole iteration of this many."""
        return sum(-(-length // decisions) * decisions for length in self.lengths)

    @property
    def values(self) -> PhaseValues:
        """Current values of the current phase."""
        return self.phase.at(self.progress, self._gammas[self.index])

    @property
    def place(self) -> int:
        """Number of the current phase or, once all are over, of the last one played."""
        played = [number for number, length in enumerate(self.lengths) if length]
        return played[-1] if self.finished else self.index

    @property
    def finished(self) -> bool:
        return self.index == len(self.phases)

    @property
    def phase(self) -> Phase:
        return self.phases[self.index]

    @property
    def progress(self) -> float:
        """Progress of the current phase, 0 to 1."""
        return self._played / self.lengths[self.index]

    @property
    def remaining(self) -> int:
        """Decisions until the end of the last phase."""
        return sum(self.lengths[self.index :]) - self._played

    def advance(self, decisions: int) -> bool:
        """Count decisions; true if this ends a phase."""
        self._played += decisions
        if self._played < self.lengths[self.index]:
            return False
        self.index, self._played = self.index + 1, 0
        self._skip_empty()
        return True

    def get_state(self) -> dict[str, object]:
        """Position in the schedule. Trailing empty phases stay open so that a longer schedule can fill them."""
        index = self.index
        while not self._played and index and not self.lengths[index - 1]:
            index -= 1
        return {"index": index, "played": self._played}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`. The phases up to that position must be the same."""
        self.index = int(state["index"])
        self._played = int(state["played"])
        self._skip_empty()

    def _skip_empty(self) -> None:
        while not self.finished and not self.lengths[self.index]:
            self.index += 1


def _in_all(decisions: int, lengths: Sequence[float]) -> tuple[int, ...]:
    """Integers proportional to the lengths, with the sum `decisions`."""
    ends = [round(decisions * end / sum(lengths)) for end in (0, *accumulate(lengths))]
    return tuple(end - start for start, end in pairwise(ends))

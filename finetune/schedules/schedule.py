"""The position of a run in its phases."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from ...common.errors import BadInput
from .phase import Phase, PhaseValues
from .stability import ReturnMonitor

PUBLISHED_RATE = 9.0
"""Decisions a second of the published training, also used for environments without a clock."""


class Schedule:
    """Counts decisions through phases.

    rates: decisions a second of each phase, which turn hours into decisions; None counts as `PUBLISHED_RATE`. gammas:
    the discount of each phase. scale: multiplies the length of every phase. decisions: of the whole schedule; the
    phases are scaled to that sum, whatever the scale.
    """

    def __init__(
        self,
        phases: Sequence[Phase],
        rates: Sequence[float | None],
        gammas: Sequence[float],
        scale: float,
        monitor: ReturnMonitor,
        decisions: int | None = None,
    ) -> None:
        self.phases = tuple(phases)
        self._gammas = tuple(gammas)
        lengths = [phase.length(rate or PUBLISHED_RATE) for phase, rate in zip(phases, rates, strict=True)]
        self.lengths = tuple(round(length * scale) for length in lengths)
        if decisions is not None and sum(lengths) > 0:
            self.lengths = _in_all(decisions, lengths)
        if sum(self.lengths) < 1:
            raise BadInput(f"schedule.scale={scale}: nothing is left of the schedule")
        self._monitor = monitor
        self._index = 0
        self._played = 0
        self._skip_empty()

    @property
    def planned(self) -> int:
        """Decisions of all phases."""
        return sum(self.lengths)

    @property
    def values(self) -> PhaseValues:
        """The values of the current phase at this moment."""
        return self.phase.at(self.progress, self._gammas[self._index])

    @property
    def index(self) -> int:
        """The number of the current phase, from 0; the number of phases once all are over."""
        return self._index

    @property
    def place(self) -> int:
        """The number of the current phase; of the last one that was played, once all are over."""
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
        """The share of the current phase that is over."""
        return self._played / self.lengths[self._index]

    @property
    def remaining(self) -> int:
        """Decisions until the end of the last phase."""
        return sum(self.lengths[self._index :]) - self._played

    def advance(self, decisions: int, live_returns: Sequence[float] = ()) -> bool:
        """Count decisions, and the returns of live episodes that ended; true if this ends a phase."""
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
        """Position in the schedule. Trailing empty phases stay open so that a longer schedule can fill them."""
        index = self._index
        while not self._played and index and not self.lengths[index - 1]:
            index -= 1
        return {"index": index, "played": self._played, "monitor": self._monitor.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue where `get_state` was called, in a schedule with the same phases up to there."""
        self._index = int(state["index"])
        self._played = int(state["played"])
        self._monitor.set_state(state["monitor"])
        self._skip_empty()

    def _skip_empty(self) -> None:
        while not self.finished and not self.lengths[self._index]:
            self._index += 1


def _in_all(decisions: int, lengths: Sequence[float]) -> tuple[int, ...]:
    """Whole numbers in proportion to the lengths, whose sum is `decisions`."""
    ends = [round(decisions * end / sum(lengths)) for end in (0, *accumulate(lengths))]
    return tuple(end - start for start, end in pairwise(ends))

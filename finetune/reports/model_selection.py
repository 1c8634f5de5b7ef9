"""Selection of a run's final policy among those evaluated."""

import math
from dataclasses import dataclass
from pathlib import Path

from .phase_evaluator import START, Figures, read_evaluation, success

NOISE = 0.02
"""Standard error of a share of 0.96 in 100 games."""

FINALISTS = 4
"""Most policies that play drawn games for the choice alone."""


@dataclass(frozen=True)
class Candidate:
    """An evaluated policy of a run: its file, its evaluation's file, and the figures."""

    policy: Path
    evaluation: Path
    figures: Figures

    @property
    def drawn(self) -> float:
        """Share of the drawn games that finished; 0 if none were played."""
        drawn = self.figures.get("drawn", {})
        return success(drawn) if "finishes" in drawn else 0.0


def pace(figures: Figures) -> tuple[float, float]:
    """Sort key of policies that finish alike: lower median time, then metres."""
    median = figures.get("median_seconds")
    return -math.inf if median is None else -median, figures.get("mean_metres", 0.0)


def finalists(run: Path, start: Path) -> list[Candidate]:
    """The fastest of the evaluated policies of the run in `run` that lead by their greedy games, fastest first.

    start: file of the initial policy, which is one of those evaluated. Raises BadInput for a file that is not an
    evaluation.
    """
    return sorted(_leaders(run, start), key=lambda one: pace(one.figures), reverse=True)[:FINALISTS]


def best_policy(run: Path, start: Path) -> Candidate:
    """The best evaluated policy of the run in `run`; the earliest of equals. start: as for `finalists`.

    The most greedy games finished count first. Of these policies, those whose drawn finishes come within `NOISE` of
    the most differ by chance, and the fastest of them is the best.
    """
    leaders = _leaders(run, start)
    most = max(one.drawn for one in leaders)
    return max((one for one in leaders if one.drawn >= most - NOISE), key=lambda one: pace(one.figures))


def _leaders(run: Path, start: Path) -> list[Candidate]:
    found = [
        Candidate(start if path.name == START else path.with_suffix(".safetensors"), path, read_evaluation(path))
        for path in (run / "phases").glob("*.json")
    ]
    most = max(success(one.figures) for one in found)
    leaders = [one for one in found if success(one.figures) == most]
    return sorted(leaders, key=lambda one: one.figures.get("decisions", 0))

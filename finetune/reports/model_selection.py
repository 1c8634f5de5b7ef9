"""Selection of a run's final policy among those evaluated."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .phase_evaluator import START, read_evaluation


@dataclass(frozen=True)
class Candidate:
    """An evaluated policy of a run: its file, its evaluation's file, and the figures."""

    policy: Path
    evaluation: Path
    figures: Mapping[str, Any]

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key of policies: more greedy games finished, then more drawn ones, then lower median time, then metres.

        Without a track: mean return.
        """
        figures = self.figures
        if "finishes" not in figures:
            return (figures["mean_return"],)
        median = figures["median_seconds"]
        drawn = _share(figures["drawn"]) if "drawn" in figures else 0.0
        return (_share(figures), drawn, -math.inf if median is None else -median, figures["mean_metres"])


def finalists(run: Path, start: Path) -> list[Candidate]:
    """The evaluated policies of the run in `run` that lead by their greedy games, earliest first.

    start: file of the initial policy, which is one of those evaluated. Raises BadInput for a file that is not an
    evaluation.
    """
    found = _candidates(run, start)
    most = max(one.rank[0] for one in found)
    return [one for one in found if one.rank[0] == most]


def best_policy(run: Path, start: Path) -> Candidate:
    """The best evaluated policy of the run in `run`; the earliest of equals. start: as for `finalists`."""
    return max(_candidates(run, start), key=lambda one: one.rank)


def _share(figures: Mapping[str, Any]) -> float:
    return float(figures["finishes"] / figures["episodes"])


def _candidates(run: Path, start: Path) -> list[Candidate]:
    found = [
        Candidate(start if path.name == START else path.with_suffix(".safetensors"), path, read_evaluation(path))
        for path in (run / "phases").glob("*.json")
    ]
    return sorted(found, key=lambda one: one.figures.get("decisions", 0))

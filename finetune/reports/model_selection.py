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
        """Sort key of policies: more greedy games finished, then lower median time, then metres.

        Without a track: mean return.
        """
        figures = self.figures
        if "finishes" not in figures:
            return (figures["mean_return"],)
        median = figures["median_seconds"]
        share = figures["finishes"] / figures["episodes"]
        return (share, -math.inf if median is None else -median, figures["mean_metres"])


def best_policy(run: Path, start: Path) -> Candidate:
    """Return the best evaluated policy of the run in `run`; the earliest of equals.

    start: file of the initial policy, which is one of them. Raises BadInput for a file that is not an evaluation.
    """
    found = [
        Candidate(start if path.name == START else path.with_suffix(".safetensors"), path, read_evaluation(path))
        for path in (run / "phases").glob("*.json")
    ]
    found.sort(key=lambda one: one.figures.get("decisions", 0))
    return max(found, key=lambda one: one.rank)

"""The best policy of those that a run evaluated."""

import json
from pathlib import Path
from typing import Any

import pytest
from qwop.finetune.reports.model_selection import best_policy


def figures(finishes: int, median: float | None = 45.0, metres: float = 100.0) -> dict[str, Any]:
    return {"finishes": finishes, "episodes": 31, "median_seconds": median, "mean_metres": metres}


@pytest.mark.parametrize(
    ("evaluations", "best"),
    [
        ([figures(20), figures(31), figures(30, 44.0)], 1),  # finishes first
        ([figures(31), figures(31, 44.9), figures(31, 45.1)], 1),  # then time
        ([figures(0, None, 3.0), figures(0, None, 40.0), figures(0, None, 39.0)], 1),  # then metres
        ([figures(31), figures(31)], 0),  # the earliest of equals
        ([figures(31), figures(30)], 0),  # the initial policy may be it
        ([{"mean_return": 9.0}, {"mean_return": 11.0}, {"mean_return": 10.0}], 1),
    ],
)
def test_the_best_has_most_finishes_then_the_lowest_time(
    tmp_path: Path, evaluations: list[dict[str, Any]], best: int
) -> None:
    (tmp_path / "phases").mkdir()
    names = ["0-start", *(f"1-race-{number}00" for number in range(1, len(evaluations)))]
    for number, (name, one) in enumerate(zip(names, evaluations, strict=True)):
        document = {"episodes": 31, "decisions": 100 * number, **one}
        (tmp_path / "phases" / f"{name}.json").write_text(json.dumps(document))
    found = best_policy(tmp_path, tmp_path / "start.safetensors")
    assert found.evaluation == tmp_path / "phases" / f"{names[best]}.json"
    policies = [tmp_path / "start.safetensors", *(tmp_path / "phases" / f"{name}.safetensors" for name in names[1:])]
    assert found.policy == policies[best]

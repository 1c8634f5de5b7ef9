"""The best policy of those that a run evaluated."""

import json
from pathlib import Path
from typing import Any

import pytest
from qwop.finetune.reports.kept_policy import best_candidate


def figures(finishes: int, drawn: int, median: float | None = 45.0, metres: float = 100.0) -> dict[str, Any]:
    games = {"finishes": finishes, "episodes": 31, "median_seconds": median, "mean_metres": metres}
    return {**games, "drawn": {"finishes": drawn, "episodes": 100}}


@pytest.mark.parametrize(
    ("evaluations", "best"),
    [
        ([figures(20, 90), figures(31, 80), figures(30, 99, 44.0)], 1),  # greedy finishes first
        ([figures(31, 80), figures(31, 81, 46.0), figures(31, 79, 44.0)], 1),  # then drawn ones
        ([figures(31, 80, 45.0), figures(31, 80, 44.9), figures(31, 80, 45.1)], 1),  # then time
        ([figures(0, 0, None, 3.0), figures(0, 0, None, 40.0), figures(0, 0, None, 39.0)], 1),  # then metres
        ([figures(31, 80), figures(31, 80)], 0),  # the earliest of equals
        ([figures(31, 80), figures(30, 80)], 0),  # the initial policy may be it
        ([{"mean_return": 9.0}, {"mean_return": 11.0}, {"mean_return": 10.0}], 1),
        ([{"mean_return": 9.0, "drawn": {"mean_return": 1.0}}, {"mean_return": 9.0, "drawn": {"mean_return": 2.0}}], 1),
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
    found = best_candidate(tmp_path, tmp_path / "start.safetensors")
    assert found.name == names[best]
    policies = [tmp_path / "start.safetensors", *(tmp_path / "phases" / f"{name}.safetensors" for name in names[1:])]
    assert found.policy == policies[best]

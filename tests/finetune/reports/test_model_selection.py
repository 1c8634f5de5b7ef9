"""The best policy of those that a run evaluated."""

import json
from pathlib import Path
from typing import Any

import pytest
from qwop.finetune.reports.model_selection import best_policy, finalists


def figures(
    finishes: int, median: float | None = 45.0, metres: float = 100.0, drawn: int | None = None
) -> dict[str, Any]:
    more = {} if drawn is None else {"drawn": {"finishes": drawn, "episodes": 100}}
    return {"finishes": finishes, "episodes": 31, "median_seconds": median, "mean_metres": metres, **more}


def write(run: Path, evaluations: list[dict[str, Any]]) -> list[str]:
    """Write the evaluations of a run's start and within a phase; return their names."""
    (run / "phases").mkdir()
    names = ["0-start", *(f"1-race-{number}00" for number in range(1, len(evaluations)))]
    for number, (name, one) in enumerate(zip(names, evaluations, strict=True)):
        document = {"episodes": 31, "decisions": 100 * number, **one}
        (run / "phases" / f"{name}.json").write_text(json.dumps(document))
    return names


@pytest.mark.parametrize(
    ("evaluations", "best"),
    [
        ([figures(20), figures(31), figures(30, 44.0)], 1),  # finishes first
        ([figures(31, 44.0, drawn=93), figures(31, drawn=97), figures(30, drawn=99)], 1),  # then drawn ones
        ([figures(31, 43.5, drawn=99), figures(31, 42.7, drawn=97), figures(31, 42.0, drawn=96)], 1),  # but for chance
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
    names = write(tmp_path, evaluations)
    found = best_policy(tmp_path, tmp_path / "start.safetensors")
    assert found.evaluation == tmp_path / "phases" / f"{names[best]}.json"
    policies = [tmp_path / "start.safetensors", *(tmp_path / "phases" / f"{name}.safetensors" for name in names[1:])]
    assert found.policy == policies[best]


def test_the_fastest_of_those_that_lead_by_greedy_games_play_drawn_ones(tmp_path: Path) -> None:
    names = write(tmp_path, [figures(30, 40.0, drawn=100), *(figures(31, 45.0 - number) for number in range(6))])
    found = finalists(tmp_path, tmp_path / "start.safetensors")
    assert [one.evaluation.stem for one in found] == names[:2:-1]


def test_a_fast_policy_that_played_no_drawn_games_is_not_the_best_where_others_finished_some(tmp_path: Path) -> None:
    names = write(tmp_path, [figures(31, 43.0), figures(31, 44.0, drawn=90), figures(31, 43.5)])
    assert best_policy(tmp_path, tmp_path / "start.safetensors").evaluation.stem == names[1]

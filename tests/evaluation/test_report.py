"""The numbers behind the charts of a report."""

from collections.abc import Mapping
from typing import Any

import pytest
from qwop.evaluation import report
from qwop.evaluation.results import GameResult, Splits


def test_the_charts_show_shares_of_all_games_and_medians_of_those_that_came_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: dict[str, Any] = {}

    def noted(title: str, shown: Mapping[str, Any], *rest: Any, **more: Any) -> str:
        lines[title] = shown[""]
        return title

    monkeypatch.setattr(report, "line_chart", noted)
    runs = [  # number, outcome, metres, seconds, idle frames, seconds to the first and last mark
        (0, "finished", 100.4, 50.0, 7, 6.0, 40.0),
        (1, "finished", 100.4, 54.0, 7, 8.0, 44.0),
        (2, "finished", 100.4, 60.0, 2, 10.0, 45.0),
        (3, "fell", 30.0, 20.0, 2, 12.0, None),
    ]
    report.charts(
        {
            "": [
                GameResult(n, n, outcome, 9, 2.0 * n, metres, seconds, idle, Splits((first, None, None, last), None))
                for n, outcome, metres, seconds, idle, first, last in runs
            ]
        }
    )
    assert lines["share of games finished, by time"][-1] == (60.0, 0.75)
    assert lines["share of games, by distance"][-1] == (100.4, 1.0)
    assert lines["time by the place, median, s"] == [(10.0, 9.0), (75.0, 44.0), (100.0, 54.0)]
    assert lines["time of finished games, s"] == [(2.0, 60.0), (7.0, 52.0)]
    assert lines["share of games, by return"][-1] == (6.0, 1.0)

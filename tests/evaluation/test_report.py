"""The numbers behind the charts of a report."""

from collections.abc import Mapping
from typing import Any

import pytest
from qwop.evaluation import report
from qwop.evaluation.figures import GameResult


def test_the_charts_show_shares_of_all_games_and_medians_of_those_that_came_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: dict[str, Any] = {}

    def noted(title: str, shown: Mapping[str, Any], *rest: Any, **more: Any) -> str:
        lines[title] = shown[""]
        return title

    monkeypatch.setattr(report, "line_chart", noted)
    runs = [  # outcome, metres, seconds, idle frames
        ("finished", 100.4, 50.0, 7), ("finished", 100.4, 54.0, 7), ("finished", 100.4, 60.0, 2),
        ("fell", 30.0, 20.0, 2),
    ]  # fmt: skip
    report.charts({"": [GameResult(n, n, outcome, 9, 2.0 * n, *numbers) for n, (outcome, *numbers) in enumerate(runs)]})
    assert lines["share of games finished, by time"][-1] == (60.0, 0.75)
    assert lines["share of games, by distance"][-1] == (100.4, 1.0)
    assert lines["time of finished games, s"] == [(2.0, 60.0), (7.0, 52.0)]
    assert lines["share of games, by return"][-1] == (6.0, 1.0)

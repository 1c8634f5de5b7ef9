"""Rows of figures, and the numbers behind the charts of a report."""

from collections.abc import Mapping
from typing import Any

import pytest
from qwop.envs.spec import EnvironmentSpec
from qwop.evaluation import report
from qwop.evaluation.evaluate import Evaluation
from qwop.evaluation.figures import GameResult
from qwop.evaluation.report import figure_rows
from qwop.evaluation.settings import EvaluationSettings

from ..fakes import game_without_rows


def test_the_charts_show_shares_of_all_games(
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
    assert lines["share of games, by return"][-1] == (6.0, 1.0)


def test_every_figure_of_a_run_has_its_row() -> None:
    runs = [GameResult(n, n, "finished", 9, 100.0 + n, 100.5, 50.0 + n, n) for n in range(3)]
    fell = GameResult(3, 3, "fell", 5, 1.0, 2.5, 4.0, 3)
    evaluation = Evaluation(EnvironmentSpec("QWOP-v1"), EvaluationSettings(seed=8), (*runs, fell), game_without_rows())
    columns, rows = figure_rows(evaluation)
    found = dict(rows)
    assert columns == [""]
    assert found["games"] == "4, drawn by seed 8"
    assert found["finished"] == "3 of 4"
    assert (found["best time"], found["median time"]) == ("50.00 s", "51.00 s")
    assert found["mean time"] == "51.00 s (95 %: 50.00 to 52.00)"
    assert found["best distance"] == "100.50 m"
    assert found["best return"] == "102.00"
    assert [*found] == [
        "games", "finished", "best time", "median time", "mean time", "mean distance", "best distance",
        "mean return", "best return",
    ]  # fmt: skip

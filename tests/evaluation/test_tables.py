"""The figures of an evaluation in words."""

from qwop.envs.spec import EnvironmentSpec
from qwop.evaluation.evaluate import Evaluation
from qwop.evaluation.figures import GameResult
from qwop.evaluation.report import figure_rows
from qwop.evaluation.settings import EvaluationSettings

from ..fakes import game_without_rows


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

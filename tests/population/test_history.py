"""The log of a population's rounds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.population.evolution import Member
from qwop.population.history import HISTORY, History, read_history
from qwop.population.population import Round
from qwop.population.ratings import Ratings


def round_of(number: int) -> Round:
    ratings = Ratings(np.array([1000.0]), np.array([0.0]))
    return Round(number, 8 * number, (Member(0, 1000.0, {"lr": 0.1}),), ratings, (), ({},), {"playing": 0.5})


def test_seconds_add_up_over_rounds_and_resumptions(tmp_path: Path) -> None:
    history = History(tmp_path)
    assert [history.write(round_of(number), 2.0)["seconds"] for number in (1, 2, 3)] == [2.0, 4.0, 6.0]
    resumed = History(tmp_path, resume_at=2)
    row = resumed.write(round_of(3), 0.75)
    assert (row["seconds"], row["decisions"]) == (4.75, 24)
    assert row["time"] == {"playing": 0.5, "other": 0.25}
    assert [one["round"] for one in History(tmp_path, resume_at=9).rows] == [1, 2, 3]


def test_measurements_of_an_agent_that_diverged_are_left_out(tmp_path: Path) -> None:
    row = History(tmp_path).write(replace(round_of(1), figures=({"games": 3.0, "entropy": float("nan")},)), 2.0)
    assert row["agents"][0]["figures"] == {"games": 3.0}


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"rating": ', '"rating": "x", "was": '),
        ('"agents": [', '"agents": [1, '),
        ('"copies": []', '"copies": [[7, 0]]'),
    ],
)
def test_a_history_of_other_values_is_refused(found: str, instead: str, tmp_path: Path) -> None:
    History(tmp_path).write(round_of(1), 2.0)
    assert len(read_history(tmp_path)) == 1
    path = tmp_path / HISTORY
    path.write_text(path.read_text().replace(found, instead, 1))
    with pytest.raises(BadInput, match=HISTORY):
        read_history(tmp_path)

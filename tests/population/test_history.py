"""The log of a population's rounds."""

from pathlib import Path

import pytest
from qwop.common.errors import BadInput
from qwop.population.history import HISTORY, Agent, History, Row, read_history


def row(number: int) -> Row:
    agent = Agent(id=0, rating=1000.0, error=0.0, generation=0, founder=0, genes={"lr": 0.1}, rewards={}, figures={})
    return Row(round=number, decisions=8 * number, agents=[agent], rivals=[], copies=[], diverged=[])


def test_seconds_add_up_over_rounds_and_resumptions(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in (1, 2, 3):
        history.write(row(number), 2.0)
    resumed = History(tmp_path, resume_at=2)
    resumed.write(row(3), 0.75)
    assert [one.seconds for one in resumed.rows] == [2.0, 4.0, 4.75]
    assert read_history(tmp_path) == History(tmp_path, resume_at=9).rows == resumed.rows


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"rating":', '"rating": "x", "was":'),
        ('"agents":[', '"agents": [1, '),
        ('"copies":[]', '"copies": [[7, 0]]'),
    ],
)
def test_a_history_of_other_values_is_refused(found: str, instead: str, tmp_path: Path) -> None:
    History(tmp_path).write(row(1), 2.0)
    path = tmp_path / HISTORY
    path.write_text(path.read_text().replace(found, instead, 1))
    with pytest.raises(BadInput, match=HISTORY):
        read_history(tmp_path)

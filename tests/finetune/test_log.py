"""The log of a run, and the numbers between two of its rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.finetune.experience.collector import EpisodeStats
from qwop.finetune.log import METRICS, RunLog, UpdateStats, read_metrics


def end(**more: float | bool | None) -> EpisodeStats:
    values = {"metres": None, "seconds": None, "finished": None, **more}
    return EpisodeStats(total_reward=2.0, decisions=10, **values)  # type: ignore[arg-type]


def ran(seconds: float | None, finished: bool = True) -> EpisodeStats:
    return end(metres=100.0, seconds=seconds, finished=finished)


def test_a_row_has_the_means_of_everything_gathered_and_empties_it() -> None:
    log = RunLog(Path())
    log.add_episodes([end(metres=10.0, seconds=4.0, finished=False)])
    log.add_episodes([end(metres=100.0, seconds=60.0, finished=True)])
    log.add_update(UpdateStats({"kl": 0.1}, {}))
    log.add_batch(np.array([0, 0, 1, 0], dtype=np.int8), UpdateStats({"kl": 0.3}, {"live": {"rho": 1.0}}))
    log.add_batch(np.array([1, 1, 1, 1], dtype=np.int8), None)
    assert log.row() == pytest.approx(
        {
            "live/episodes": 2.0,
            "live/return": 2.0,
            "live/decisions": 10.0,
            "live/metres": 55.0,
            "live/finish_share": 0.5,
            "live/seconds_of_finishers": 60.0,
            "live/best_seconds": 60.0,
            "learner/kl": 0.2,
            "live/rho": 1.0,
            "sampled/live": 3 / 8,
            "sampled/demonstrations": 5 / 8,
        }
    )
    assert log.row() == {}


def test_an_environment_that_reports_no_run_has_returns_alone() -> None:
    log = RunLog(Path())
    log.add_episodes([end()])
    assert log.row() == {"live/episodes": 1.0, "live/return": 2.0, "live/decisions": 10.0}


def test_seconds_count_from_the_beginning_over_every_resumption(tmp_path: Path) -> None:
    first = RunLog(tmp_path)
    first.open()
    first.add_episodes([ran(60.0), ran(50.0), ran(3.0, finished=False)])
    row = first.write(100, 100, "alone", {})
    assert (row["live/best_seconds"], row["live/seconds_of_finishers"]) == (50.0, 55.0)
    assert row["time/seconds"] == pytest.approx(100 / row["speed/decisions_per_second"])
    first.write(200, 100, "alone", {})
    first.write(300, 100, "alone", {})  # after the checkpoint that is resumed from
    first.close()

    rows = read_metrics(tmp_path)
    rows[1]["time/seconds"] = 5000.0
    (tmp_path / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    second = RunLog(tmp_path)
    second.open(resume_at=200)
    row = second.write(300, 100, "alone", {})
    second.close()
    assert 5000 < row["time/seconds"] < 5060
    assert [row["decisions"] for row in read_metrics(tmp_path)] == [100, 200, 300]


@pytest.mark.parametrize(
    "change",
    [
        {"decisions": "200"},
        {"phase": 3},
        {"speed/decisions_per_second": 0.0},
        {"live/metres": "far"},
        {"learner/kl": [1]},
    ],
)
def test_a_row_that_this_program_would_not_write_is_refused_and_one_that_is_cut_off_left_out(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    rows = [{"decisions": count, "phase": "alone", "speed/decisions_per_second": 9.0} for count in (100, 200, 300)]
    rows[1] |= change
    lines = [json.dumps(row) + "\n" for row in rows]
    (tmp_path / METRICS).write_text("".join(lines))
    with pytest.raises(BadInput, match=r"metrics.jsonl: line 2 is not a row of this log; remove it"):
        read_metrics(tmp_path)
    (tmp_path / METRICS).write_text(lines[0] + lines[1][:-1])  # killed while it was written
    assert [row["decisions"] for row in read_metrics(tmp_path)] == [100]

"""The log of a run counts on where a resumed run goes on."""

import json
from pathlib import Path
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.finetune.experience.collector import EpisodeStats
from qwop.finetune.log import METRICS, RunLog, read_metrics


def end(seconds: float | None, frames: int, finished: bool = True) -> EpisodeStats:
    return EpisodeStats(total_reward=1.0, decisions=9, metres=100.0, seconds=seconds, frames=frames, finished=finished)


def test_seconds_and_frames_count_from_the_beginning_over_every_resumption(tmp_path: Path) -> None:
    first = RunLog(tmp_path)
    first.open()
    first.metrics.add_episodes([end(60.0, 1800), end(50.0, 1510), end(3.0, 90, finished=False)])
    row = first.write(100, 100, "alone", {})
    assert (row["live/frames"], row["live/best_seconds"], row["live/seconds_of_finishers"]) == (3400, 50.0, 55.0)
    first.write(200, 100, "alone", {})
    first.metrics.add_episodes([end(None, 7)])
    lost = first.write(300, 100, "alone", {})  # after the checkpoint that is resumed from
    assert lost["live/frames"] == 3407
    first.close()

    rows = read_metrics(tmp_path)
    rows[1]["time/seconds"] = 5000.0
    (tmp_path / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    second = RunLog(tmp_path)
    second.open(resume_at=200)
    second.metrics.add_episodes([end(49.0, 600)])
    row = second.write(300, 100, "alone", {})
    second.close()
    assert row["live/frames"] == 4000
    assert 5000 < row["time/seconds"] < 5060
    assert [row["decisions"] for row in read_metrics(tmp_path)] == [100, 200, 300]


def test_an_environment_without_frames_has_no_count_of_them(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.open()
    log.metrics.add_episodes([EpisodeStats(1.0, 9, None, None, None, None)])
    row = log.write(100, 100, "alone", {})
    log.close()
    assert "live/frames" not in row
    assert row["time/seconds"] == pytest.approx(100 / row["speed/decisions_per_second"])


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


def test_a_log_that_is_a_link_to_itself_is_refused_on_resuming(tmp_path: Path) -> None:
    (tmp_path / METRICS).symlink_to(tmp_path / METRICS)
    with pytest.raises(BadInput, match=METRICS):
        RunLog(tmp_path).open(resume_at=100)

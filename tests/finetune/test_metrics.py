"""The numbers between two rows of a log."""

from contextlib import suppress

import numpy as np
import pytest
from qwop.finetune import metrics as module
from qwop.finetune.experience.collector import EpisodeStats
from qwop.finetune.metrics import Metrics, Timer, UpdateStats


def end(**more: float | bool | None) -> EpisodeStats:
    values = {"metres": None, "seconds": None, "frames": None, "finished": None, **more}
    return EpisodeStats(total_reward=2.0, decisions=10, **values)  # type: ignore[arg-type]


def test_a_row_has_the_means_of_everything_gathered_and_empties_it() -> None:
    metrics = Metrics()
    metrics.add_episodes([end(metres=10.0, seconds=4.0, frames=100, finished=False)])
    metrics.add_episodes([end(metres=100.0, seconds=60.0, frames=1800, finished=True)])
    metrics.add_update(UpdateStats({"kl": 0.1}, {}))
    metrics.add_batch(np.array([0, 0, 1, 0], dtype=np.int8), UpdateStats({"kl": 0.3}, {"live": {"rho": 1.0}}))
    metrics.add_batch(np.array([1, 1, 1, 1], dtype=np.int8), None)
    assert metrics.frames == 1900
    assert metrics.row() == pytest.approx(
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
    assert metrics.row() == {}
    assert metrics.frames == 0


def test_an_environment_that_reports_no_run_has_returns_alone() -> None:
    metrics = Metrics()
    metrics.add_episodes([end()])
    assert metrics.row() == {"live/episodes": 1.0, "live/return": 2.0, "live/decisions": 10.0}


def test_the_stopwatch_adds_up_each_part_since_the_last_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module.time, "perf_counter", lambda: now)
    timer = Timer()
    for seconds in (1.0, 2.0):
        with timer.section("learning"):
            now += seconds
        now += 0.5
    with suppress(RuntimeError), timer.section("memory"):
        now += 0.25
        raise RuntimeError
    assert timer.read() == (4.25, {"learning": 3.0, "memory": 0.25})
    now += 1.0
    assert timer.read() == (1.0, {})

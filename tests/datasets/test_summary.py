from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import DatasetInfo, Episode

from ..fakes import dataset_of


def test_statistics_are_computed_from_the_files_and_in_words(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    def game(rewards: list[float], actions: list[int], **more: Any) -> Episode:
        arrays = {"rewards": np.array(rewards, np.float32), "actions": np.array(actions, np.int16)}
        return make_episode(steps=len(actions), **arrays, **more)

    other = {"outcome": "finished", "player": "another", "keys": None, "metres": None}
    games = game([1, 2, 3], [0, 0, 1]), game([-1, 0.5], [0, 10], times=np.array([1, 2, 4.5]), **other)
    summary = dataset_of(tmp_path, info, *games).summary()
    assert (summary.steps.tolist(), summary.returns.tolist(), summary.seconds[1]) == ([3, 2], [6, -0.5], 3.5)
    assert summary.metres == pytest.approx([12.5, np.nan], nan_ok=True)
    assert summary.action_counts.tolist() == [3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert summary.outcomes == {"finished": 1, "fell": 1}
    assert summary.players == {"somebody": 1, "another": 1}
    assert (summary.episodes, summary.mu, summary.replayable) == (2, {"smoothed(0.05)": 2}, 1)
    rows = dict(summary.rows())
    assert rows["environment"] == "QWOP-v1(frames_per_step=3, reward=speed)"
    assert rows["actions"].startswith("qw 60.0%, qo 20.0%")

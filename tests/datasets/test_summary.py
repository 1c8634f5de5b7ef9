from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset


def rewards(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def test_statistics_are_computed_from_the_files_and_said(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    writer = DatasetWriter(tmp_path, info)
    writer.write(make_episode(steps=3, rewards=rewards(1, 2, 3), actions=np.array([0, 0, 1], dtype=np.int16)))
    writer.write(
        make_episode(
            steps=2,
            rewards=rewards(-1, 0.5),
            actions=np.array([0, 10], dtype=np.int16),
            times=np.array([1, 2, 4.5]),
            outcome="finished",
            player="another",
            keys=None,
            metres=None,
        )
    )
    summary = open_dataset(tmp_path).summary()
    assert summary.episodes == 2
    assert summary.steps.tolist() == [3, 2]
    assert summary.returns.tolist() == [6, -0.5]
    assert summary.seconds[1] == 3.5
    assert summary.metres == pytest.approx([12.5, np.nan], nan_ok=True)
    assert summary.action_counts.tolist() == [3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert summary.outcomes == {"finished": 1, "fell": 1}
    assert summary.players == {"somebody": 1, "another": 1}
    assert summary.mu == {"smoothed(0.05)": 2}
    assert summary.replayable == 1

    rows = dict(summary.rows())
    assert rows["environment"] == "QWOP-v1(frames_per_step=3, reward=speed)"
    assert rows["actions"].startswith("qw 60.0%, qo 20.0%")

"""Times along a run."""

import numpy as np
import pytest
from qwop.envs.qwop.keys_file import read_keys
from qwop.evaluation.results import MARKS, splits_along, splits_of
from qwop.policies.champion import keys_path


def test_the_clock_starts_with_the_first_key_and_marks_count_from_the_frame_that_reaches_them() -> None:
    keys = np.array([0] * 30 + [1] * 570, dtype=np.uint8)
    # Stands for a second, then runs 3 metres a second, but for one second of 6.
    pace = np.array([0.0] * 30 + [0.1] * 270 + [0.2] * 30 + [0.1] * 270)
    metres = pace.cumsum()
    splits = splits_along(np.floor(metres * 10 + 1e-6) / 10, metres, keys)
    assert splits.seconds[0] == pytest.approx(100 / 30)
    assert splits.seconds[1] == pytest.approx(250 / 30)
    assert splits.seconds[2] == pytest.approx((300 - 30 + 30 + (500 - 330)) / 30)
    assert splits.seconds[3] is None
    assert splits.top_speed == pytest.approx(6.0)


def test_a_run_shorter_than_a_second_has_no_fastest_second() -> None:
    splits = splits_along(np.zeros(20), np.zeros(20), np.ones(20, dtype=np.uint8))
    assert splits.top_speed is None
    assert splits.seconds == (None,) * len(MARKS)


def test_the_champions_best_game_passes_its_marks_in_order() -> None:
    splits = splits_of(read_keys(keys_path("champion")))
    seconds = [one for one in splits.seconds if one is not None]
    assert len(seconds) == len(MARKS)
    assert seconds == sorted(seconds)
    assert seconds == pytest.approx([6.53, 11.97, 20.40, 28.93], abs=0.005)
    assert splits.top_speed == pytest.approx(3.14, abs=0.005)

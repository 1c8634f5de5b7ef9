"""Rows of numbers from which pages draw games."""

import numpy as np
from qwop.envs import replay
from qwop.envs.pictures.frame_rows import POSE, rows_of_game


def test_a_row_is_the_pose_the_figures_and_the_keys() -> None:
    keys = np.array([0, 0, 5, 5, 10], np.uint8)
    rows = rows_of_game(keys)
    game = replay(keys)
    np.testing.assert_array_equal(rows[:, :POSE], game.states[:, :, :3].reshape(6, POSE).astype(np.float32))
    np.testing.assert_allclose(rows[:, POSE + 1] * 30, [0, 0, 0, 1, 2, 3], rtol=1e-6)
    np.testing.assert_array_equal(rows[:, POSE + 2], [0, 0, 0, 5, 5, 10])

"""The rows that the page draws."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.envs import replay
from qwop.envs.pictures.frame_rows import POSE, ROW, rows_of_game
from qwop.recorder.live_game import LiveGame
from qwop.recorder.page.rows import advanced, row_of

KEYS = st.lists(st.tuples(st.integers(0, 15), st.integers(1, 20)), min_size=1, max_size=12).map(
    lambda held: np.repeat([keys for keys, _ in held], [frames for _, frames in held]).tolist()
)


@given(keys=KEYS, parts=st.integers(1, 7))
@settings(max_examples=20, deadline=None)
def test_a_live_game_is_drawn_as_its_replay_is(keys: Any, parts: int) -> None:
    game = LiveGame()
    rows = [row_of(game)[None]]
    for part in np.array_split(np.array(keys), parts):
        rows.append(advanced(game, part.tolist()))
    drawn = np.concatenate(rows)
    assert drawn.shape == (len(game.keys) + 1, ROW)
    np.testing.assert_array_equal(drawn, rows_of_game(game.keys))


def test_a_row_is_the_pose_the_figures_and_the_keys() -> None:
    keys = np.array([0, 0, 5, 5, 10], np.uint8)
    rows = rows_of_game(keys)
    game = replay(keys)
    np.testing.assert_array_equal(rows[:, :POSE], game.states[:, :, :3].reshape(6, POSE).astype(np.float32))
    np.testing.assert_allclose(rows[:, POSE + 1] * 30, [0, 0, 0, 1, 2, 3], rtol=1e-6)
    np.testing.assert_array_equal(rows[:, POSE + 2], [0, 0, 0, 5, 5, 10])


def test_no_frame_is_played_after_the_end() -> None:
    game = LiveGame()
    rows = advanced(game, [4] * 200)  # O: falls
    assert game.over
    assert len(rows) == len(game.keys) < 200
    assert len(advanced(game, [1, 1])) == 0

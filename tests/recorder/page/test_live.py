"""A game under way at the page, and the moments that the page draws."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.envs import replay
from qwop.recorder.page.live import LiveGame
from qwop.recorder.page.rows import POSE, ROW, rows_of_game

KEYS = st.lists(st.tuples(st.integers(0, 15), st.integers(1, 20)), min_size=1, max_size=12).map(
    lambda held: np.repeat([keys for keys, _ in held], [frames for _, frames in held]).tolist()
)


@given(keys=KEYS, parts=st.integers(1, 7))
@settings(max_examples=20, deadline=None)
def test_what_is_drawn_live_is_what_a_replay_shows(keys: Any, parts: int) -> None:
    game = LiveGame()
    rows = [game.row()[None]]
    for part in np.array_split(np.array(keys), parts):
        rows.append(game.advance(part.tolist()))
    shown = np.concatenate(rows)
    assert shown.shape == (len(game.keys) + 1, ROW)
    np.testing.assert_array_equal(shown, rows_of_game(game.keys))


def test_a_row_is_the_pose_the_figures_and_the_keys() -> None:
    keys = np.array([0, 0, 5, 5, 10], np.uint8)
    rows = rows_of_game(keys)
    game = replay(keys)
    np.testing.assert_array_equal(rows[:, :POSE], game.states[:, :, :3].reshape(6, POSE).astype(np.float32))
    np.testing.assert_allclose(rows[:, POSE + 1] * 30, [0, 0, 0, 1, 2, 3], rtol=1e-6)
    np.testing.assert_array_equal(rows[:, POSE + 2], [0, 0, 0, 5, 5, 10])


def test_a_game_that_ends_plays_no_frame_more() -> None:
    game = LiveGame()
    rows = game.advance([4] * 200)  # O: falls
    assert game.over
    assert len(rows) == len(game.keys) < 200
    assert len(game.advance([1, 1])) == 0
    assert game.summary()["outcome"] == "fell"
    assert not game.stopped_by_limit


def test_a_game_without_a_key_was_not_played() -> None:
    game = LiveGame()
    game.advance([0] * 30)
    assert not game.played
    game.advance([8])
    assert game.played
    assert game.summary()["outcome"] == "stopped"


def test_the_time_limit_ends_a_game() -> None:
    game = LiveGame()
    game.advance([1] * 4000)
    assert game.over
    assert game.stopped_by_limit
    assert len(game.keys) == 3600 - 1

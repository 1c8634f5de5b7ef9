"""Recorded games of the original, played again.

`recorded_games.npz` holds the keys of a dozen games and the original's states at some of their frames, after both
resets. Nothing in the engine depends on the platform's libraries, so equality to the bit is asked everywhere.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.envs import replay

GAMES = np.load(Path(__file__).parents[1] / "recorded_games.npz")
NAMES = sorted({name.split("/")[0] for name in GAMES.files if "/" in name})
TRACES = Path(__file__).parents[3] / "shared" / "game" / "traces"


@pytest.mark.parametrize("reset", ["a", "b"])
@pytest.mark.parametrize("name", NAMES)
def test_recorded_game_is_replayed_to_the_bit(name: str, reset: str) -> None:
    frames = GAMES[f"{name}/frames_{reset}"]
    states, events = GAMES[f"{name}/states_{reset}"], GAMES[f"{name}/events_{reset}"]
    game = replay(GAMES[f"{name}/keys"], reset=reset)
    assert len(game.states) == frames[-1] + 1
    np.testing.assert_array_equal(game.states[frames], states)
    np.testing.assert_array_equal(game.events[frames, :5], events[:, :5])


@pytest.mark.skipif(not TRACES.is_dir(), reason=f"the whole recordings are not beside the project ({TRACES.name})")
def test_all_measured_games_are_replayed_to_the_bit() -> None:
    for file in sorted(TRACES.glob("*.npz")):
        trace = np.load(file)
        for reset in "ab":
            game = replay(trace["keys"], reset=reset)
            np.testing.assert_array_equal(game.states, trace[f"states_{reset}"], err_msg=f"{file.stem}, reset {reset}")
            np.testing.assert_array_equal(game.events[:, :5], trace[f"events_{reset}"][:, :5])


@settings(deadline=None, max_examples=20)
@given(keys=st.lists(st.integers(0, 15), max_size=200), cut=st.integers(0, 200))
def test_a_prefix_of_the_keys_gives_a_prefix_of_the_game(keys: list[int], cut: int) -> None:
    whole, part = replay(keys), replay(keys[:cut])
    np.testing.assert_array_equal(whole.states[: len(part.states)], part.states)


def test_a_game_ends_with_the_fall_and_plays_no_further() -> None:
    game = replay(np.full(400, 4 | 8, dtype=np.uint8))
    assert len(game.states) < 401
    assert game.events[-1, 4] == 1
    assert not game.events[:-1, 4].any()

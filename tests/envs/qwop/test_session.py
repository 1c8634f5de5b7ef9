"""Pages and their games, played again from their keys."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.engine.page import play_together
from qwop.envs.qwop.session import GameStart, Opening, PlayedGame, Session

KEYS = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 15)), max_size=12).map(
    lambda runs: np.repeat([keys for _, keys in runs], [frames for frames, _ in runs]).astype(np.uint8)
)
OPENINGS = st.builds(Opening, st.integers(1, 3), st.integers(0, 15), st.integers(0, 200))
GAMES = st.builds(PlayedGame, KEYS, OPENINGS)
STARTS = st.builds(GameStart, st.lists(GAMES, max_size=2).map(tuple), OPENINGS, st.sampled_from(["current", "fdlibm"]))


@settings(max_examples=20, deadline=None)
@given(STARTS, KEYS, KEYS)
def test_a_session_goes_on_from_its_saved_state(start: GameStart, first: np.ndarray, second: np.ndarray) -> None:
    session = start.session()
    session.play(first)
    saved = session.get_state()
    expected = session.play(second)
    other = Session(start.trigonometry)
    other.set_state(saved)
    np.testing.assert_array_equal(other.play(second).states, expected.states)
    np.testing.assert_array_equal(other.get_state()["reals"], session.get_state()["reals"])


@settings(max_examples=50, deadline=None)
@given(STARTS)
def test_a_start_survives_json(start: GameStart) -> None:
    read = GameStart.from_json(json.loads(json.dumps(start.to_json())))
    assert (read.opening, read.trigonometry, len(read.before)) == (start.opening, start.trigonometry, len(start.before))
    for one, other in zip(read.before, start.before, strict=True):
        assert one.opening == other.opening
        np.testing.assert_array_equal(one.keys, other.keys)


def test_two_resets_are_the_second_game_only_of_a_page_that_was_left_as_it_was() -> None:
    keys = np.repeat([9, 6] * 6, 10)
    b = replay(keys, reset="b")
    np.testing.assert_array_equal(b.states, replay(keys, before=[np.zeros(0, np.uint8)]).states)


def test_frames_one_by_one_are_the_game_and_none_is_played_after_its_end() -> None:
    session, game = Session(), replay([9] * 300)
    session.begin()
    played = [session.play([9]).states[-1] for _ in range(300)]
    np.testing.assert_array_equal(played[: len(game.states) - 1], game.states[1:])
    np.testing.assert_array_equal(played[-1], game.states[-1])


def test_the_libraries_differ_in_last_bits_alone_for_a_while() -> None:
    keys = [9, 9, 9, 6, 6, 6] * 10
    today, then = replay(keys).states, replay(keys, trigonometry="fdlibm").states
    assert (today != then).any()
    np.testing.assert_allclose(today[:20], then[:20], atol=1e-9)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: replay([16]), "keys: expected"),
        (lambda: replay([0.5]), "keys: expected"),
        (lambda: replay([[1]]), "from 0 to 15, found int64 of shape (1, 1)"),
        (lambda: replay([1], before=[[3, 99]]), "from 0 to 15, found 99"),
        (lambda: replay([1], reset="c"), "reset=c: expected one of a, b"),
        (lambda: replay([1], trigonometry="tables"), "trigonometry=tables: expected one of current, fdlibm"),
        (lambda: Session("tables"), "trigonometry=tables"),
        (lambda: Opening(resets=0), "resets=0: expected a whole number from 1"),
        (lambda: Opening(held=16), "held=16"),
        (lambda: GameStart.from_json([]), "not the start of a game"),
        (lambda: GameStart.from_json({**GameStart().to_json(), "before": [{"keys": [[0, 1]]}]}), "not the keys"),
        (lambda: GameStart.from_json({**GameStart().to_json(), "resets": "1"}), "resets='1'"),
    ],
)
def test_wrong_input_is_named(make: object, said: str) -> None:
    assert callable(make)
    with pytest.raises(BadInput) as refused:
        make()
    assert said in str(refused.value)


def test_games_side_by_side_are_those_played_alone() -> None:
    """More games than lanes, of different lengths, one of them without a frame and one that has ended."""
    generator = np.random.default_rng(1)
    lengths = [0, 1, 60, 400, 30, 90, 7, 200, 50, 31, 2, 120]
    keys = [generator.integers(0, 16, length).repeat(3).astype(np.uint8) for length in lengths]
    keys.append(np.full(300, 4, np.uint8))  # falls
    alone = [GameStart().session() for _ in keys]
    alone[3].play(np.full(300, 4, np.uint8))
    states = [session.get_state() for session in alone]
    reals, integers = (np.stack([state[name] for state in states]) for name in ("reals", "integers"))
    games = play_together(reals, integers, keys)
    for session, row, game, pressed in zip(alone, reals, games, keys, strict=True):
        expected = session.play(pressed)
        assert expected.hidden is not None
        rows = np.concatenate([expected.states.reshape(len(game), -1), expected.events, expected.hidden], axis=1)
        np.testing.assert_array_equal(game, rows)
        np.testing.assert_array_equal(row, session.get_state()["reals"])


RECORDED = np.load(Path(__file__).parents[1] / "recorded_games.npz")
NAMES = sorted({name.split("/")[0] for name in RECORDED.files if "/" in name})


@pytest.mark.parametrize("reset", ["a", "b"])
@pytest.mark.parametrize("name", NAMES)
def test_recorded_game_is_replayed_to_the_bit(name: str, reset: str) -> None:
    frames = RECORDED[f"{name}/frames_{reset}"]
    states, events = RECORDED[f"{name}/states_{reset}"], RECORDED[f"{name}/events_{reset}"]
    game = replay(RECORDED[f"{name}/keys"], reset=reset)
    assert len(game.states) == frames[-1] + 1
    np.testing.assert_array_equal(game.states[frames], states)
    np.testing.assert_array_equal(game.events[frames, :5], events[:, :5])

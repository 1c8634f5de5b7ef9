"""A game that a person plays, frame by frame."""

from qwop.envs import replay
from qwop.recorder.keyboard.live_game import LiveGame


def played(keys: list[int]) -> LiveGame:
    game = LiveGame()
    for held in keys:
        if game.over:
            break
        game.advance(held)
    return game


def test_a_fall_ends_the_game() -> None:
    game = played([4] * 200)  # O
    assert game.over
    assert len(game.keys) < 200
    assert game.outcome == "fell"
    assert game.metres == replay(game.keys).events[-1, 0]
    assert game.seconds * 30 == len(game.keys)


def test_a_game_counts_as_played_from_its_first_key_on() -> None:
    game = played([0] * 30)
    assert (game.played, game.seconds) == (False, 0)
    game.advance(8)
    assert (game.played, game.outcome) == (True, "stopped")
    assert not game.over


def test_the_time_limit_ends_the_game() -> None:
    game = played([1] * 4000)
    assert game.over
    assert game.outcome == "stopped"
    assert len(game.keys) == 3600 - 1

"""Reconstruction of our own games, sampled as the published recordings were: every frame, to the last bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qwop.datasets.reconstruction import search
from qwop.datasets.reconstruction.recording import ENDING, ReconstructedGame, RecordingSearch
from qwop.datasets.reconstruction.samples import relative_x
from qwop.envs.names import ENDED
from qwop.envs.qwop.session import Opening, PlayedGame, Session


@pytest.fixture
def gives_up_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """For games that are not found from a wrong beginning, which takes longest; the right ones are found by then."""
    monkeypatch.setattr(search, "MOST_GAMES", 2_000)


def reconstructed(samples: list[Any], frames: int = 3, outcome: str = "fell") -> list[ReconstructedGame]:
    recording = RecordingSearch(frames)
    return [recording.reconstruct(relative_x(game), outcome=outcome) for game in samples]


def assert_same_game(game: ReconstructedGame, played: PlayedGame, trigonometry: str) -> None:
    """The keys may differ where the game does not."""
    session = game.start.session()
    states = session.play(game.keys[: game.certain]).states
    original = Session(trigonometry)
    for earlier in game.start.before:
        original.begin(earlier.opening)
        original.play(earlier.keys)
    original.begin(played.opening)
    np.testing.assert_array_equal(states, original.play(played.keys[: game.certain]).states)


@pytest.mark.parametrize("trigonometry", ["fdlibm", "current"])
def test_games_of_a_page_are_found_to_the_last_bit(
    clumsy_games: list[PlayedGame], published: Callable[..., Any], trigonometry: str
) -> None:
    samples, shown = published(clumsy_games, trigonometry)
    found = reconstructed(samples)
    for game, played, frames in zip(found, clumsy_games, shown, strict=True):
        assert game.whole
        assert game.certain == frames[-1]
        assert_same_game(game, played, game.start.trigonometry)
    assert [len(game.start.before) for game in found] == [0, 1, 2]


@pytest.mark.slow
def test_an_expert_is_found_past_the_hurdle_after_a_double_reset(
    expert_games: list[PlayedGame], published: Callable[..., Any]
) -> None:
    games = [expert_games[0], PlayedGame(expert_games[1].keys, Opening(resets=2))]
    samples, _ = published(games)
    first, second = reconstructed(samples)
    assert first.whole
    assert second.whole
    assert (len(second.start.before), second.start.opening.resets) == (1, 2)
    assert_same_game(second, games[1], "fdlibm")


def test_slow_decisions_are_found(clumsy_games: list[PlayedGame], published: Callable[..., Any]) -> None:
    few = [PlayedGame(np.repeat(game.keys[::6], 6)[:90], game.opening) for game in clumsy_games]
    samples, _ = published(few, every=(6, 7))
    assert all(game.whole for game in reconstructed(samples, frames=7))


@pytest.mark.usefixtures("gives_up_early")
def test_frames_before_the_first_click_are_counted(
    clumsy_games: list[PlayedGame], published: Callable[..., Any]
) -> None:
    waited = PlayedGame(np.concatenate([np.zeros(5, np.uint8), clumsy_games[0].keys]), Opening(waiting=124))
    samples, _ = published([waited])
    (game,) = reconstructed(samples)
    assert game.whole
    assert game.start.opening.waiting == 124


@pytest.mark.usefixtures("gives_up_early")
def test_certainty_ends_where_a_sample_cannot_be_explained(
    clumsy_games: list[PlayedGame], published: Callable[..., Any]
) -> None:
    samples, shown = published(clumsy_games[:2])
    wrong = samples[0].copy()
    wrong[9, 1] = np.nextafter(wrong[9, 1], np.inf)  # a single bit is enough
    damaged, after = reconstructed([wrong, samples[1]])
    assert not damaged.whole
    assert damaged.explained == 9
    assert len(damaged.keys) == damaged.certain == shown[0][8]
    assert after.whole, "the next game begins on a page that is not known; before the hurdle that does not matter"
    assert after.start.before == ()


def test_a_game_is_played_to_its_end_after_the_last_sample(
    clumsy_games: list[PlayedGame], published: Callable[..., Any]
) -> None:
    samples, _ = published(clumsy_games[:1])
    (over,) = reconstructed(samples)
    (cut,) = reconstructed(samples, outcome="stopped")
    assert len(cut.keys) == cut.certain == over.certain
    assert over.start.session().play(over.keys).events[-1, ENDED]
    assert 0 < len(over.keys) - over.certain <= ENDING


def test_a_game_that_was_reset_by_hand_is_the_later_one(
    clumsy_games: list[PlayedGame], published: Callable[..., Any]
) -> None:
    given_up = PlayedGame(clumsy_games[0].keys[:20], Opening())
    (first, second), _ = published([given_up, clumsy_games[1]])
    (game,) = reconstructed([np.concatenate([first, second[2:]])])
    assert game.whole
    assert len(game.start.before) == 1
    assert game.start.opening.held == clumsy_games[1].opening.held

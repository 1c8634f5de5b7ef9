"""Games of the original compared with the simulator, by either library of sine and cosine."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.envs import replay
from qwop.envs.engine.interface import TRIGONOMETRIES
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.observations import observe_as
from qwop.envs.qwop.task import outcome_of
from qwop.evaluation.keys_game import agreement_in_words, compare, in_simulator, most_alike
from qwop.policies.champion import keys_path
from qwop.policies.rollout import Game

from ..fakes import game_without_rows


@pytest.fixture(scope="module")
def keys() -> NDArray[np.uint8]:
    return np.array(read_keys(keys_path("champion")), dtype=np.uint8)


def played(keys: NDArray[np.uint8], trigonometry: str, kind: str = "features", lag: int = 0) -> Game:
    """A game of these keys in a browser with this library, whose observations are of this kind, so many frames late."""
    found = replay(keys, trigonometry=trigonometry)
    frames = len(found.states) - 1
    assert found.hidden is not None
    last = frames - lag
    return game_without_rows(
        observations=observe_as(kind, found.states[last], found.events[last], found.hidden[last])[None],
        keys=(keys[:frames],),
        outcome=outcome_of(found.events[-1]),
        info={"score": float(found.events[-1, 0])},
        index=3,
    )


@pytest.mark.parametrize("name", TRIGONOMETRIES)
def test_a_game_agrees_by_the_library_of_its_browser(keys: NDArray[np.uint8], name: str) -> None:
    game = played(keys, name)
    same = compare(game, {})
    assert same.agrees
    figures = same.to_json()
    assert (figures["index"], figures["trigonometry"], figures["largest_difference"]) == (3, name, 0.0)
    assert figures["frames"] == figures["simulator_frames"] == len(np.concatenate(game.keys or ()))
    higher = game.observations.copy()
    higher[0, 5] += 1
    for key, value in (("outcome", "stopped"), ("info", {"score": 1.0}), ("observations", higher)):
        other = compare(replace(game, **{key: value}), {})  # type: ignore[arg-type]
        assert not other.agrees
        assert other.simulator.trigonometry == "current"


def test_observations_are_compared_of_their_kind_and_as_late_as_they_are(keys: NDArray[np.uint8]) -> None:
    game = played(keys[:60], TRIGONOMETRIES[0], "full", lag=1)
    game = replace(game, outcome="stopped")
    assert compare(game, {"observation": "full", "observation_lag": 1}).agrees
    assert not compare(game, {"observation": "full"}).agrees


def test_the_libraries_play_different_games_and_it_is_said_which_agree(keys: NDArray[np.uint8]) -> None:
    games = [compare(played(keys, name), {}) for name in TRIGONOMETRIES]
    assert games[0].simulator.frames != games[1].simulator.frames
    assert agreement_in_words(games[:1]) == "same in the simulator, by their keys: 1 of 1"
    expected = "same in the simulator, by their keys: 2 of 3, 1 by fdlibm's sine and cosine"
    assert agreement_in_words([*games, replace(games[1], largest_difference=1.0)]) == expected


def test_keys_are_compared_by_the_library_with_which_they_are_the_same(keys: NDArray[np.uint8]) -> None:
    for name in TRIGONOMETRIES:
        there = replace(in_simulator(keys, name), trigonometry="unknown")
        here = most_alike(there, keys)
        assert there.same_as(here)
        assert here.trigonometry == name
    neither = replace(in_simulator(keys[:50]), trigonometry="unknown")
    assert neither.outcome == "stopped"
    assert most_alike(neither, keys).trigonometry == "current"

"""Your games on the page: those that the browser keeps, the best of them, and their times along the way."""

from collections.abc import Callable
from typing import Any

import pytest
from qwop.envs.qwop.keys_file import read_keys
from qwop.evaluation.splits import splits_of
from qwop.policies.champion import keys_path

InNode = Callable[..., Any]


def test_times_along_a_run_are_those_of_an_evaluation(in_node: InNode) -> None:
    keys = read_keys(keys_path("champion"))
    *along, landing = in_node("packed_games.js", "splits", keys.tolist())
    assert along == pytest.approx(splits_of(keys).seconds)
    assert landing == pytest.approx(36.97, abs=0.01)
    reached = in_node("packed_games.js", "splits", keys[:400].tolist())
    assert reached == [pytest.approx(along[0]), pytest.approx(along[1]), None, None, None]


def test_the_best_game_is_the_fastest_finish_else_the_farthest_and_the_first_of_equals(in_node: InNode) -> None:
    games = [
        {"number": number, "outcome": outcome, "metres": metres, "seconds": seconds}
        for number, outcome, metres, seconds in (
            (1, "stopped", 104.0, 30.0), (2, "finished", 100.3, 60.0), (3, "finished", 100.1, 50.0),
            (4, "finished", 100.4, 50.0), (5, "fell", 20.0, 9.0), (6, "fell", 21.0, 99.0),
        )
    ]  # fmt: skip
    assert in_node("packed_games.js", "best", games)["number"] == 3
    assert in_node("packed_games.js", "best", games[4:])["number"] == 6
    assert in_node("packed_games.js", "best", []) is None


def test_a_ghosts_clock_starts_with_your_first_key(in_node: InNode) -> None:
    keys = [0] * 20 + [5] * 40 + [10] * 40
    assert in_node("packed_games.js", "ghostClocks", keys, 2.0) == pytest.approx([2.0, 1.0])


def test_the_pacer_is_a_little_ahead_of_your_best_and_never_faster_than_the_record(in_node: InNode) -> None:
    record = {"metres": 100.0, "seconds": 40.0}
    bests = [
        None,
        {"metres": 1.0, "seconds": 10.0},
        {"metres": 50.0, "seconds": 50.0},
        {"metres": 100.0, "seconds": 41.0},
    ]
    metres_a_second = [2.5 * tempo for tempo in in_node("packed_games.js", "paces", record, bests)]
    assert metres_a_second == pytest.approx([0.4, 0.4, 1.1, 2.5])


def test_three_hundred_games_are_kept_the_best_one_among_them(in_node: InNode) -> None:
    game = {"keys": [0, 1, 5], "outcome": "fell", "metres": 1.0, "name": "me", "day": 1}
    short, far = (in_node("packed_games.js", "packed", {**game, "metres": metres}) for metres in (1.0, 90.0))
    found = in_node("packed_games.js", "numbersKept", [far] + [short] * 299, {**game, "seconds": 1.0, "tempo": 1})
    assert found["added"] == [1, *range(3, 302)]
    assert found["removed"] == [number for number in found["added"] if number != 7]
    assert found["restored"] == found["added"]

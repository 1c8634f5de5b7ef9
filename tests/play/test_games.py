"""Your games on the page: those that the browser keeps, the best of them, and their times along the way."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from qwop.envs import replay
from qwop.envs.names import SCORE
from qwop.envs.pictures.video import seconds_from_first_key
from qwop.envs.qwop.keys_file import read_keys
from qwop.policies.champion import keys_path

InNode = Callable[..., Any]


def test_times_along_a_run_are_those_of_the_frames_that_reach_the_marks(in_node: InNode) -> None:
    keys = read_keys(keys_path("champion"))
    *along, landing = in_node("packed_games.js", "splits", keys.tolist())
    score, clock = replay(keys).events[1:, SCORE], seconds_from_first_key(keys)[1:]
    assert along == pytest.approx([clock[np.argmax(score >= mark)] for mark in (10, 25, 50, 75)])
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
    packed = in_node("packed.js", "pack", {**GAME, "name": "me", "day": 1})
    found = in_node("packed_games.js", "numbersKept", packed, [90.0] + [1.0] * 299, GAME)
    assert found["added"] == [1, *range(3, 302)]
    assert found["removed"] == [number for number in found["added"] if number != 7]
    assert found["restored"] == found["added"]


GAME = {"keys": [0, 1, 5], "outcome": "fell", "metres": 1.0, "seconds": 1.0, "tempo": 1}

NO_GAMES = (
    "[null]", "{}", '"x"', "5", "[5, [1]]", '[{"number": 1}]', '[{"number": 0, "packed": 5, "seconds": "x"}]',
    "not JSON",
)  # fmt: skip


@pytest.mark.parametrize("kept", NO_GAMES)
def test_the_page_starts_whatever_the_browser_keeps_and_leaves_what_it_cannot_read(in_node: InNode, kept: str) -> None:
    no_keys = ('{"keys": [1, "x"], "tempo": 1}', '{"keys": {"some": 1}, "tempo": "fast"}')
    others = {"qwop.name": kept, "qwop.running.a": kept, "qwop.running.b": no_keys[0], "qwop.running.c": no_keys[1]}
    started = in_node("packed_games.js", "startedWith", {"qwop.games": kept, **others}, GAME)
    assert (started["numbers"], started["running"]) == ([], [])
    assert started["name"] == ("x" if kept == '"x"' else "me")
    assert started["left"] == ["qwop.running.a", "qwop.running.b", "qwop.running.c"]
    *before, added = started["after"]
    assert added["number"] == 1
    if kept != "not JSON":
        value = json.loads(kept)
        assert before == (value if isinstance(value, list) else [value])


def test_a_game_under_way_of_a_closed_page_is_taken_at_a_known_pace(in_node: InNode) -> None:
    running = {"qwop.running.a": '{"keys": [1, 2], "tempo": 0.5}', "qwop.running.b": '{"keys": [4], "tempo": 7}'}
    started = in_node("packed_games.js", "startedWith", running, GAME)
    assert started["running"] == [{"keys": [1, 2], "tempo": 0.5}, {"keys": [4], "tempo": 1}]
    assert started["left"] == []


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def test_names_are_cut_between_characters_at_forty_and_in_a_link_at_forty_bytes(in_node: InNode) -> None:
    names = {
        "a" * 50: ("a" * 40, "a" * 40),
        "é" * 41: ("é" * 40, "é" * 20),
        "山田太郎" * 4: ("山田太郎" * 4, ("山田太郎" * 4)[:13]),
        "a" * 39 + "\U0001f600" + "b": ("a" * 39 + "\U0001f600", "a" * 39),
        "a" * 38 + FAMILY: ("a" * 38, "a" * 38),  # five code points, 18 bytes
        "e\u0301" * 25: ("e\u0301" * 20, "e\u0301" * 13),
        "\U0001f1e9\U0001f1ea" * 21: ("\U0001f1e9\U0001f1ea" * 20, "\U0001f1e9\U0001f1ea" * 5),  # a flag
        "half \ud83d": ("half", "half"),
        "\ude00": ("", "somebody"),
        "  ": ("", "somebody"),
    }
    assert in_node("packed_games.js", "namesCut", list(names)) == [list(both) for both in names.values()]


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC", "Pacific/Kiritimati", "Asia/Kathmandu"])
def test_a_games_day_is_that_of_the_players_calendar_and_none_of_a_clock_that_is_not_set(
    in_node: InNode, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    evening = datetime(2026, 11, 26, 20, tzinfo=ZoneInfo(zone)).timestamp()
    days = in_node("packed_games.js", "days", [None, -1e12, 0, 1.79e12], 1000 * evening, 20_783)
    # The offset of the zone today, in which the test may run, differs by an hour of summer time at most.
    assert (days["today"], days["shown"]) == (20_783, "11/26/2026")
    assert [day >= 0 for day, _ in days["of"]] == [True] * 4
    assert [shown for _, shown in days["of"]][:2] == [False, False]
    assert days["of"][3][1]

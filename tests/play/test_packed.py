"""Games as links and files of the page, and forged ones."""

import io
import re
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys, write_keys
from qwop.policies.champion import keys_path

from ..envs.qwop.packing import pack, text_of

InNode = Callable[..., Any]

CHAMPION = keys_path("champion")


@pytest.fixture(scope="module")
def game() -> dict[str, Any]:
    """A game that falls, with long and short stretches of the same keys."""
    keys = [0] * 21 + [1] * 3 + [5] * 16 + [6] * 15 + [10, 9, 0, 3] * 4 + [10] * 30 + [5] * 12 + [4] * 20 + [9] * 400
    played = replay(keys)
    frames = len(played.states) - 1
    assert 71 < frames < len(keys)
    return {
        "keys": keys[:frames], "outcome": "fell", "metres": float(played.events[-1, 0]), "name": "Zoë ✓", "day": 20_783,
        "tempo": 0.5,
    }  # fmt: skip


def test_a_packed_game_comes_back_whole_and_is_short(in_node: InNode, game: dict[str, Any]) -> None:
    text = in_node("packed_games.js", "packed", game)
    assert re.fullmatch(r"[\w.-]+", text)
    proof = {"sha256": replay(game["keys"]).sha256}
    assert in_node("packed_games.js", "unpacked", text) == {**game, **proof}
    (verified,) = in_node("packed_games.js", "verified", [text])
    first = next(frame for frame, keys in enumerate(game["keys"]) if keys)
    assert verified == {**game, **proof, "seconds": (len(game["keys"]) - first) / 30}
    best = {"keys": read_keys(CHAMPION).tolist(), "outcome": "finished", "metres": 100.1, "name": "me", "day": 1}
    assert len(in_node("packed_games.js", "packed", best)) < 2000


def test_the_page_and_the_simulator_pack_a_game_the_same(in_node: InNode, game: dict[str, Any]) -> None:
    text = in_node("packed_games.js", "packed", {**game, "tempo": 1})
    packed = pack(np.array(game["keys"], np.uint8), game["name"], game["day"])
    assert text_of(packed) == text
    (proved,) = in_node("packed_games.js", "boardRuns", [["x.txt", in_node("packed_games.js", "fileOf", game)]])
    assert proved["sha256"] == packed.replay().sha256


def test_wrong_claims_and_damaged_games_are_refused(in_node: InNode, game: dict[str, Any]) -> None:
    make = lambda **claims: in_node("packed_games.js", "packed", {**game, **claims})  # noqa: E731
    good = make()
    digest = good.rpartition(".")[2]
    unknown = "cut off, or not one of this page"
    texts = {
        make(outcome="finished"): f"says “finished” at {game['metres']:.1f} m, but at frame {len(game['keys'])}",
        make(metres=99.0): "says “fell” at 99.0 m, but at frame",
        make(keys=[*game["keys"], 1], sha256=digest): f"ends at frame {len(game['keys'])}",
        make(keys=[*game["keys"][:-1], 0], sha256=digest): "another SHA-256",
        make(keys=game["keys"][:-1]): "but at frame",
        "2" + good[1:]: unknown,
        good[:-8]: unknown,
        good[:20]: unknown,
        good + "AAAA": unknown,
        "": unknown,
        "!!!": unknown,
    }
    for said, wanted in zip(in_node("packed_games.js", "verified", list(texts)), texts.values(), strict=True):
        assert isinstance(said, str), said
        assert wanted in said


def test_a_file_of_the_page_is_one_of_the_project(in_node: InNode, game: dict[str, Any], tmp_path: Path) -> None:
    text = in_node("packed_games.js", "fileOf", game)
    path = tmp_path / "game.txt"
    path.write_text(text, encoding="utf-8")
    assert read_keys(path).tolist() == game["keys"]
    (opened,) = in_node("packed_games.js", "filesOpened", [text])
    assert {name: opened[name] for name in game} == game


def test_a_file_of_the_project_opens_on_the_page(in_node: InNode, tmp_path: Path) -> None:
    keys = read_keys(CHAMPION)
    written = write_keys(tmp_path / "best_keys.txt", keys, "the best").read_text()
    by_hand = "\n  3 wq # both\n\n12 -\n0 p\n"
    opened, other = in_node("packed_games.js", "filesOpened", [written, by_hand])
    assert (opened["keys"], opened["outcome"], opened["name"]) == (keys.tolist(), "finished", "a file")
    assert opened["seconds"] == pytest.approx(36.97, abs=0.01)
    (tmp_path / "hand.txt").write_text(by_hand)
    assert other["keys"] == read_keys(tmp_path / "hand.txt").tolist() == [3] * 3 + [0] * 12


def test_changed_files_are_refused(in_node: InNode, game: dict[str, Any]) -> None:
    text = in_node("packed_games.js", "fileOf", game)
    changed = text.replace("\n3 Q\n", "\n3 W\n")
    files = {
        changed: "its keys were changed",
        text.replace("\n3 Q\n", "\n4 Q\n"): "its keys were changed",
        text + "5 Q\n": "its keys were changed",
        changed.replace("\n", "\r\n"): "its keys were changed",
        changed.replace("\n", "\r"): "its keys were changed",
        text.replace("# game: ", "# game: !"): "cut off, or not one of this page",
        text.replace("\n3 Q\n", "\n3 X\n"): "line 6: expected frames and keys",
        "hello": "line 1",
        "# nothing": "0 frames of keys",
        "9999999 Q": "expected 1 to 300000",
    }
    for said, wanted in zip(in_node("packed_games.js", "filesOpened", list(files)), files.values(), strict=True):
        assert isinstance(said, str), said
        assert wanted in said


@pytest.mark.parametrize("zone", ["America/New_York", "UTC", "Asia/Tokyo"])
def test_a_games_day_is_that_of_the_players_calendar_in_every_time_zone(
    in_node: InNode, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    assert in_node("packed_games.js", "shownDay", 20_783) == "11/26/2026"
    evening = datetime(2026, 11, 26, 20, tzinfo=ZoneInfo(zone)).timestamp()
    # The offset of the zone today, in which the test may run, differs by an hour of summer time at most.
    assert in_node("packed_games.js", "dayAt", 1000 * evening) == 20_783


def test_a_zip_of_the_page_is_read_by_others(in_node: InNode) -> None:
    files = {"one.txt": "# QWOP\n3 QP\n", "Zoë ✓.txt": "5 -\n", "empty.txt": ""}
    with zipfile.ZipFile(io.BytesIO(bytes(in_node("packed_games.js", "zipped", list(files.items()))))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name).decode() for name in archive.namelist()} == files

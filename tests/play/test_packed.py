"""Games as links and files of the page and on the board, and forged ones."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.pictures.video import seconds_from_first_key
from qwop.envs.qwop.keys_file import game_of, read_keys, read_lines, write_keys
from qwop.play.site import OWN, files
from qwop.policies.champion import keys_path

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
    text = in_node("packed.js", "pack", game)
    assert re.fullmatch(r"[\w.-]+", text)
    proof = {"sha256": replay(game["keys"]).sha256}
    claims = {name: game[name] for name in ("keys", "name", "day", "tempo")}
    assert in_node("packed_games.js", "unpacked", text) == {**claims, **proof}
    (verified,) = in_node("packed_games.js", "verified", [text])
    first = next(frame for frame, keys in enumerate(game["keys"]) if keys)
    assert verified == {**game, **proof, "seconds": (len(game["keys"]) - first) / 30}
    best = {"keys": read_keys(CHAMPION).tolist(), "name": "me", "day": 1}
    assert len(in_node("packed.js", "pack", best)) < 2000


def test_damaged_games_are_refused(in_node: InNode, game: dict[str, Any]) -> None:
    good = in_node("packed.js", "pack", game)
    texts = ["2" + good[1:], good[:-8], good[:20], good + "AAAA", "", "!!!"]
    damaged = in_node("packed_games.js", "verified", texts)
    assert {"cut off, or not one of this page" in str(one) for one in damaged} == {True}


FORGED = {
    "another digest": ({"sha256": "0" * 64}, "another SHA-256"),
    "other keys": ({"keys": [3] * 30}, "another SHA-256"),
    "keys after the end": ({"more": [4] * 40}, "the game ends at frame"),
}


@pytest.mark.parametrize(("claims", "said"), FORGED.values(), ids=FORGED)
def test_a_forged_link_is_refused(in_node: InNode, game: dict[str, Any], claims: dict[str, Any], said: str) -> None:
    keys = claims.pop("keys", game["keys"]) + claims.pop("more", [])
    text = in_node("packed.js", "pack", {**game, "sha256": replay(game["keys"]).sha256, "keys": keys, **claims})
    (refused,) = in_node("packed_games.js", "verified", [text])
    assert said in str(refused)


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
        text + "5 Q\n": "the game ends at frame", changed: "another SHA-256",
        changed.replace("\n", "\r\n"): "another SHA-256", changed.replace("\n", "\r"): "another SHA-256",
        text.replace("# sha256: ", "# sha256: 0"): "another SHA-256",
        text.replace("\n3 Q\n", "\n3 X\n"): "line 9: expected frames and keys", "hello": "line 1",
        "# nothing": "0 frames of keys", "9999999 Q": "expected 1 to 300000",
    }  # fmt: skip
    for reason, expected in zip(in_node("packed_games.js", "filesOpened", list(files)), files.values(), strict=True):
        assert expected in str(reason)


def test_a_zip_of_the_page_is_read_by_others(in_node: InNode) -> None:
    files = {"one.txt": "# QWOP\n3 QP\n", "Zoë ✓.txt": "5 -\n", "empty.txt": ""}
    with zipfile.ZipFile(io.BytesIO(bytes(in_node("packed_games.js", "zipped", list(files.items()))))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name).decode() for name in archive.namelist()} == files


def test_every_run_of_the_board_plays_as_it_says_in_the_simulator_and_on_the_page(in_node: InNode) -> None:
    board = sorted(OWN.iterdir())
    shown = in_node("packed_games.js", "boardRuns", [[path.name, path.read_text()] for path in board])
    for path, seen in zip(board, shown, strict=True):
        keys, player = game_of(read_lines(path), path)
        assert (seen["frames"], seen["name"], seen["sha256"]) == (len(keys), player, replay(keys).sha256)
        assert seen["seconds"] == pytest.approx(seconds_from_first_key(keys)[-1])


def test_files_that_are_no_runs_of_the_board_are_listed_as_refused(in_node: InNode, game: dict[str, Any]) -> None:
    good = in_node("packed_games.js", "fileOf", game)
    reasons = {
        good: None, good.replace(": human", ": robot"): "its class is robot, expected one of human",
        "3 Q\n": "no line “# sha256: …”", good.replace("# class", "#"): "its class is undefined",
        good.replace("\n3 Q\n", "\n3 W\n"): "the game does not play as it says", "hello\n": "line 1: ",
    }  # fmt: skip
    files = [[f"{number}.txt", text] for number, text in enumerate(reasons)]
    for shown, reason in zip(in_node("packed_games.js", "boardRuns", files), reasons.values(), strict=True):
        assert str(shown.get("refused")).startswith(str(reason))


def test_the_board_of_a_page_is_a_folder_of_files_of_keys(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(BadInput, match="no files of keys"):
            files(folder)
    (tmp_path / "ada.txt").write_text("3 Q\n")
    site = files(tmp_path)
    assert json.loads(site["board.json"]) == ["ada.txt"]
    assert site["board/ada.txt"] == b"3 Q\n"

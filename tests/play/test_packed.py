"""Games as links and files of the page and on the board, and forged ones."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.pictures.video import seconds_from_first_key
from qwop.envs.qwop.keys_file import read_game, read_keys, write_keys
from qwop.envs.qwop.packed_game import PackedGame
from qwop.play.site import OWN, files
from qwop.policies.champion import keys_path

from ..envs.qwop.packing import pack, text_of, write_packed

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


def test_damaged_games_are_refused(in_node: InNode, game: dict[str, Any]) -> None:
    good = in_node("packed_games.js", "packed", game)
    texts = [
        "2" + good[1:],
        good[:-8],
        good[:20],
        good + "AAAA",
        "",
        "!!!",
        good[:-1] + ("0" if good[-1] != "0" else "1"),
    ]
    *damaged, changed = in_node("packed_games.js", "verified", texts)
    assert {"cut off, or not one of this page" in str(one) for one in damaged} == {True}
    assert "another SHA-256" in changed


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
        text + "5 Q\n": "its keys were changed", changed: "its keys were changed",
        changed.replace("\n", "\r\n"): "its keys were changed", changed.replace("\n", "\r"): "its keys were changed",
        text.replace("# game: ", "# game: !"): "cut off, or not one of this page",
        text.replace("\n3 Q\n", "\n3 X\n"): "line 6: expected frames and keys", "hello": "line 1",
        "# nothing": "0 frames of keys", "9999999 Q": "expected 1 to 300000",
    }  # fmt: skip
    for reason, expected in zip(in_node("packed_games.js", "filesOpened", list(files)), files.values(), strict=True):
        assert expected in str(reason)


def test_a_zip_of_the_page_is_read_by_others(in_node: InNode) -> None:
    files = {"one.txt": "# QWOP\n3 QP\n", "Zoë ✓.txt": "5 -\n", "empty.txt": ""}
    with zipfile.ZipFile(io.BytesIO(bytes(in_node("packed_games.js", "zipped", list(files.items()))))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name).decode() for name in archive.namelist()} == files


KEYS = np.repeat([0, 5, 10, 9], [3, 20, 15, 22]).astype(np.uint8)
GAME = pack(KEYS, "ada", 20_783)
LONG = np.append(KEYS, [4] * 300).astype(np.uint8)
CHANGED = np.where(KEYS == 10, 6, KEYS).astype(np.uint8)


def run_file(path: Path, packed: PackedGame = GAME, keys: Any = KEYS, kind: str = "human") -> Path:
    path.parent.mkdir(exist_ok=True)
    write_packed(path, keys, packed)
    path.write_text(path.read_text() + f"# class: {kind}\n")
    return path


def test_every_run_of_the_board_plays_as_it_says_in_the_simulator_and_on_the_page(in_node: InNode) -> None:
    board = sorted(OWN.iterdir())
    shown = in_node("packed_games.js", "boardRuns", [[path.name, path.read_text()] for path in board])
    for path, seen in zip(board, shown, strict=True):
        keys, packed = read_game(path)
        assert packed is not None
        assert seen["sha256"] == packed.sha256 == replay(keys).sha256
        assert (seen["frames"], seen["name"]) == (len(keys), packed.name)
        assert seen["seconds"] == pytest.approx(seconds_from_first_key(keys)[-1])


FORGED: dict[str, tuple[PackedGame, Any, str]] = {
    "edited keys": (GAME, np.where(np.arange(len(KEYS)) == 30, 3, KEYS), "its keys were changed"),
    "a frame more": (GAME, np.append(KEYS, 1), "its keys were changed"),
    "keys and their claim": (replace(GAME, keys=CHANGED), CHANGED, "another SHA-256"),
    "another time": (replace(GAME, keys=KEYS[2:]), KEYS[2:], "another SHA-256"),
    "a frame less": (replace(GAME, keys=KEYS[:-1]), KEYS[:-1], "another SHA-256"),
    "another digest": (replace(GAME, sha256="0" * 64), KEYS, "another SHA-256"),
    "keys after the end": (replace(GAME, keys=LONG), LONG, r"ends at frame \d+"),
    "another distance": (replace(GAME, metres=99.0), KEYS, "at 99.0 m, but at frame 60"),
    "another end": (replace(GAME, outcome="finished"), KEYS, "but at frame 60"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_run_is_refused_by_both(in_node: Callable[..., Any], tmp_path: Path, name: str) -> None:
    packed, keys, said = FORGED[name]
    path = run_file(tmp_path / "board" / "run.txt", packed, keys)
    with pytest.raises(BadInput, match=re.escape(f"{path}: ") + f".*{said}") as refused:
        read_game(path)
    (shown,) = in_node("packed_games.js", "boardRuns", [[path.name, path.read_text()]])
    assert shown["refused"][:13] == str(refused.value).removeprefix(f"{path}: ")[:13]


def test_hundred_forged_texts_are_refused_and_the_true_one_is_not() -> None:
    generator = np.random.default_rng(0)
    text = text_of(GAME)
    assert PackedGame.from_text(text).replay().sha256 == replay(KEYS).sha256
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    refused, harmless = 0, 0
    while refused < 100:
        place, letter = int(generator.integers(len(text))), letters[generator.integers(64)]
        forged = text[:place] + letter + text[place + 1 :]
        try:
            game = PackedGame.from_text(forged)
            game.replay()
        except BadInput:
            refused += 1
            continue
        # The name, the day, the pace, unused bits of Base64, and keys that change nothing are not the game's.
        assert (game.outcome, game.metres) == (GAME.outcome, GAME.metres)
        assert replay(game.keys).sha256 == replay(KEYS).sha256
        harmless += 1
    assert harmless < 40


def test_files_that_are_no_runs_of_the_board_are_listed_as_refused(in_node: InNode, tmp_path: Path) -> None:
    good, robot = (run_file(tmp_path / "run.txt", kind=kind).read_text() for kind in ("human", "robot"))
    reasons = {
        good: None, robot: "its class is robot, expected one of human", "3 Q\n": "no line “# game: ",
        good.split("# class")[0]: "its class is undefined", f"# game: {text_of(GAME)}\n": "0 frames of keys",
        "hello\n": "line 1: ", "\ufffd\0": "line 1: ",
    }  # fmt: skip
    files = [[f"{number}.txt", text] for number, text in enumerate(reasons)]
    for shown, reason in zip(in_node("packed_games.js", "boardRuns", files), reasons.values(), strict=True):
        assert str(shown.get("refused")).startswith(str(reason))


def test_the_board_of_a_page_is_a_folder_of_files_of_keys(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(BadInput, match="no files of keys"):
            files(folder)
    run_file(tmp_path / "ada.txt")
    site = files(tmp_path)
    assert json.loads(site["board.json"]) == ["ada.txt"]
    assert site["board/ada.txt"] == (tmp_path / "ada.txt").read_bytes()

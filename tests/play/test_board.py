"""The board, in the simulator and in the page's engine."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.commands import play as main
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.packed_game import PackedGame
from qwop.play.board import KINDS, OWN, read_board, read_run

from ..envs.qwop.packing import pack, text_of, write_packed

KEYS = np.repeat([0, 5, 10, 9], [3, 20, 15, 22]).astype(np.uint8)
GAME = pack(KEYS, "ada", 20_783)
CHANGED = np.where(KEYS == 10, 6, KEYS).astype(np.uint8)


def run_file(path: Path, packed: PackedGame = GAME, keys: Any = KEYS, kind: str = "human") -> Path:
    path.parent.mkdir(exist_ok=True)
    write_packed(path, keys, packed)
    path.write_text(path.read_text() + f"# class: {kind}\n")
    return path


def test_every_run_plays_as_it_says_in_the_simulator_and_on_the_page_in_the_order_of_times(
    in_node: Callable[..., Any],
) -> None:
    board, refused = read_board(OWN)
    assert refused == []
    assert [run.seconds for run in board] == sorted(run.seconds for run in board)
    assert {run.outcome for run in board} == {"finished"}
    assert {run.kind for run in board} <= set(KINDS)
    shown = in_node("packed_games.js", "boardRuns", [[run.path.name, run.path.read_text()] for run in board])
    for run, seen in zip(board, shown, strict=True):
        keys = read_keys(run.path)
        assert seen["sha256"] == replay(keys).sha256
        assert (seen["frames"], seen["name"], seen["kind"]) == (len(keys), run.name, run.kind)
        assert seen["seconds"] == pytest.approx(run.seconds)


def test_runs_that_do_not_finish_come_last_by_their_distance(tmp_path: Path) -> None:
    run_file(tmp_path / "short.txt", pack(KEYS[:30], "bob", 1), KEYS[:30])
    run_file(tmp_path / "long.txt")
    (tmp_path / "best.txt").write_text((OWN / "champion.txt").read_text())
    (best, *others), _ = read_board(tmp_path)
    assert best.path.stem == "best"
    assert [run.metres for run in others] == sorted((run.metres for run in others), reverse=True)


FORGED: dict[str, tuple[PackedGame, Any, str]] = {
    "edited keys": (GAME, np.where(np.arange(len(KEYS)) == 30, 3, KEYS), "its keys were changed"),
    "a frame more": (GAME, np.append(KEYS, 1), "its keys were changed"),
    "keys and their claim": (replace(GAME, keys=CHANGED), CHANGED, "another SHA-256"),
    "another time": (replace(GAME, keys=KEYS[2:]), KEYS[2:], "another SHA-256"),
    "another distance": (replace(GAME, metres=99.0), KEYS, "at 99.0 m, but at frame 60"),
    "another end": (replace(GAME, outcome="finished"), KEYS, "but at frame 60"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_run_is_refused_by_both(in_node: Callable[..., Any], tmp_path: Path, name: str) -> None:
    packed, keys, said = FORGED[name]
    path = run_file(tmp_path / "board" / "run.txt", packed, keys)
    with pytest.raises(BadInput, match=re.escape(f"{path}: ") + f".*{said}") as refused:
        read_run(path)
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


def test_a_day_beyond_all_calendars_is_read_as_any_other(tmp_path: Path) -> None:
    run_file(tmp_path / "ada.txt", pack(KEYS, "ada", 10**8))
    assert len(read_board(tmp_path)[0]) == 1


@pytest.mark.parametrize("ends", [b"\r\n", b"\r"])
def test_any_line_ends_do(tmp_path: Path, ends: bytes) -> None:
    path = run_file(tmp_path / "ada.txt")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", ends))
    run = read_run(path)
    assert (run.name, run.kind) == ("ada", "human")


def test_files_that_are_no_runs_are_listed_as_refused_and_stop_nothing(
    run_command: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "board"
    run_file(folder / "good.txt")
    run_file(folder / "robot.txt", kind="robot")
    texts = {
        "plain": b"3 Q\n",
        "empty": f"# game: {text_of(GAME)}\n".encode(),
        "hello": b"hello\n",
        "bytes": b"\xff\x00",
    }
    for name, text in texts.items():
        (folder / f"{name}.txt").write_bytes(text)
    done = run_command(main, f"board={folder}", "serve=false", f"out={tmp_path / 'site'}")
    assert done.code == 0, done.err
    listed = json.loads((tmp_path / "site" / "board.json").read_text())
    reasons = {
        "good": None, "robot": "its class is robot; expected a line '# class: …'", "plain": "no line '# game: ",
        "empty": "0 frames of keys", "hello": "line 1: ", "bytes": "",
    }  # fmt: skip
    assert {name.removesuffix(".txt") for name in listed} == set(reasons)
    for name, reason in reasons.items():
        found = listed[f"{name}.txt"]
        assert (found is None) == (reason is None)
        if reason is not None:
            assert found.startswith(reason)
            assert str(tmp_path) not in found
            assert f"refused on the board: {name}.txt: {found[:20]}" in " ".join(done.out.split())
    assert [path.name for path in (tmp_path / "site" / "board").iterdir()] == ["good.txt"]


def test_a_missing_or_empty_board_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"0 files of keys"):
        read_board(tmp_path)
    with pytest.raises(BadInput, match="no such folder"):
        read_board(tmp_path / "none")


def test_an_own_board_is_part_of_the_page(run_command: Callable[..., Any], tmp_path: Path) -> None:
    run_file(tmp_path / "board" / "ada.txt")
    done = run_command(main, f"board={tmp_path / 'board'}", "serve=false", f"out={tmp_path / 'site'}")
    assert done.code == 0, done.err
    assert (tmp_path / "site" / "board.json").read_text() == '{"ada.txt": null}'
    assert (tmp_path / "site" / "board" / "ada.txt").read_text() == (tmp_path / "board" / "ada.txt").read_text()

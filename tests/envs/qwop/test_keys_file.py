"""A game's keys as readable text, and as one word."""

import base64
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs.qwop.keys_file import read_game, read_keys, write_keys
from qwop.envs.qwop.packed_game import OUTCOMES, TEMPOS, PackedGame

from .packing import pack, text_of, write_packed


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 40)), min_size=1, max_size=20))
@settings(max_examples=50)
def test_any_keys_come_back(tmp_path_factory: pytest.TempPathFactory, stretches: list[tuple[int, int]]) -> None:
    keys = np.concatenate([np.full(frames, pressed, dtype=np.uint8) for pressed, frames in stretches])
    path = write_keys(tmp_path_factory.getbasetemp() / "keys.txt", keys, "a game")
    assert np.array_equal(read_keys(path), keys)


def test_a_stretch_of_frames_is_a_line(tmp_path: Path) -> None:
    path = write_keys(
        tmp_path / "keys.txt", np.array([0, 0, 9, 9, 9, 6, 15], dtype=np.uint8), "of two\u2028lines\nor more"
    )
    title, *lines = path.read_text().splitlines()
    assert title.startswith("# of two")
    assert [line for line in lines if not line.startswith("#")] == ["2 -", "3 QP", "1 WO", "1 QWOP"]
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(BadInput, match="numbers from 0 to 15"):
        write_keys(tmp_path / "no_keys.txt", [300], "no keys")
    assert list(tmp_path.iterdir()) == [path]


def test_a_person_can_write_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("\ufeff# mine\n\n 2  pq   # a start\n1 -\n")
    keys = read_keys(path)
    assert keys.tolist() == [9, 9, 0]
    assert keys.dtype == np.uint8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("12 QP\nQ 3\n", "line 2: 'Q 3'"),
        ("1 A", "line 1: '1 A'"),
        ("-1 Q", "line 1"),
        ("1.5 Q", "line 1"),
        ("# nothing\n", "0 frames"),
        ("0 Q", "0 frames"),
        ("9999999 Q", "9,999,999 frames"),
        (b"\xff\xfe\x00\x80", "not UTF-8 text"),
        (None, "no such file"),
    ],
)
def test_what_is_no_file_of_keys_is_refused_with_its_line(tmp_path: Path, text: str | bytes | None, said: str) -> None:
    path = tmp_path / "keys.txt"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInput, match="keys.txt.*" + said):
        read_keys(path)


KEYS = np.repeat([0, 5, 10, 9], [3, 20, 15, 22]).astype(np.uint8)

ANY_GAME = st.builds(
    lambda runs, **claims: PackedGame(
        keys=np.repeat([keys for keys, _ in runs], [frames for _, frames in runs]).astype(np.uint8), **claims
    ),
    st.lists(st.tuples(st.integers(0, 15), st.integers(1, 400)), min_size=1, max_size=9),
    outcome=st.sampled_from(OUTCOMES),
    metres=st.integers(-100, 1100).map(lambda tenths: tenths / 10),
    name=st.text("aZ é✓", min_size=1, max_size=12).filter(lambda name: name == name.strip()),
    day=st.integers(0, 40_000),
    sha256=st.just("0" * 64),
    tempo=st.sampled_from(TEMPOS),
)


@given(game=ANY_GAME)
@settings(max_examples=60, deadline=None)
def test_a_packed_game_comes_back_whole(game: PackedGame) -> None:
    found = PackedGame.from_text(text_of(game))
    for name, value in vars(game).items():
        np.testing.assert_array_equal(getattr(found, name), value)


def test_a_longer_name_than_the_page_packs_is_cut() -> None:
    parts = text_of(pack(KEYS, "ada", 1)).split(".")
    parts[5] = base64.b64encode(b"a" * 45).decode()
    assert PackedGame.from_text(".".join(parts)).name == "a" * 40


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_a_file_that_was_changed_is_refused_wherever_keys_are_read(tmp_path: Path, ends: str) -> None:
    game = pack(KEYS, "ada", 1)
    path = write_packed(tmp_path / "game.txt", KEYS, game)
    keys, packed = read_game(path)
    np.testing.assert_array_equal(keys, KEYS)
    assert packed is not None
    assert packed.name == "ada"
    text = path.read_text()
    for old, new, said in (
        ("15 WP", "14 WP", "its keys were changed"),
        ("3 -", "4 -", "its keys were changed"),
        ("# game: ", "# game: !", "the game is cut off, or not one of this page"),
        (text_of(game), "", "the game is cut off, or not one of this page"),
        (game.sha256, "0" * 64, "its states have another SHA-256"),
    ):
        path.write_text(text.replace(old, new, 1).replace("\n", ends), newline="")
        with pytest.raises(BadInput, match=re.escape(f"{path}: ") + f".*{said}"):
            read_keys(path)

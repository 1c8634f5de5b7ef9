"""A game's keys as readable text."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys, write_keys


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
OTHER = "its states have another SHA-256"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_a_file_that_does_not_play_as_it_says_is_refused(tmp_path: Path, ends: str) -> None:
    path = write_keys(tmp_path / "game.txt", KEYS, "a game")
    text = f"# sha256: {replay(KEYS).sha256}\n# player: ada\n{path.read_text()}"
    path.write_text(text.replace("\n", ends), newline="")
    np.testing.assert_array_equal(read_keys(path), KEYS)
    for old, new, said in (
        ("15 WP", "14 WP", OTHER), ("3 -", "4 -", OTHER), ("# sha256: ", "# sha256: 0", OTHER),
        ("22 QP", "22 QP\n300 O", r"the game ends at frame \d+, before its keys do"),
    ):  # fmt: skip
        path.write_text(text.replace(old, new, 1).replace("\n", ends), newline="")
        with pytest.raises(BadInput, match=re.escape(f"{path}: ") + f".*{said}"):
            read_keys(path)

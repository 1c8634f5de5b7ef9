"""Keys as text: what is written is read again, what a person writes too."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs.qwop.keys_file import read_keys, write_keys


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 40)), min_size=1, max_size=20))
@settings(max_examples=50)
def test_any_keys_come_back(tmp_path_factory: pytest.TempPathFactory, stretches: list[tuple[int, int]]) -> None:
    keys = np.concatenate([np.full(frames, pressed, dtype=np.uint8) for pressed, frames in stretches])
    path = write_keys(tmp_path_factory.getbasetemp() / "keys.txt", keys, "a game")
    assert np.array_equal(read_keys(path), keys)


def test_a_stretch_of_frames_is_a_line(tmp_path: Path) -> None:
    path = write_keys(tmp_path / "keys.txt", np.array([0, 0, 9, 9, 9, 6, 15], dtype=np.uint8), "a game")
    lines = path.read_text().splitlines()
    assert lines[0] == "# a game"
    assert [line for line in lines if not line.startswith("#")] == ["2 -", "3 QP", "1 WO", "1 QWOP"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_title_stays_in_one_line(tmp_path: Path) -> None:
    assert read_keys(write_keys(tmp_path / "keys.txt", [9, 6], "of two\u2028lines\nor three")).tolist() == [9, 6]


def test_anything_but_keys_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="numbers from 0 to 15"):
        write_keys(tmp_path / "keys.txt", [300], "no keys")
    assert not list(tmp_path.iterdir())


def test_a_person_can_write_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("# mine\n\n 2  pq   # a start\n1 -\n")
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
    ],
)
def test_what_is_no_file_of_keys_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys.txt"
    path.write_text(text)
    with pytest.raises(BadInput, match="keys.txt.*" + said):
        read_keys(path)


def test_a_missing_file_and_one_that_is_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "film.txt").write_bytes(b"\xff\xfe\x00\x80")
    for name, said in (("none.txt", "no such file"), ("film.txt", "not UTF-8 text"), (".", "a folder")):
        with pytest.raises(BadInput, match=said):
            read_keys(tmp_path / name)

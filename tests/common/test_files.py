"""Files that appear whole or not at all; folders tried before anything is written."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.common.files import atomic_file, beside, cannot_be_written, require_writable_folder, with_home, write_atomic


@pytest.mark.parametrize("content", ["grün", "grün".encode(), lambda file: file.write("grün".encode())])
def test_a_file_is_written_and_nothing_else(content: Any, tmp_path: Path) -> None:
    write_atomic(tmp_path / "new" / "file.txt", "before")
    path = write_atomic(tmp_path / "new" / "file.txt", content)
    assert path.read_text(encoding="utf-8") == "grün"
    assert [one.name for one in path.parent.iterdir()] == ["file.txt"]


def test_a_writer_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", "before")

    def fail(file: Any) -> None:
        file.write(b"half of ")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "file", fail)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("file", "before")]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match=r"file: cannot be written \(no space left on device\)"):
        write_atomic(tmp_path / "file", "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot sync a folder")
@pytest.mark.parametrize("by_name", [False, True])
def test_a_file_is_on_the_disk_before_it_has_its_name_and_then_the_name_is(
    by_name: bool, tmp_path: Path, synced: Callable[[Path], list[tuple[int, bool]]]
) -> None:
    path = tmp_path / "file"
    order = synced(path)
    if by_name:
        with atomic_file(path) as partial:
            partial.write_text("text")
    else:
        write_atomic(path, "text")
    assert order == [(path.stat().st_ino, False), (tmp_path.stat().st_ino, True)]


def test_an_error_without_a_number_is_told_in_its_own_words(tmp_path: Path) -> None:
    message = str(cannot_be_written(tmp_path / "film", OSError("Broken pipe\n\nmore")))
    assert message.startswith(f"{tmp_path / 'film'}: cannot be written (broken pipe); ")


def test_a_library_s_error_on_a_full_disk_is_the_disk_s(tmp_path: Path) -> None:
    def fail(file: Any) -> None:
        try:
            raise OSError(28, "No space left on device")
        except OSError:
            raise RuntimeError("the writer failed")  # noqa: B904  (as torch.save does)

    with pytest.raises(BadInput, match=r"file: cannot be written \(no space left on device\)"):
        write_atomic(tmp_path / "file", fail)
    with pytest.raises(ZeroDivisionError):
        write_atomic(tmp_path / "file", lambda file: 1 // 0)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    require_writable_folder(tmp_path, "out")
    require_writable_folder(tmp_path / "a" / "b", "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("file", "file is a file"),
        ("file/a/b", "file is a file"),
        ("gone/a", "gone is a link that leads nowhere"),
        ("round", "round is a link that leads nowhere"),
        ("a/" + "x" * 300, "file name too long"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused(folder: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(BadInput, match=f"^out=.*{why}; give out= another folder"):
        require_writable_folder(tmp_path / folder, "out")
    assert {one.name for one in tmp_path.iterdir()} == {"file", "gone", "round"}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything is permitted here")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(BadInput, match="permission denied"):
            require_writable_folder(tmp_path / "out", "out")
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.parametrize(
    ("folder", "beside_it"),
    [("runs/me", "runs/me-2"), ("/runs/me", "/runs/me-2"), (".", "../here-2"), ("..", "../../above-2"), ("/", "/-2")],
)
def test_a_folder_beside_another_is_named_after_it_from_wherever_it_is_seen(
    folder: str, beside_it: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "above" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "above" / "here")
    assert os.path.normpath(beside(Path(folder), "2")) == beside_it


def test_home_folders_are_those_of_the_users_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    paths = ["~", "~/games", "~nobody-of-this-name/games", "games~"]
    assert [str(with_home(one)) for one in paths] == ["/home/me", "/home/me/games", *paths[2:]]

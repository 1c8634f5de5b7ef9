"""Files that appear whole or not at all; folders tried before anything is written."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from qwop.common.errors import BadInput
from qwop.common.files import atomic_file, beside, cannot_be_written, named_path, require_writable_folder, write_atomic


@pytest.mark.parametrize("content", ["grün", "grün".encode()])
def test_a_file_is_written_and_nothing_else(content: str | bytes, tmp_path: Path) -> None:
    write_atomic(tmp_path / "new" / "file.txt", "before")
    path = write_atomic(tmp_path / "new" / "file.txt", content)
    assert path.read_text(encoding="utf-8") == "grün"
    assert [one.name for one in path.parent.iterdir()] == ["file.txt"]


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def by_a_library() -> None:
    try:
        full()
    except OSError:
        raise RuntimeError("the writer failed")  # noqa: B904  (as torch.save does)


def interrupted() -> None:
    raise KeyboardInterrupt


FULL = r"file: cannot be written \(no space left on device\)"


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (interrupted, KeyboardInterrupt, ""),
        (full, BadInput, FULL),
        (by_a_library, BadInput, FULL),
        (lambda: 1 // 0, ZeroDivisionError, "division"),
    ],
)
@pytest.mark.parametrize("before", [[], ["file"]])
def test_a_writer_that_fails_leaves_the_file_as_it_was(
    work: Callable[[], object], error: type[BaseException], message: str, before: list[str], tmp_path: Path
) -> None:
    for name in before:
        (tmp_path / name).write_text("before")
    with pytest.raises(error, match=message or None), atomic_file(tmp_path / "file") as partial:  # noqa: PT012
        partial.write_text("half of ")
        work()
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [(name, "before") for name in before]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match=FULL):
        write_atomic(tmp_path / "file", "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot sync a folder")
def test_a_file_is_on_the_disk_before_it_has_its_name_and_then_the_name_is(
    tmp_path: Path, synced: Callable[[Path], list[tuple[int, bool]]]
) -> None:
    path = tmp_path / "file"
    order = synced(path)
    write_atomic(path, "text")
    assert order == [(path.stat().st_ino, False), (tmp_path.stat().st_ino, True)]


def test_an_error_without_a_number_is_told_in_its_own_words(tmp_path: Path) -> None:
    message = str(cannot_be_written(tmp_path / "film", OSError("Broken pipe\n\nmore")))
    assert message.startswith(f"{tmp_path / 'film'}: cannot be written (broken pipe); ")


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
    assert [str(named_path(one, "folder")) for one in paths] == ["/home/me", "/home/me/games", *paths[2:]]

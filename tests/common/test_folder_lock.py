"""Folders that several processes want to write into."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from qwop.common.errors import BadInput
from qwop.common.folder_lock import FolderLock, claimed, exclusive_lock, whole_folder

pytest.importorskip("fcntl", reason="folders are not locked here")

LEFT = f".{'0a' * 16}.partial"

HOLD = """
import sys, time
from pathlib import Path
from qwop.common.folder_lock import FolderLock, exclusive_lock
folder = Path(sys.argv[2])
if sys.argv[1] == "alone":
    with exclusive_lock(folder, "out"):
        print("holding", flush=True)
        time.sleep(60)
else:
    presence = FolderLock(folder)
    print("holding", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(folder: Path, how: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that holds a folder, and is killed in the end."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, how, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "holding\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_exclusive_lock_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    with holder(tmp_path, "alone"), pytest.raises(BadInput, match=r"^out=.*another process is writing there"):
        exclusive_lock(tmp_path, "out").__enter__()
    with exclusive_lock(tmp_path, "out"):
        pass


def test_a_new_folder_is_removed_if_it_stays_empty_and_stays_if_it_does_not(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), exclusive_lock(tmp_path / "a" / "b", "out"):
        assert 1 // 0
    assert list(tmp_path.iterdir()) == []
    with exclusive_lock(tmp_path / "a" / "b", "out"):
        (tmp_path / "a" / "b" / "file").touch()
    assert (tmp_path / "a" / "b" / "file").exists()


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    inner = tmp_path / "checkpoints"
    inner.mkdir()
    strangers = [".hidden", "a.partial", ".0a0a.partial", f"{LEFT[1:]}", f"{LEFT}.pt.txt", f"x{LEFT}", ".partial"]
    for name in (LEFT, f"{LEFT}.pt", *strangers):
        (tmp_path / name).touch()
        (inner / name).touch()
    folder = tmp_path / f".{'0b' * 16}.partial"
    folder.mkdir()
    (tmp_path / f".{'0c' * 16}.partial").symlink_to(inner)
    with exclusive_lock(tmp_path, "out", within=("checkpoints", "phases")):
        pass
    assert sorted(path.name for path in inner.iterdir()) == sorted(strangers)
    assert folder.is_dir()
    assert (tmp_path / f".{'0c' * 16}.partial").is_symlink()


def test_a_link_in_place_of_a_folder_within_is_refused(tmp_path: Path) -> None:
    (tmp_path / "phases").symlink_to(tmp_path.parent)
    link = pytest.raises(BadInput, match="phases: a link, which may lead elsewhere")
    with link, exclusive_lock(tmp_path, "out", within=("phases",)):
        pass


def test_writers_share_a_folder_and_leave_each_others_files_alone(tmp_path: Path) -> None:
    with holder(tmp_path, "together"):
        (tmp_path / LEFT).touch()  # the other one is writing it
        one, two = FolderLock(tmp_path), FolderLock(tmp_path)
        assert (tmp_path / LEFT).exists()
        one.close()
        two.close()
    FolderLock(tmp_path).close()
    assert not (tmp_path / LEFT).exists()


def test_a_folder_that_somebody_has_alone_is_refused_to_others(tmp_path: Path) -> None:
    with holder(tmp_path, "alone"), pytest.raises(BadInput, match="another process has it for itself"):
        FolderLock(tmp_path)


def test_a_whole_folder_appears_at_the_end(tmp_path: Path) -> None:
    out = tmp_path / "a" / "out"
    with whole_folder(out, "out") as partial:
        (partial / "file").write_text("whole")
        assert not out.exists()
    assert (out / "file").read_text() == "whole"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_folder_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_folder(tmp_path / "a" / "out", "out") as partial:
        shutil.copy(partial / "missing", partial / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_whole_folder_takes_no_name_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with whole_folder(tmp_path / "out", "out") as partial:
        (partial / "file").touch()
    with pytest.raises(BadInput, match="is not empty; give out= a new folder"), whole_folder(tmp_path / "out", "out"):
        pass


def test_folders_that_killed_processes_were_filling_are_removed(tmp_path: Path) -> None:
    old, busy = tmp_path / LEFT, tmp_path / f".{'0b' * 16}.partial"
    for folder in (old, busy):
        folder.mkdir()
        (folder / "episode").touch()
    with holder(busy, "together"), whole_folder(tmp_path / "out", "out"):
        pass
    assert not old.exists()
    assert (busy / "episode").exists()


def test_a_claim_fails_at_once_while_another_process_has_the_folder(tmp_path: Path) -> None:
    with holder(tmp_path, "alone"), claimed(tmp_path) as mine:
        assert not mine
    with claimed(tmp_path) as mine, claimed(tmp_path) as again:
        assert mine
        assert not again


def test_a_lock_waits_until_the_process_that_has_it_is_gone(tmp_path: Path) -> None:
    with holder(tmp_path, "alone") as first:
        threading.Timer(0.2, first.kill).start()
        began = time.monotonic()
        with claimed(tmp_path, wait=True):
            assert time.monotonic() - began > 0.15


def test_a_writer_that_is_forgotten_leaves_its_folder(tmp_path: Path) -> None:
    writer = FolderLock(tmp_path)
    del writer
    with claimed(tmp_path) as mine:
        assert mine


def test_a_lock_waits_for_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    FolderLock(tmp_path / "pipe").close()


def test_a_folder_with_nothing_but_what_a_killed_process_left_is_empty(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / f".{'0' * 32}.partial").touch()
    with whole_folder(tmp_path / "new", "out") as partial:
        (partial / "file").touch()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]

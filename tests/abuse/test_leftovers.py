"""The hidden file of a killed command is removed by the same command, which leaves those of running ones alone."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from qwop.commands import evaluate, play
from qwop.common.folder_lock import FolderLock
from qwop.envs.qwop.keys_file import write_keys

pytest.importorskip("fcntl", reason="folders are not locked here")

LEFT = f".{'0a' * 16}.partial.html"

COMMANDS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "evaluate": (".", lambda out: evaluate.run(evaluate.read([f"keys={out}.txt", f"out={out}", "video=false"]))),
    "play": ("board", lambda out: play.run(play.read([f"out={out}", "serve=false"]))),
}
"""Where each command leaves its hidden file, and a run of it."""


def left_by(name: str, out: Path) -> Path:
    """The hidden file that the command would have left in this folder."""
    write_keys(out.with_suffix(".txt"), np.repeat([0, 9, 6, 9], 8).astype(np.uint8), "a test")
    left = out / COMMANDS[name][0] / LEFT
    left.parent.mkdir(parents=True)
    left.touch()
    return left


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_commands_hidden_file_is_removed_by_the_next(name: str, tmp_path: Path) -> None:
    left = left_by(name, tmp_path / "out")
    COMMANDS[name][1](tmp_path / "out")
    assert not left.exists()


def test_a_running_commands_hidden_file_is_left_alone(tmp_path: Path) -> None:
    left = left_by("evaluate", tmp_path / "out")
    with closing(FolderLock(left.parent)):
        left.touch()  # the lock removes what others left
        COMMANDS["evaluate"][1](tmp_path / "out")
    assert left.exists()

"""The hidden file of a killed command is removed by the same command, which leaves those of running ones alone."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from qwop.commands import evaluate, play
from qwop.common.folder_lock import FolderLock
from qwop.datasets.describe import describe
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.writer import DatasetWriter
from qwop.envs.qwop.keys_file import write_keys

pytest.importorskip("fcntl", reason="folders are not locked here")

KEYS = np.repeat([0, 9, 6, 9], 8).astype(np.uint8)

LEFT = f".{'0a' * 16}.partial.html"


def run_play(folder: Path) -> None:
    play.run(play.read([f"out={folder}-site", "serve=false"]))


COMMANDS: dict[str, Callable[[Path], None]] = {
    "evaluate": lambda folder: evaluate.run(
        evaluate.read([f"keys={folder}/keys.txt", f"out={folder}-evaluation", "video=false"])
    ),
    "play": run_play,
}


def left_by(name: str, folder: Path) -> Path:
    """The hidden file that the command would have left."""
    places = {"play": "../data-site/board", "evaluate": "../data-evaluation"}
    left = folder / places.get(name, ".") / LEFT
    left.parent.mkdir(parents=True, exist_ok=True)
    left.touch()
    return left


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset, and a file of keys."""
    made = tmp_path / "data"
    writer = DatasetWriter(made, qwop_info(frames_per_step=4))
    for _ in range(3):
        writer.write(episode_from_keys(KEYS, writer.info, player="me", source="a test", epsilon=0.05))
    describe(made)
    write_keys(made / "keys.txt", KEYS, "a test")
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_commands_hidden_file_is_removed_by_the_next(name: str, folder: Path) -> None:
    left = left_by(name, folder)
    COMMANDS[name](folder)
    assert not left.exists()


def test_a_running_commands_hidden_file_is_left_alone(folder: Path) -> None:
    left = left_by("evaluate", folder)
    with closing(FolderLock(left.parent)):
        left.touch()
        COMMANDS["evaluate"](folder)
    assert left.exists()

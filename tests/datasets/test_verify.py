"""`qwop-dataset verify`: what it finds, what it says, and that it changes nothing."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, Episode, embedded_dataset, open_dataset
from qwop.datasets.describe import describe
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.verify import command, run
from qwop.envs.qwop.session import GameStart, Opening, PlayedGame

from ..fakes import dataset_of, game_of

KEYS = np.repeat(np.tile([9, 6], 8), 9).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three games: one of a fresh page, one of an older browser on a page with a game before, one that has ended."""
    info = qwop_info(frames_per_step=4, reward="shaped", observation_lag=1)
    start = GameStart((PlayedGame(KEYS[:60]),), Opening(held=2), "fdlibm")
    games = game_of(KEYS, info), game_of(KEYS, info, start=start), game_of([4] * 300, info)
    folder = dataset_of(tmp_path / "data", info, *games).folder
    describe(folder)
    return folder


def verify(folder: Path, *more: str) -> None:
    run(command.read([f"dataset={folder}", *more]))


def problem(folder: Path, *more: str) -> str:
    with pytest.raises(BadInput) as raised:
        verify(folder, *more)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_whole_dataset_is_verified_by_replay(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    verify(folder, "replay=true")
    out = capsys.readouterr().out
    assert "are whole, 3 played again, equal to the bit" in out
    assert "next: qwop-pretrain" in out
    assert "note:" not in out
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before
    DatasetWriter(tmp_path / "killed", open_dataset(folder).info)
    verify(tmp_path / "killed")
    assert "0 episodes" in (empty := capsys.readouterr().out)
    assert "next:" not in empty  # nothing to clone


def test_the_embedded_games_are_true(capsys: pytest.CaptureFixture[str]) -> None:
    """A policy's games, after idle frames."""
    verify(embedded_dataset(), "replay=true")
    assert "64 played again, equal to the bit" in capsys.readouterr().out


def rewrite(folder: Path, change: Callable[[Episode], Episode]) -> None:
    """Write the first episode anew, under the name that its digest gives."""
    dataset = open_dataset(folder)
    made = DatasetWriter(folder.parent / "made", dataset.info).write(change(dataset[0]))
    dataset.files[0].unlink()
    shutil.move(made, folder / "episodes")
    describe(folder)


def file_of(folder: Path, number: int) -> Path:
    (path,) = (folder / "episodes").glob(f"episode-{number:06d}-*.parquet")
    return path


def changed(name: str, place: Any, value: Any) -> Callable[[Episode], Episode]:
    def change(episode: Episode) -> Episode:
        array = getattr(episode, name).copy()
        array[place] = value
        return replace(episode, **{name: array})

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed("rewards", 3, 0.5), "row 3, reward: 0.5, by replay"),
        (changed("observations", (5, 66), 0.25), "row 5, observation torso.angle: 0.25, by replay"),
        (changed("times", 0, 0.0), "row 0, timestamp: 0.0, by replay"),
        (changed("actions", 2, 10), "row 2, action: 10, which is not what the keys of its frames do"),
        (lambda one: replace(one, metres=12.0), "metres: 12.0, by replay"),
        (lambda one: replace(one, outcome="stopped"), "outcome: stopped, by replay fell"),
        (
            lambda one: replace(one, keys=(*one.keys[:-1], np.append(one.keys[-1], [9, 9]).astype(np.uint8))),
            "keys: the game ends after",
        ),
        (lambda one: replace(one, terminated=False, truncated=True), "terminated: False, by replay True"),
    ],
)
def test_replay_finds_what_no_checksum_can(
    folder: Path, change: Callable[[Episode], Episode], said: str, capsys: Any
) -> None:
    rewrite(folder, change)
    verify(folder)
    found = problem(folder, "replay=true")
    assert str(file_of(folder, 0)) in found
    assert said in found + capsys.readouterr().out


def test_a_game_that_the_simulator_plays_differently_is_not_compared(folder: Path, capsys: Any) -> None:
    rewrite(folder, lambda one: replace(changed("rewards", 3, 0.5)(one), origin=replace(one.origin, differs=True)))
    verify(folder, "replay=true")
    assert "2 played again" in capsys.readouterr().out


def test_copies_torn_and_foreign_files_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "episodes" / ".0123.partial.parquet").write_bytes(b"PAR1")
    (folder / "notes.txt").write_text("mine")
    verify(folder)
    out = capsys.readouterr().out
    assert ".0123.partial.parquet: left by a recorder that was killed" in out
    assert "notes.txt: no part of the dataset" in out
    dataset = open_dataset(folder)
    copy = DatasetWriter(folder, dataset.info).write(dataset[1])
    assert f"the same episode as {dataset.files[1].name}" in problem(folder)
    copy.rename(folder / "episodes" / "games.parquet")
    assert "games.parquet: no episode of this dataset" in problem(folder)


def test_a_number_that_is_missing_is_a_note_unless_its_game_was_set_aside_or_never_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(folder, 1)
    (folder / "aside").mkdir()
    path.rename(folder / "aside" / f"{path.stem}-discarded.aside")
    verify(folder)
    assert "no episode has the number" not in capsys.readouterr().out
    (folder / "aside" / f"{path.stem}-discarded.aside").unlink()
    verify(folder)
    assert "episodes: no episode has the number 1" in capsys.readouterr().out


def test_every_problem_has_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (0, 2):
        file_of(folder, number).write_bytes(b"PAR1")
    first = file_of(folder, 0)
    assert problem(folder) == f"{folder}: 2 problems in 2 files, the first in {first}"
    assert f"{first}: its bytes are not those of the digest in its name" in capsys.readouterr().out

"""Altered data is found: every mutant of a dataset is refused in one line that names a file, or read as it was.

All of it: pytest tests/datasets/test_altered_data.py -m exhaustive
"""

import io
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, Episode, main, open_dataset
from qwop.datasets.checksums import CHECKSUMS
from qwop.datasets.describe import describe
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.verification.command import VerifySettings, run

from .mutations import MUTATIONS, Mutation, mutants

LONGEST = 20
"""Seconds that a mutant may take."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of four short games, two of which end by a fall."""
    folder = tmp_path_factory.mktemp("original") / "data"
    writer = DatasetWriter(folder, qwop_info(frames_per_step=3, reward="shaped"))
    for number, frames in enumerate((60, 400, 45, 400)):
        keys = np.repeat(np.random.default_rng(number).integers(16, size=100), 9).astype(np.uint8)[:frames]
        writer.write(episode_from_keys(keys, writer.info, player="somebody", source="a test", epsilon=0.05))
    describe(folder)
    return folder


class Hung(Exception):
    """A mutant took too long."""


@contextmanager
def limited() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Hung

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def content(folder: Path) -> dict[str, Any]:
    """Everything in a folder, by name: bytes of files, kinds of other things."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = path.readlink()
        else:
            found[str(path)] = path.read_bytes() if path.is_file() else path.lstat().st_mode
    return found


def same(one: list[Episode], other: list[Episode]) -> bool:
    def bits(episode: Episode) -> list[Any]:
        values = [getattr(episode, field.name) for field in fields(Episode)]
        return [
            [frames.tobytes() for frames in value]
            if isinstance(value, tuple)
            else value.tobytes()
            if isinstance(value, np.ndarray)
            else value
            for value in values
        ]

    return [bits(episode) for episode in one] == [bits(episode) for episode in other]


def refused(error: BadInput, folder: Path) -> str:
    """Describe the fault of a message; empty for one line that names a file of the folder, or the folder."""
    message = str(error)
    if "\n" in message:
        return f"several lines: {message}"
    return "" if message.startswith(str(folder)) else f"names no file: {message}"


def complaint(original: Path, expected: list[Episode], folder: Path, mutation: Mutation, random: Any) -> str:
    """Describe the fault of the answer to a mutant; empty if it has none."""
    shutil.copytree(original, folder)
    mutation.alter(folder, random)
    altered = content(folder)
    untouched = {Path(name).name: found for name, found in altered.items()} == {
        Path(name).name: found for name, found in content(original).items()
    }
    try:
        with limited(), redirect_stdout(io.StringIO()):
            if not mutation.forged:
                try:
                    dataset = open_dataset(folder)
                    read = list(dataset)
                    dataset.summary()
                    if not same(read, expected):
                        return "read, though it differs"
                except BadInput as error:
                    if found := refused(error, folder):
                        return f"reading: {found}"
            try:
                run(VerifySettings(dataset=str(folder), replay=True, threads=1))
                if not untouched and _matters(altered, content(original)):
                    return "verified, though it differs"
            except BadInput as error:
                if found := refused(error, folder):
                    return f"verifying: {found}"
    except Hung:
        return "hung"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if content(folder) == altered else "the dataset was changed"


def _matters(altered: dict[str, Any], original: dict[str, Any]) -> bool:
    """True if more differs than the list of checksums, of which whole lines may be missing or repeated."""

    def data(found: dict[str, Any]) -> dict[str, Any]:
        return {Path(name).name: value for name, value in found.items() if Path(name).name != CHECKSUMS}

    return data(altered) != data(original)


def check(original: Path, tmp_path: Path, count: int, seed: int) -> None:
    expected = list(open_dataset(original))
    wrong = []
    for name, mutation, random in mutants(count, seed):
        folder = tmp_path / "mutant"
        if found := complaint(original, expected, folder, mutation, random):
            wrong.append(f"{name}: {found}")
        shutil.rmtree(folder)
    assert not wrong, "\n".join(wrong)


def test_a_mutant_of_each_kind_is_found(original: Path, tmp_path: Path) -> None:
    check(original, tmp_path, len(MUTATIONS), seed=1)


@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("seed", range(4))
def test_two_thousand_mutants_are_found(original: Path, tmp_path: Path, seed: int) -> None:
    check(original, tmp_path, 550, seed)


def test_a_mutant_ends_the_command_with_exit_code_2(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(original, folder)
    path = folder / "episode-000002.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    monkeypatch.setattr("sys.argv", ["qwop-dataset", "verify", str(folder)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"qwop-dataset verify: {path}: damaged")

"""Whatever is flipped, cut, renamed or swapped in a dataset is refused in one line that names a file.

All of it: pytest tests/datasets/test_altered_data.py -m exhaustive
"""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import open_dataset
from qwop.datasets.verify import VerifySettings, run

Generator = np.random.Generator

Alteration = Callable[[Path, Path, Path, Generator], Any]
"""Changes a dataset's folder, one or two of its files."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, make_games: Callable[..., Path]) -> Path:
    """A dataset of three short games."""
    return make_games(tmp_path_factory.mktemp("original") / "data", (30, 60, 45))


def flipped(content: bytes, random: Generator) -> bytes:
    changed = bytearray(content)
    changed[random.integers(len(content))] ^= 1 << random.integers(8)
    return bytes(changed)


def rewrite(change: Callable[[bytes, Generator], bytes]) -> Alteration:
    return lambda folder, path, other, random: path.write_bytes(change(path.read_bytes(), random))


def rename(name: Callable[[Path, Path, Generator], str]) -> Alteration:
    return lambda folder, path, other, random: path.rename(path.with_name(name(path, other, random)))


def swap(folder: Path, path: Path, other: Path, random: Generator) -> None:
    content = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(content)


ALTERATIONS: dict[str, Alteration] = {
    "a bit of an episode": rewrite(flipped),
    "a bit of the description": lambda folder, path, other, random: (folder / "dataset.json").write_bytes(
        flipped((folder / "dataset.json").read_bytes(), random)
    ),
    "cut": rewrite(lambda content, random: content[: random.integers(len(content))]),
    "longer": rewrite(lambda content, random: content + random.bytes(random.integers(1, 9))),
    "another number": rename(lambda path, _, random: f"episode-{random.integers(3, 999):06d}{path.name[14:]}"),
    "another digest": rename(lambda path, _, random: f"{path.name[:15]}{random.integers(16**12):012x}.parquet"),
    "another's digest": rename(lambda path, other, _: f"{path.name[:15]}{other.name[15:]}"),
    "a copy": lambda _, path, other, random: shutil.copy(path, path.with_name(f"episode-000007{path.name[14:]}")),
    "two swapped": swap,
}


def check(original: Path, tmp_path: Path, seeds: range, names: Sequence[str] = (*ALTERATIONS,)) -> None:
    """An altered dataset is refused by whatever reads it, in one line that names one of its files."""
    folder = tmp_path / "altered"
    for random, name in ((np.random.default_rng(seed), name) for seed in seeds for name in names):
        shutil.copytree(original, folder)
        paths = random.permutation(sorted((folder / "episodes").iterdir()))  # type: ignore[arg-type, call-overload]
        ALTERATIONS[name](folder, *paths[:2], random)
        for read in (lambda: list(open_dataset(folder)), lambda: run(VerifySettings(dataset=str(folder)))):
            with pytest.raises(BadInput) as raised:
                read()
            assert re.match(rf"{re.escape(str(folder))}[^\n]*$", str(raised.value)), name
        shutil.rmtree(folder)


def test_each_alteration_is_refused_in_one_line(original: Path, tmp_path: Path) -> None:
    check(original, tmp_path, range(12))


@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
def test_two_thousand_alterations_are_refused_in_one_line(original: Path, tmp_path: Path) -> None:
    check(original, tmp_path, range(500), ("a bit of an episode", "a bit of the description"))
    check(original, tmp_path, range(1000, 1150))

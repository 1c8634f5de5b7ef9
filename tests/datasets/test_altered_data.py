"""Whatever is flipped, cut, renamed or swapped in a dataset is refused in one line that names a file.

All of it: pytest tests/datasets/test_altered_data.py -m exhaustive
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, main, open_dataset
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.verify import VerifySettings, run

Generator = np.random.Generator


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of three short games."""
    folder = tmp_path_factory.mktemp("original") / "data"
    writer = DatasetWriter(folder, qwop_info(frames_per_step=3, reward="shaped"))
    for number, frames in enumerate((30, 60, 45)):
        keys = np.repeat(np.random.default_rng(number).integers(16, size=10), 9).astype(np.uint8)[:frames]
        writer.write(episode_from_keys(keys, writer.info, player="somebody", source="a test", epsilon=0.05))
    return folder


def flipped(path: Path, random: Generator) -> None:
    content = bytearray(path.read_bytes())
    content[random.integers(len(content))] ^= 1 << random.integers(8)
    path.write_bytes(content)


def one_of(folder: Path, random: Generator) -> Path:
    return sorted((folder / "episodes").iterdir())[random.integers(3)]


def flip_in_an_episode(folder: Path, random: Generator) -> None:
    flipped(one_of(folder, random), random)


def flip_in_the_description(folder: Path, random: Generator) -> None:
    flipped(folder / "dataset.json", random)


def cut(folder: Path, random: Generator) -> None:
    path = one_of(folder, random)
    path.write_bytes(path.read_bytes()[: random.integers(path.stat().st_size)])


def lengthen(folder: Path, random: Generator) -> None:
    path = one_of(folder, random)
    path.write_bytes(path.read_bytes() + random.bytes(random.integers(1, 9)))


def rename_to_another_number(folder: Path, random: Generator) -> None:
    path = one_of(folder, random)
    path.rename(path.with_name(f"episode-{random.integers(3, 999):06d}{path.name[14:]}"))


def rename_to_another_digest(folder: Path, random: Generator) -> None:
    path = one_of(folder, random)
    path.rename(path.with_name(f"{path.name[:15]}{random.integers(16**12):012x}.parquet"))


def copy_under_another_number(folder: Path, random: Generator) -> None:
    path = one_of(folder, random)
    shutil.copy(path, path.with_name(f"episode-000007{path.name[14:]}"))


def swap(folder: Path, random: Generator) -> None:
    one, other = random.permutation(sorted((folder / "episodes").iterdir()))[:2]
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])


def swap_names(folder: Path, random: Generator) -> None:
    one, other = random.permutation(sorted((folder / "episodes").iterdir()))[:2]
    names = [path.with_name(f"{path.name[:15]}{of.name[15:]}") for path, of in ((one, other), (other, one))]
    one.rename(names[0])
    other.rename(names[1])


ALTERATIONS: tuple[Callable[[Path, Generator], None], ...] = (
    flip_in_an_episode, flip_in_the_description, cut, lengthen, rename_to_another_number, rename_to_another_digest,
    copy_under_another_number, swap, swap_names,
)  # fmt: skip


def complaint(original: Path, folder: Path, alter: Callable[[Path, Generator], None], random: Generator) -> str:
    """Describe the fault of the answers to an altered dataset; empty if it has none."""
    shutil.copytree(original, folder)
    alter(folder, random)
    try:
        for read in (lambda: list(open_dataset(folder)), lambda: run(VerifySettings(dataset=str(folder)))):
            try:
                read()
            except BadInput as error:
                if "\n" in str(error) or not str(error).startswith(str(folder)):
                    return f"{alter.__name__}: {error}"
            except Exception as error:
                return f"{alter.__name__}: {type(error).__name__}: {error}"
            else:
                return f"{alter.__name__}: not noticed"
    finally:
        shutil.rmtree(folder)
    return ""


def check(original: Path, tmp_path: Path, seeds: range, kinds: Any = ALTERATIONS) -> None:
    random = [np.random.default_rng(seed) for seed in seeds]
    wrong = [complaint(original, tmp_path / "altered", alter, one) for one in random for alter in kinds]
    assert [one for one in wrong if one] == []


def test_each_alteration_is_refused_in_one_line(original: Path, tmp_path: Path) -> None:
    check(original, tmp_path, range(12))


@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
def test_two_thousand_alterations_are_refused_in_one_line(original: Path, tmp_path: Path) -> None:
    check(original, tmp_path, range(500), (flip_in_an_episode, flip_in_the_description))
    check(original, tmp_path, range(1000, 1150))


def test_an_altered_file_ends_the_command_with_exit_code_2(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(original, folder)
    path = sorted((folder / "episodes").iterdir())[2]
    path.write_bytes(path.read_bytes()[:-1])
    monkeypatch.setattr("sys.argv", ["qwop-dataset", "verify", str(folder)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"qwop-dataset verify: {path}: its bytes are not those of the digest")

"""`qwop-dataset describe`: the card, and a description that was lost."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.describe import DescribeSettings, describe, run

from ..fakes import dataset_of

NAME = "a|b <img src=x onerror=alert(1)> & [here](javascript:alert(1))"


@pytest.fixture
def folder(tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]) -> Path:
    games = (make_episode(steps=4 + seed, seed=seed, player=NAME) for seed in range(3))
    return dataset_of(tmp_path / "data", info, *games).folder


def test_a_recorder_that_starts_meanwhile_removes_no_file_under_way(
    folder: Path, info: DatasetInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[DatasetWriter] = []
    replace = Path.replace

    def a_recorder_starts(partial: Path, name: Path) -> Path:
        started.append(DatasetWriter(folder, info))
        return replace(partial, name)

    monkeypatch.setattr(Path, "replace", a_recorder_starts)
    run(DescribeSettings(dataset=str(folder)))
    assert len(started) == 1
    assert (folder / "README.md").exists()


def test_the_card_has_front_matter_and_follows_the_episodes(
    folder: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    describe(folder)
    card = folder / "README.md"
    text = card.read_text()
    assert text.startswith("---\ntask_categories:\n- reinforcement-learning\n")
    assert 'path: "episodes/*.parquet"' in text
    assert "| episodes | 3 |" in text
    assert r"| players | a\|b &lt;img src=x onerror=alert(1)&gt; &amp; [here]\(javascript:alert(1)) 3 |" in text
    card.write_text(text.replace("# data\n", "# My games\n\nMade on a rainy day.\n"))
    DatasetWriter(folder, info).write(make_episode(seed=3))
    describe(folder)
    text = card.read_text()
    assert "# My games\n\nMade on a rainy day.\n" in text
    assert "| episodes | 4 |" in text
    assert text.count("| episodes |") == 1


def test_a_folder_that_may_not_be_entered_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", refuse)
    with pytest.raises(BadInput, match=r": permission denied; expected the folder of a dataset"):
        open_dataset(folder)


def test_an_authors_card_in_any_encoding_gets_the_front_matter_of_an_upload_whose_entries_are_set_once(
    folder: Path,
) -> None:
    card = folder / "README.md"
    card.write_bytes("# Größe\n".encode("latin-1"))
    for licence in ("mit", "cc-by-4.0"):
        describe(folder, {"license": f" {licence}", "pretty_name": ' "My games"'})
    describe(folder)
    text = card.read_text(encoding="latin-1")
    assert text.startswith('---\npretty_name: "My games"\nlicense: cc-by-4.0\ntask_categories:\n')
    assert 'path: "episodes/*.parquet"\n---\n\n# Größe\n' in text
    assert (text.count("license:"), text.count("---\n")) == (1, 2)

from pathlib import Path

import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, Episode, embedded, embedded_dataset, open_dataset
from qwop.datasets.embedded import AMATEUR, CHAMPION, dataset_path


def test_the_amateurs_games_are_like_a_persons_and_all_fall() -> None:
    dataset = open_dataset(AMATEUR)
    summary = dataset.summary()
    assert (len(dataset), summary.replayable) == (40, 40)
    assert dataset.played_by_people
    assert {episode.outcome for episode in dataset} == {"fell"}
    assert all(episode.metres < 10 for episode in dataset)
    assert sum(path.stat().st_size for path in dataset.files) < 1_500_000


def test_a_name_means_the_games_that_ship_unless_a_dataset_here_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_dataset(CHAMPION).folder == embedded_dataset()
    game: Episode = open_dataset(AMATEUR)[0]
    DatasetWriter(f"./{AMATEUR}", open_dataset(AMATEUR).info).write(game)
    with pytest.raises(BadInput, match=r"amateur: means the games that ship .* write \./amateur for the folder"):
        open_dataset(AMATEUR)
    assert len(open_dataset(f"./{AMATEUR}")) == 1


def test_missing_and_unknown_games_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="novice: no embedded dataset; expected champion or amateur"):
        embedded_dataset("novice")
    with pytest.raises(BadInput, match="amatuer: no such folder; did you mean amateur, whose games ship with the"):
        open_dataset("amatuer")
    (tmp_path / "amateurs").mkdir()
    assert dataset_path(tmp_path / "amateurs") == tmp_path / "amateurs"
    monkeypatch.setattr(embedded, "__file__", str(tmp_path / "embedded.py"))
    with pytest.raises(BadInput, match="the embedded games are missing"):
        embedded_dataset()

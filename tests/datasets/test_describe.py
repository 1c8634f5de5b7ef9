"""The derived files: checksums, card and Croissant metadata."""

import errno
import hashlib
import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as pads
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.card import card_is_true
from qwop.datasets.checksums import CHECKSUMS
from qwop.datasets.describe import describe
from qwop.datasets.describe_command import DescribeSettings, run


@pytest.fixture
def folder(tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]) -> Path:
    writer = DatasetWriter(tmp_path / "data", info)
    for seed in range(3):
        writer.write(make_episode(steps=4 + seed, seed=seed, player="a|b"))
    return writer.folder


def test_the_checksums_are_those_of_the_files(folder: Path) -> None:
    lines = [line.split("  ") for line in (folder / CHECKSUMS).read_text().splitlines()]
    assert sorted(name for _, name in lines) == ["dataset.json", *(f"episode-00000{n}.parquet" for n in range(3))]
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for digest, name in lines)


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
    assert len(started) == 2
    assert (folder / "README.md").exists()


def test_a_line_that_was_cut_short_does_not_spoil_the_next(
    folder: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    """A full disk cuts it."""
    path = folder / CHECKSUMS
    path.write_text(path.read_text()[:-20])
    DatasetWriter(folder, info).write(make_episode(seed=9))
    assert set(open_dataset(folder).checksums) == {"dataset.json", *(f"episode-00000{n}.parquet" for n in (0, 1, 3))}


def test_an_episode_that_was_removed_has_to_be_accepted(folder: Path) -> None:
    (folder / "episode-000001.parquet").unlink()
    with pytest.raises(BadInput, match=r"episode-000001\.parquet: missing, .* describe .* accept=true"):
        describe(folder)
    assert describe(folder, accept=True).episodes == 2
    assert len(list(open_dataset(folder))) == 2


def test_a_lost_description_is_written_anew_from_the_episodes(folder: Path) -> None:
    path = folder / "dataset.json"
    before = path.read_bytes()
    path.unlink()
    with pytest.raises(BadInput, match=r"has episodes but no dataset\.json; .* describe .* accept=true"):
        open_dataset(folder)
    describe(folder, accept=True)
    assert path.read_bytes() == before


def test_a_command_that_is_advised_can_be_copied_whatever_the_folders_name(folder: Path) -> None:
    spaced = folder.rename(folder.with_name("ann's games"))
    (spaced / "dataset.json").unlink()
    with pytest.raises(BadInput) as caught:
        open_dataset(spaced)
    assert shlex.split(str(caught.value).partition(" them: ")[2]) == [
        "qwop-dataset", "describe", str(spaced), "accept=true",
    ]  # fmt: skip


def test_what_an_author_wrote_in_the_card_stays_in_any_encoding(folder: Path) -> None:
    (folder / "README.md").write_bytes("Größe\r\n".encode("latin-1"))
    describe(folder)
    assert (folder / "README.md").read_bytes().startswith("Größe".encode("latin-1"))
    assert card_is_true(folder, open_dataset(folder).summary())
    assert len(list(open_dataset(folder))) == 3


def test_a_folder_without_episodes_is_given_no_description(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no dataset\.json in it"):
        describe(tmp_path, accept=True)
    assert os.listdir(tmp_path) == []


def test_a_damaged_episode_is_not_accepted(folder: Path) -> None:
    path = folder / "episode-000001.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadInput, match=r"episode-000001\.parquet: damaged"):
        describe(folder, accept=True)


def test_the_card_has_front_matter_and_follows_the_episodes(
    folder: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    describe(folder)
    card = folder / "README.md"
    text = card.read_text()
    assert text.startswith("---\ntask_categories:\n- reinforcement-learning\n")
    assert 'path: "episode-*.parquet"' in text
    assert "| episodes | 3 |" in text
    assert r"| players | a\|b 3 |" in text
    card.write_text(text.replace("# data\n", "# My games\n\nMade on a rainy day.\n"))
    DatasetWriter(folder, info).write(make_episode(seed=3))
    describe(folder)
    text = card.read_text()
    assert "# My games\n\nMade on a rainy day.\n" in text
    assert "| episodes | 4 |" in text
    assert text.count("| episodes |") == 1


def test_a_players_name_is_no_html_in_the_card(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    name = "<img src=x onerror=alert(1)> & [here](javascript:alert(1))"
    DatasetWriter(tmp_path, info).write(make_episode(player=name))
    describe(tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert "| players | &lt;img src=x onerror=alert(1)&gt; &amp; [here]\\(javascript:alert(1)) 1 |" in text
    assert "<img" not in text
    assert card_is_true(tmp_path, open_dataset(tmp_path).summary())


def test_a_description_may_begin_with_a_byte_order_mark(folder: Path) -> None:
    path = folder / "dataset.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    describe(folder, accept=True)
    assert len(open_dataset(folder)) == 3


def test_what_is_no_folder_is_said(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for name, found in (("pipe", "not a folder"), ("dataset.json", "not a folder"), ("none", "no such folder")):
        with pytest.raises(BadInput, match=rf"{name}: {found}; expected the folder of a dataset"):
            describe(folder / name)


def test_a_folder_that_may_not_be_entered_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", refuse)
    with pytest.raises(BadInput, match=r": permission denied; expected the folder of a dataset"):
        open_dataset(folder)


def test_croissant_metadata_name_every_column(folder: Path) -> None:
    describe(folder)
    found = json.loads((folder / "croissant.json").read_text())
    fields = {field["name"]: field for field in found["recordSet"][0]["field"]}
    assert set(fields) == set(open_dataset(folder).arrow().schema.names)
    assert (fields["observation"]["repeated"], fields["observation"]["dataType"]) == (True, "sc:Float")
    assert fields["terminated"]["dataType"] == "sc:Boolean"


@pytest.mark.needs(module="mlcroissant")
def test_croissant_metadata_are_valid_and_open_the_rows(folder: Path) -> None:
    import mlcroissant

    describe(folder)
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not dataset.metadata.issues.errors
    rows = list(dataset.records("steps"))
    written = open_dataset(folder).arrow().to_table()
    assert len(rows) == written.num_rows
    assert sorted((row["steps/episode"], row["steps/step"]) for row in rows) == sorted(
        zip(written["episode"].to_pylist(), written["step"].to_pylist(), strict=True)
    )
    assert {len(row["steps/observation"]) for row in rows} == {written["observation"].type.list_size}


def test_rows_stream_with_columns_and_filters(folder: Path) -> None:
    rows = open_dataset(folder).arrow()
    table = rows.to_table(columns=["step", "truncated"], filter=pads.field("episode") == 2)
    assert table.column_names == ["step", "truncated"]
    assert table.num_rows == 7
    assert sum(batch.num_rows for batch in rows.scanner(columns=["reward"], batch_size=4).to_batches()) == 18


def test_episodes_are_selected_before_they_are_read(folder: Path) -> None:
    (folder / "episode-000000.parquet").write_bytes(b"")
    chosen = open_dataset(folder).select([2, 1])
    assert [episode.seed for episode in chosen] == [2, 1]
    assert chosen.lengths().tolist() == [6, 5]

"""`qwop-dataset export`: for d3rlpy, and the card and the line for the hub of Hugging Face."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.exchange.export_command import ExportSettings
from qwop.datasets.exchange.export_command import run as export
from qwop.datasets.reader import Dataset


def test_the_card_is_completed_and_the_line_that_uploads_the_folder_is_printed(
    games: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    export(ExportSettings(str(games.folder), "huggingface", "me/my-runs", "CC-BY-4.0"))
    line = capsys.readouterr().out.splitlines()[-1]
    assert shlex.split(line) == [
        "hf", "upload", "me/my-runs", str(games.folder), ".", "--repo-type", "dataset", "--exclude", "aside/*",
    ]  # fmt: skip
    card = (games.folder / "README.md").read_text()
    assert 'pretty_name: "My runs"\n' in card
    assert "license: cc-by-4.0\n" in card
    assert 'path: "episodes/*.parquet"' in card
    assert "can be played again from their keys" in card


@pytest.mark.needs(module="d3rlpy")
def test_a_dataset_opens_in_d3rlpy(games: Dataset, tmp_path: Path) -> None:
    dataset = pytest.importorskip("d3rlpy.dataset", reason="d3rlpy cannot be imported", exc_type=ImportError)
    export(ExportSettings(str(games.folder), "d3rlpy", str(tmp_path / "games.h5")))
    with (tmp_path / "games.h5").open("rb") as file:
        found = dataset.ReplayBuffer.load(file, dataset.InfiniteBuffer()).episodes
    for ours, theirs in zip(games, found, strict=True):
        rows = len(ours)
        assert theirs.terminated == ours.terminated
        assert np.array_equal(theirs.observations[:rows], ours.observations[:rows])
        assert np.array_equal(theirs.actions[:rows, 0], ours.actions)
        assert np.array_equal(theirs.rewards[:rows, 0], ours.rewards)


@pytest.mark.parametrize(
    ("to", "out", "licence", "complaint"),
    [
        ("huggingface", "runs", "mit", "out=runs: expected a user's or organisation's repository"),
        ("huggingface", "me/runs", None, "licence is not set: expected one that the hub knows"),
        ("huggingface", "me/runs", "mit\nx: y", "licence is not set"),
        ("d3rlpy", "games.h5", None, "is there already; give out= a new name"),
        ("d3rlpy", "games", None, r"expected the name of a file that ends in \.h5"),
    ],
)
def test_what_cannot_be_exported_leaves_all_as_it_is(
    games: Dataset, monkeypatch: pytest.MonkeyPatch, to: Any, out: str, licence: str | None, complaint: str
) -> None:
    monkeypatch.chdir(games.folder.parent)
    Path("games.h5").write_text("mine")
    with pytest.raises(BadInput, match=complaint):
        export(ExportSettings(str(games.folder), to, out, licence))
    assert not (games.folder / "README.md").exists()
    assert Path("games.h5").read_text() == "mine"

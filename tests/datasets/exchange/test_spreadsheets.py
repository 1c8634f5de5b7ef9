"""Tables as the spreadsheets and programs of all countries write them by themselves."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import Episode, open_dataset
from qwop.datasets.exchange.import_command import DatasetImportSettings, run


@pytest.fixture
def table() -> pd.DataFrame:
    """Two games of CartPole."""
    random = np.random.default_rng(0)
    seen = {name: random.normal(size=7).astype(np.float32) for name in ("x", "v", "angle", "spin")}
    rest = {"action": [0, 1, 1, 0, 1, 0, 1], "reward": 0.5, "terminated": [n in (3, 6) for n in range(7)]}
    return pd.DataFrame({"episode": [0] * 4 + [1] * 3, "step": [0, 1, 2, 3, 0, 1, 2], **seen, **rest})


def brought(path: Path, **more: Any) -> list[Episode]:
    run(DatasetImportSettings(str(path), str(path.parent / "out"), environment_id="CartPole-v1", **more))
    return list(open_dataset(path.parent / "out"))


def test_names_of_columns_are_kept(tmp_path: Path, table: pd.DataFrame) -> None:
    table.rename(columns={"x": "Größe (m)"}).to_csv(tmp_path / "a.csv", index=False)
    brought(tmp_path / "a.csv")
    dataset = open_dataset(tmp_path / "out")
    assert dataset.info.observation_names == ("Größe (m)", "v", "angle", "spin")
    assert dataset.info.action_names == ("push left", "push right")
    assert "Größe (m)" in dataset.steps().columns


def test_rows_whose_index_has_gaps_were_left_out(tmp_path: Path, table: pd.DataFrame) -> None:
    table.drop(columns="step").drop(index=2).to_csv(tmp_path / "a.csv")
    with pytest.raises(BadInput, match=r"row 2: .*goes from 1 to 3 within episode 0: rows are missing"):
        brought(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["done", "next.done", "dones"])
def test_done_at_the_environments_limit_is_truncated_and_that_is_said(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lengths = (3, 500)  # CartPole-v1 is cut off at 500 decisions
    rows = [{"episode": game, "action": 0, name: step == n - 1} for game, n in enumerate(lengths) for step in range(n)]
    seen = np.random.default_rng(0).normal(size=(503, 4))
    pd.DataFrame(rows).assign(**{f"obs{i}": seen[:, i] for i in range(4)}).to_csv(tmp_path / "a.csv")
    found = brought(tmp_path / "a.csv")
    assert [(one.terminated, one.truncated) for one in found] == [(True, False), (False, True)]
    said = " ".join(capsys.readouterr().out.split())
    assert f"{name} does not say why an episode ended: it counts as terminated, and as truncated if it has 500" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.assign(x=["1 00", *["1"] * 6]), "column x holds 1 00, expected numbers"),
        (lambda one: one.assign(x=["", *["1"] * 6]), "observations hold a number that is not finite in row 0"),
        (lambda one: one.assign(x=["2026-01-01", *["1"] * 6]), "column x holds 2026-01-01, expected numbers"),
    ],
)
def test_cells_that_are_not_clear_are_refused_in_one_line(
    tmp_path: Path, table: pd.DataFrame, change: Callable[[pd.DataFrame], pd.DataFrame], said: str
) -> None:
    change(table).to_csv(tmp_path / "a.csv", index=False, sep=";")
    with pytest.raises(BadInput, match=said) as raised:
        brought(tmp_path / "a.csv")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,action\n" + b"0" * 300_000_000, compresslevel=9))
    with pytest.raises(BadInput, match="unpacks to more than 256 MB"):
        brought(tmp_path / "a.csv.gz")

"""The Results page is what the committed figures make."""

import json
from pathlib import Path

import pytest

from .scripts import ROOT, load_script

results_page = load_script("results_page")
COMMITTED = sorted((ROOT / "benchmarks/results").glob("*.json"))


def test_the_page_is_made_of_the_committed_figures() -> None:
    """After a change, run python benchmarks/results_page.py."""
    assert results_page.PAGE.read_text() == results_page.page()


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_every_figure_has_its_command_and_origin(path: Path) -> None:
    results = json.loads(path.read_text())
    assert not results["failed"]
    for runs in results["rows"].values():
        for run in runs:
            assert not Path(run["folder"]).is_absolute()
            assert run["command"]
            assert all(one["commit"] and "dirty" not in one["commit"] and one["day"] for one in run["origins"])
            assert run["origins"]

"""The scripts of `benchmarks/`, its files of rows, and the Results page."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from qwop.common.reading import parse_yaml
from qwop.compare.runner import jobs_of
from qwop.datasets import open_dataset

from .scripts import ROOT, load_script

FOLDER = ROOT / "benchmarks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_file_of_rows_is_accepted_by_the_commands_that_it_names(path: Path) -> None:
    document = parse_yaml(path.read_text())
    assert document.keys() <= {"title", "seeds", "against", "rows"}
    assert document.get("against", next(iter(document["rows"]))) in document["rows"]
    jobs = jobs_of(document["rows"], 1, Path("out"))
    every = [word for job in jobs for words in job.commands for word in words]
    assert not [word for word in every if "{" in word and ":" not in word], "a name that no row above has"


def test_the_results_page_is_made_of_the_committed_figures_which_have_a_command_and_an_origin() -> None:
    """After a change, run python benchmarks/results_page.py."""
    script = load_script("results_page")
    assert script.PAGE.read_text() == script.page()
    for path in (FOLDER / "results").glob("*.json"):
        results = json.loads(path.read_text())
        assert not results["failed"]
        for run in (run for runs in results["rows"].values() for run in runs):
            assert not Path(run["folder"]).is_absolute()
            assert run["command"]
            assert run["origins"]
            assert all(one["commit"] and "dirty" not in one["commit"] and one["day"] for one in run["origins"])


def test_the_amateurs_script_makes_the_games_that_ship_and_another_seed_makes_others() -> None:
    script = load_script("amateur")
    games, others = [*script.games(seed=1)], script.games(seed=2)
    for episode, keys in zip(open_dataset("amateur"), games, strict=True):
        assert np.array_equal(episode.keys_of_frames, keys[: len(episode.keys_of_frames)])
    assert not np.array_equal(games[0], next(others))


@pytest.mark.parametrize(
    ("settings", "rounds"),
    [
        ([], 10),  # 12 agents, 64 games, 8 unrolls of 64 decisions
        (["agents=1", "opponents=itself"], 120),
        (["work.num_games=128"], 5),
        (["agent=ftw"], round(120 * 32_768 / (12 * 16_000))),
    ],
)
def test_populations_of_any_settings_have_the_same_total_of_decisions(
    settings: list[str], rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    load_script("populations").evolve(tmp_path, settings, 120 * 32_768)
    assert {f"rounds={rounds}", *settings} <= {*commands[0]}


@pytest.mark.slow
def test_the_pictures_of_the_documentation_are_drawn(tmp_path: Path) -> None:
    film, race = tmp_path / "champion.gif", tmp_path / "race.png"
    for script, out in (("champion_gif.py", film), ("race_picture.py", race)):
        subprocess.run([sys.executable, FOLDER / script, out], check=True)
    with Image.open(film) as image:
        assert (image.size, getattr(image, "n_frames", 1) > 80) == ((480, 300), True)
    assert film.stat().st_size < 1_500_000
    with Image.open(race) as image:
        assert image.width > 2 * image.height

"""Reading finished runs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.compare.results import read_row, read_run


def test_a_training_is_read_with_its_evaluation_log_and_command(runs_folder: Path) -> None:
    run = read_run(runs_folder / "fast-1")
    evaluation = json.loads((runs_folder / "fast-1/phases/1-alone.json").read_text())
    assert run["greedy"]["mean_return"] == evaluation["mean_return"]
    assert run["drawn"].items() <= evaluation["drawn"].items()
    assert (run["seed"], run["environment"], run["decisions"], run["is_best"]) == (1, "CartPole-v1", 384, False)
    assert [row["decisions"] for row in run["log"]] == [128, 256, 384]
    assert "algorithm.learning_rate=0.003" in run["command"]
    assert "seed=" not in run["command"]
    assert "out=" not in run["command"]


def test_a_run_that_keeps_the_best_is_read_with_the_policy_that_it_kept(runs_folder: Path, tmp_path: Path) -> None:
    """The start's evaluation is made better than that of the end."""
    folder = shutil.copytree(runs_folder / "fast-0", tmp_path / "best-0")
    settings = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(settings.replace("keep: last", "keep: best"))
    start = json.loads((folder / "phases/0-start.json").read_text()) | {"mean_return": 499.0}
    (folder / "phases/0-start.json").write_text(json.dumps(start))
    run = read_run(folder)
    assert (run["greedy"]["mean_return"], run["decisions"], run["is_best"]) == (499.0, 0, True)


def test_a_pattern_may_name_all_that_a_comparison_left(runs_folder: Path, tmp_path: Path) -> None:
    for name in ("fast-0", "fast-1"):
        shutil.copytree(runs_folder / name, tmp_path / name)
    (tmp_path / "made").mkdir()
    (tmp_path / "table.md").touch()
    assert [run["seed"] for run in read_row("all", [str(tmp_path / "*")])] == [0, 1]


def test_evaluations_are_told_apart_by_the_numbers_of_their_folders(runs_folder: Path) -> None:
    runs = read_row("judged", [str(runs_folder / "judged-*")])
    assert [run["seed"] for run in runs] == [0, 1]
    assert [bool(run["greedy"]) for run in runs] == [False, False]
    assert [len(run["log"]) for run in runs] == [0, 0]


def test_an_evaluation_has_the_log_of_the_training_within_its_folder(runs_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(runs_folder / "judged-0", tmp_path / "row-0")
    shutil.copytree(runs_folder / "fast-0", folder / "tuned")
    run = read_run(folder)
    rewards = [game["reward"] for game in json.loads((folder / "evaluation.json").read_text())["games"]]
    assert run["drawn"]["mean_return"] == np.mean(rewards)
    assert run["decisions"] == 384


def test_a_clone_is_read_with_its_games(tmp_path: Path) -> None:
    from qwop.commands import pretrain

    words = ["epochs=1", "clones=1", "frames_per_step=[8]", "games=2", f"out={tmp_path}/clone"]
    pretrain.run(pretrain.read(words))
    run = read_run(tmp_path / "clone")
    assert run["environment"] == "QWOP-v1"
    assert (run["greedy"]["episodes"], run["drawn"]["episodes"]) == (2, 2)


@pytest.mark.parametrize(
    ("places", "complaint"),
    [
        (["nothing-*"], "no such folder"),
        (["."], "no finished run"),
        (["judged-0", "other"], "some runs have the same seed"),
        (["unfinished-0"], "no finished run"),
    ],
)
def test_what_is_no_row_of_finished_runs_is_refused(
    places: list[str], complaint: str, runs_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for source, copy in (
        ("fast-0", "fast-0"), ("fast-0", "unfinished-0"), ("judged-0", "judged-0"),
        ("judged-1", "other"),
    ):  # fmt: skip
        shutil.copytree(runs_folder / source, tmp_path / copy)
    (tmp_path / "unfinished-0" / "report.html").unlink()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=complaint):
        read_row("row", places)


def test_a_training_without_games_is_refused(runs_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(runs_folder / "fast-0", tmp_path / "fast-0")
    shutil.rmtree(folder / "phases")
    with pytest.raises(BadInput, match="no policy played games"):
        read_run(folder)

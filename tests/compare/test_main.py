"""Whole comparisons, and the finished runs that they read."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from qwop.common.errors import BadInput
from qwop.compare.main import compare
from qwop.compare.results import read_row, read_run

from .conftest import BRIEF


def test_folders_are_compared_without_leaving_a_file(
    runs_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    comparison = compare({"fast": f"{runs_folder}/fast-*", "slow": [f"{runs_folder}/slow-0", f"{runs_folder}/slow-1"]})
    assert [*tmp_path.iterdir()] == []
    greedy = comparison.table[comparison.table.games == "greedy"].set_index("row")
    ends = [
        json.loads((runs_folder / f"fast-{seed}/phases/1-alone.json").read_text())["mean_return"] for seed in (0, 1)
    ]
    assert greedy.loc["fast", "mean"] == pytest.approx(np.mean(ends))
    assert (greedy.loc["fast", "mean_low"], greedy.loc["fast", "mean_high"]) == (min(ends), max(ends))
    assert greedy.loc["fast", "against"] == "slow"
    assert [run["seed"] for run in comparison.results["rows"]["slow"]] == [0, 1]
    assert comparison.curves.groupby(["row", "seed"]).size().tolist() == [3] * 4
    for text in ("CartPole-v1: mean return, greedy games", "algorithm.learning_rate=0.003", "<svg", "fast, seeds 0, 1"):
        assert text in comparison.page


def test_the_report_has_tables_curves_and_results(runs_folder: Path, tmp_path: Path) -> None:
    rows = {"fast": f"{runs_folder}/fast-*", "judged": f"{runs_folder}/judged-0"}
    comparison = compare(rows, out=tmp_path, title="Fast | slow")
    results = json.loads((tmp_path / "results.json").read_text())
    assert results == json.loads(json.dumps(comparison.results))
    assert [(line["row"], line["games"], line["seeds"]) for line in results["lines"]] == [
        ("fast", "greedy", 2), ("judged", "greedy", 0), ("fast", "drawn", 2), ("judged", "drawn", 1),
    ]  # fmt: skip
    table = (tmp_path / "table.md").read_text()
    assert "| fast | 2 of 2 | " in table
    assert "| judged | 0 of 1 | – | – |" in table
    assert "A single seed\nhas none" in table
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert {"row", "seed", "phase", "decisions", "time/seconds", "live/return"} <= {*curves.columns}
    assert (tmp_path / "report.html").read_text() == comparison.page
    assert "<title>Fast | slow</title>" in comparison.page


def test_each_environment_has_curves_of_its_own_figures(runs_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(runs_folder / "fast-0", tmp_path / "far-0")
    for path in folder.glob("phases/*.json"):
        path.write_text(path.read_text().replace("CartPole-v1", "Pendulum-v1"))
    log = (folder / "metrics.jsonl").read_text()
    (folder / "metrics.jsonl").write_text(log.replace('"live/return"', '"live/metres"'))
    page = compare({"far": str(folder), "fast": f"{runs_folder}/fast-*"}).page
    first, second = page.split(": live play</h2>")[1:]
    assert ["metres" in first, "return of a game" in first, "return of a game" in second] == [True, False, True]


@pytest.mark.slow
def test_rows_are_run_and_compared(tmp_path: Path) -> None:
    settings = dict(word.split("=") for word in BRIEF)
    rows = {
        "_start": {"settings": settings, "seeds": [0]},
        "more": "qwop-finetune policy={_start}/policy.safetensors schedule=live-only " + " ".join(BRIEF[1:]),
        "wrong": "qwop-evaluate policy=none.safetensors",
    }
    for _ in range(2):  # the second time only what failed
        comparison = compare(rows, seeds=2, jobs=2, out=tmp_path)
        assert [run["seed"] for run in comparison.results["rows"]["more"]] == [0, 1]
        assert comparison.results["rows"].keys() == {"more"}
        assert comparison.results["failed"].keys() == {"wrong-0", "wrong-1"}
        assert "none.safetensors: no such file" in comparison.results["failed"]["wrong-1"]
        assert "Failed: wrong-0: qwop-evaluate: none.safetensors" in (tmp_path / "table.md").read_text()
    assert len(json.loads((tmp_path / "made/more-0.json").read_text())["done"]) == 1


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ({}, "nothing to compare"),
        ({"a": []}, "a: .*expected folders of finished runs, or command lines"),
        ({"a": {"comand": "qwop-finetune"}}, "a: comand is unknown; expected command, settings and seeds"),
        ({"a": {"seeds": 0}}, "a: seeds=0, expected a number of seeds, or a list of them"),
        ({"a": {"seeds": [1, "two"]}}, "expected a number of seeds"),
        ({"a": "python nothing.py"}, "nothing to compare: .*nothing.py"),
    ],
)
def test_rows_that_are_none_are_refused(rows: dict, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=complaint):
        compare(rows, out=tmp_path)


@pytest.mark.parametrize("before", ["", "import qwop.compare.results; ", "import qwop.compare.main; "])
def test_the_package_and_its_function_share_a_name(before: str) -> None:
    code = (
        f"{before}import qwop\ntry:\n    qwop.compare({{}}, jobs=1)\nexcept qwop.BadInput as error:\n    print(error)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.startswith("nothing to compare")


FOREIGN = """
import json, pathlib, sys
words = dict(word.split("=") for word in sys.argv[1:])
reward = 10.0 * int(words["seed"])
document = {"environment": {"id": "CartPole-v1"}, "settings": {"greedy": True}, "episodes": 1, "mean_return": reward,
            "games": [{"reward": reward}], "decisions": 500}
folder = pathlib.Path(words["out"])
folder.mkdir(parents=True)
(folder / "evaluation.json").write_text(json.dumps(document))
"""


def test_the_evaluations_of_other_programs_are_compared(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(FOREIGN)
    row = f"python {tmp_path}/other.py seed={{seed}} out={{run}}"
    comparison = compare({"theirs": {"command": [row], "seeds": [1, 2, 4]}}, out=tmp_path / "out")
    (line,) = comparison.results["lines"]
    assert line["values"] == {1: 10.0, 2: 20.0, 4: 40.0}
    assert comparison.results["rows"]["theirs"][0]["decisions"] == 500
    assert f"<pre>python {tmp_path}/other.py seed={{seed}} out={{run}}</pre>" in comparison.page


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
    shutil.copytree(
        runs_folder / "slow-0", (whole := shutil.copytree(runs_folder / "fast-0", tmp_path / "fast-0")) / "x"
    )
    assert read_run(whole)["log"] == read_run(runs_folder / "fast-0")["log"]  # its own


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

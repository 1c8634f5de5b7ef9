"""Whole comparisons, and the finished runs that they read."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from qwop.commands import pretrain
from qwop.common.errors import BadInput
from qwop.compare.main import compare
from qwop.compare.results import read_row, read_run

from .conftest import BRIEF


def test_rows_have_tables_curves_and_a_page(runs_folder: Path, tmp_path: Path) -> None:
    rows = {"fast": f"{runs_folder}/fast-*", "slow": [f"{runs_folder}/slow-0", f"{runs_folder}/slow-1"]}
    comparison = compare(
        {**rows, "judged": f"{runs_folder}/judged-0"}, out=tmp_path, title="Fast | slow", against="slow"
    )
    greedy = comparison.table[comparison.table.games == "greedy"].set_index("row")
    ends = [
        json.loads((runs_folder / f"fast-{seed}/phases/1-alone.json").read_text())["mean_return"] for seed in (0, 1)
    ]
    assert greedy.loc["fast", "mean"] == pytest.approx(np.mean(ends))
    assert (greedy.loc["fast", "mean_low"], greedy.loc["fast", "mean_high"]) == (min(ends), max(ends))
    assert greedy.loc["fast", "against"] == "slow"
    results = json.loads((tmp_path / "results.json").read_text())
    assert results == json.loads(json.dumps(comparison.results))
    assert [run["seed"] for run in results["rows"]["slow"]] == [0, 1]
    assert [line["seeds"] for line in results["lines"]] == [2, 2, 0, 2, 2, 1]  # greedy, then drawn
    table = (tmp_path / "table.md").read_text()
    for text in ("| fast | 2 of 2 | ", "| judged | 0 of 1 | – | – |", "A single seed\nhas none"):
        assert text in table
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert curves.groupby(["row", "seed"]).size().tolist() == [3] * 4
    assert {"phase", "decisions", "time/seconds", "live/return"} <= {*curves.columns}
    page = (tmp_path / "report.html").read_text()
    title, learning_rate = "<title>Fast | slow</title>", "algorithm.learning_rate=0.003"
    for text in (title, "CartPole-v1: mean return, greedy games", learning_rate, "<svg", "fast, seeds 0, 1"):
        assert text in page


def test_each_environment_has_curves_of_its_own_figures_and_no_file_is_left(
    runs_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(runs_folder / "fast-0", tmp_path / "far-0")
    for path in folder.glob("phases/*.json"):
        path.write_text(path.read_text().replace("CartPole-v1", "Pendulum-v1"))
    log = (folder / "metrics.jsonl").read_text()
    (folder / "metrics.jsonl").write_text(log.replace('"live/return"', '"live/metres"'))
    monkeypatch.chdir(tmp_path)
    page = compare({"far": "far-0", "fast": f"{runs_folder}/fast-*"}).page
    assert [*tmp_path.iterdir()] == [folder]
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
figures = {"settings": {"greedy": True}, "mean_return": 10.0 * int(words["seed"])}
folder = pathlib.Path(words["out"])
folder.mkdir(parents=True)
(folder / "evaluation.json").write_text(json.dumps({"environment": {"id": "CartPole-v1"}, **figures}))
"""


def test_the_evaluations_of_other_programs_are_compared(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(FOREIGN)
    row = f"python {tmp_path}/other.py seed={{seed}} out={{run}}"
    comparison = compare({"theirs": {"command": [row], "seeds": [1, 2, 4]}}, out=tmp_path / "out")
    assert comparison.results["lines"][0]["values"] == {1: 10.0, 2: 20.0, 4: 40.0}
    assert f"<pre>python {tmp_path}/other.py seed={{seed}} out={{run}}</pre>" in comparison.page


def test_a_training_is_read_with_its_evaluation_log_and_command_or_the_best_of_several_evaluations(
    runs_folder: Path, tmp_path: Path
) -> None:
    run = read_run(runs_folder / "fast-1")
    evaluation = json.loads((runs_folder / "fast-1/phases/1-alone.json").read_text())
    assert run["greedy"]["mean_return"] == evaluation["mean_return"]
    assert run["drawn"].items() <= evaluation["drawn"].items()
    assert (run["seed"], run["environment"]) == (1, "CartPole-v1")
    assert [row["decisions"] for row in run["log"]] == [128, 256, 384]
    assert run["command"] == f"qwop-finetune {' '.join(BRIEF)} algorithm.learning_rate=0.003"  # without seed and out
    best = shutil.copytree(runs_folder / "fast-1", tmp_path / "best-1")
    (best / "config.yaml").write_text((best / "config.yaml").read_text().replace("keep: last", "keep: best"))
    start = json.loads((best / "phases/0-start.json").read_text()) | {"mean_return": 499.0}  # better than the end
    (best / "phases/0-start.json").write_text(json.dumps(start))
    assert read_run(best)["greedy"]["mean_return"] == 499.0


def test_evaluations_have_the_numbers_of_their_folders_and_the_log_of_the_training_within(
    runs_folder: Path, tmp_path: Path
) -> None:
    for number in (0, 1):
        folder = shutil.copytree(runs_folder / f"judged-{number}", tmp_path / f"row-{number}")
    shutil.copytree(runs_folder / "fast-0", folder / "tuned")
    (tmp_path / "made").mkdir()
    first, second = read_row("row", [str(tmp_path / "*")])  # all that a comparison left
    rewards = [game["reward"] for game in json.loads((folder / "evaluation.json").read_text())["games"]]
    assert (second["drawn"]["mean_return"], second["greedy"]) == (np.mean(rewards), {})
    assert (first["seed"], second["seed"], len(first["log"]), len(second["log"])) == (0, 1, 0, 3)
    own = shutil.copytree(runs_folder / "fast-0", tmp_path / "fast-0")
    shutil.copytree(runs_folder / "slow-0", own / "x")
    assert read_run(own)["log"] == read_run(runs_folder / "fast-0")["log"]


def test_a_clone_is_read_with_its_games(tmp_path: Path) -> None:
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
        (["without-0"], "no policy played games"),
    ],
)
def test_what_is_no_row_of_finished_runs_is_refused(
    places: list[str], complaint: str, runs_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = {"unfinished-0": "fast-0", "without-0": "fast-0", "judged-0": "judged-0", "other": "judged-1"}
    for copy, source in copies.items():
        shutil.copytree(runs_folder / source, tmp_path / copy)
    (tmp_path / "unfinished-0" / "report.html").unlink()
    shutil.rmtree(tmp_path / "without-0" / "phases")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=complaint):
        read_row("row", places)

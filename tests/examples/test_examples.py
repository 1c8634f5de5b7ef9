"""The examples run, and print what they promise."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from qwop import load_policy

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"

COMMAND = "from qwop.commands import finetune; finetune()"


def run(script: str, folder: Path, *arguments: object) -> str:
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("random_games.py --games 16 --decisions 200", ["games ended; median", "frames a second"]),
        pytest.param("pettingzoo_race.py", ["runner_1: fell"], marks=pytest.mark.needs(module="pettingzoo")),
        pytest.param("ppo_with_stable_baselines.py --steps 256 --games 2 --episodes 2", ["mean return of"],
                     marks=pytest.mark.needs(module="stable_baselines3")),
    ],
)  # fmt: skip
def test_an_example_prints_what_it_promises(line: str, parts: list[str], tmp_path: Path) -> None:
    printed = run(*line.split()[:1], tmp_path, *line.split()[1:])
    assert [part for part in parts if part not in printed] == []


def test_look_at_games(tmp_path: Path) -> None:
    said = run("look_at_games.py", tmp_path, "--out", "strip.png")
    assert said.count("finished") + said.count("fell") >= 16
    assert (tmp_path / "strip.png").stat().st_size > 10_000


def test_train_in_python(tmp_path: Path) -> None:
    said = run("train_in_python.py", tmp_path, "--decisions", 320, "--seeds", 2)
    assert {"with, seed 1: ", "without, seed 1: "} <= {line.partition(": ")[0] + ": " for line in said.splitlines()}
    page = (tmp_path / "runs/python/comparison/report.html").read_text()
    assert "95 % bootstrap intervals" in page
    assert len(list((tmp_path / "runs/python").glob("with*-?/policy.safetensors"))) == 4


LEARNED = 200
"""Return of CartPole, whose untrained network gets 9, and whose longest game is 500."""


def test_clone_mix_remove(tmp_path: Path) -> None:
    said = run("clone_mix_remove.py", tmp_path, "--iterations", 4, "--epochs", 1).splitlines()
    assert [line.partition(":")[0] for line in said[:2]] == ["values", "mixed"]
    assert said[1].endswith("memory: 50% shown")
    assert said[2] == "256 demonstrations removed"
    assert said[3].endswith("memory: 0% shown")
    assert load_policy(tmp_path / "clone_mix_remove.safetensors").environment.id == "QWOP-v1"


def test_own_algorithm_from_python(tmp_path: Path) -> None:
    said = run("own_algorithm.py", tmp_path)
    start, learned = (float(line.split()[2]) for line in said.splitlines()[-2:])
    assert start < 20
    assert learned > LEARNED


def test_own_algorithm_on_the_command_line(tmp_path: Path) -> None:
    record = "import own_algorithm; own_algorithm.record('data/pole')"
    line = (
        "imports=[own_algorithm] algorithm=awac policy=scratch demonstrations=data/pole schedule=live-only "
        "schedule.decisions=5000 schedule.phases.alone.demonstrations=[1,0] out=runs/awac video=false tracker=none "
        "evaluation.episodes=20 evaluation.drawn=0"
    )
    env = {**os.environ, "PYTHONPATH": str(EXAMPLES)}
    for words in ([sys.executable, "-c", record], [sys.executable, "-c", COMMAND, *line.split()]):
        subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    found = json.loads((tmp_path / "runs/awac/phases/1-alone.json").read_text())
    assert found["mean_return"] > LEARNED
    rows = [json.loads(row) for row in (tmp_path / "runs/awac/metrics.jsonl").read_text().splitlines()]
    assert rows[0]["sampled/demonstrations"] > rows[-1]["sampled/demonstrations"] > 0
    with_report = (tmp_path / "runs/awac/report.html").read_text()
    assert "imports=[own_algorithm]" in with_report


def test_an_environment_of_ones_own() -> None:
    """key_world.py keeps Gymnasium's contract, and is solved by walking towards the goal."""
    script = (
        "import gymnasium, key_world, numpy as np; from gymnasium.utils.env_checker import check_env;"
        "env = gymnasium.make('KeyWorld-v0'); check_env(env.unwrapped, skip_render_check=True);"
        "seen, _ = env.reset(seed=0); over = False\n"
        "while not over:\n"
        "    right = seen['distance'][0] > 0\n"
        "    seen, reward, over, *_ = env.step(np.array([not right, right], np.int8))\n"
        "print(reward)"
    )
    said = subprocess.run([sys.executable, "-c", script], cwd=EXAMPLES, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "1.0"


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks(notebook: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (the extra 'docs')")
    cells = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(cells, timeout=280, resources={"metadata": {"path": tmp_path}}).execute()
    printed = json.dumps(cells)
    assert "of 31 finished" in printed
    assert "alone: 2,080 decisions" in printed
    assert "image/png" in printed


def test_every_example_is_tested() -> None:
    tested = Path(__file__).read_text()
    assert [path.name for path in EXAMPLES.glob("*.py") if path.name not in tested] == []


def test_notebooks_are_kept_without_output() -> None:
    for notebook in EXAMPLES.glob("*.ipynb"):
        cells = json.loads(notebook.read_text())["cells"]
        assert all(not cell.get("outputs") for cell in cells), f"{notebook}: clear its outputs"

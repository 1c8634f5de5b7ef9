"""`import qwop`: light, complete and typed; without extras, commands say what is missing."""

import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
import qwop

from ..fakes import python

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

WITHOUT_TRAINING = """
import sys
for name in ("torch", "hydra", "omegaconf", "safetensors", "tensorboard", "websockets", "pygame", "stable_baselines3"):
    sys.modules[name] = None
"""


def run(code: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return python(WITHOUT_TRAINING + code, folder)


def test_environment_replay_pictures_and_datasets_need_no_extra(tmp_path: Path) -> None:
    code = """
import gymnasium, qwop
env = gymnasium.make("qwop:QWOP-v1", render_mode="rgb_array")
env.reset(seed=0)
env.step(3)
assert env.render().shape == (400, 640, 3)
batch = gymnasium.make_vec("QWOP-v1", num_envs=3)
batch.reset(seed=0)
batch.step(batch.action_space.sample())
assert qwop.replay([1] * 9).states.shape == (10, 14, 6)
dataset = qwop.open_dataset(qwop.embedded_dataset())
assert len(dataset[0].actions) > 100
assert sum(dataset.summary().outcomes.values()) == len(dataset)
print("all of it")
"""
    process = run(code, tmp_path)
    assert process.stdout == "all of it\n", process.stderr


@pytest.mark.parametrize("command", ["record", "finetune"])
def test_a_command_without_its_extra_ends_with_one_line(command: str, tmp_path: Path) -> None:
    assert PROJECT["scripts"][f"qwop-{command}"] == f"qwop.commands:{command}.script"
    process = run(f"sys.argv = ['qwop-{command}']\nfrom qwop.commands import {command}\n{command}.script()", tmp_path)
    assert (process.returncode, process.stdout) == (2, "")
    (line,) = process.stderr.splitlines()
    assert line.startswith(f"qwop-{command}: hydra is not installed")
    assert "pip install 'qwop[train]'" in line


def test_a_public_name_that_needs_an_extra_says_which(tmp_path: Path) -> None:
    process = run("import qwop\nqwop.load_policy", tmp_path)
    assert "qwop.load_policy needs the extra 'train'" in process.stderr


def test_everything_installs_with_the_gymnasium_of_the_core() -> None:
    """d3rlpy pins Gymnasium 1.0.0 and must not get in with another extra."""
    extras = PROJECT["optional-dependencies"]
    assert not any("d3rlpy" in requirement for name in ("all", "test", "docs", "train") for requirement in extras[name])


ROOT = Path(__file__).parents[2]


NOTHING_HEAVY = {"torch", "numba", "hydra", "omegaconf", "tensorboard", "pandas", "pyarrow", "PIL", "rich"}


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("qwop, qwop.envs.spec", NOTHING_HEAVY),
        ("qwop.recorder.main, qwop.evaluation.main", {"pandas"}),  # which read no episode
    ],
)
def test_an_import_brings_nothing_heavy(modules: str, heavy: set[str], tmp_path: Path) -> None:
    process = python(f"import sys, {modules}; print({heavy!r} & {{*sys.modules}})", tmp_path)
    assert process.stdout.strip() == "set()", process.stderr


def test_every_public_name_is_there() -> None:
    assert set(qwop.__all__) <= set(dir(qwop))
    for name in qwop.__all__:
        assert getattr(qwop, name) is not None
    assert qwop.replay([1, 0]).states.shape == (3, 14, 6)
    with pytest.raises(AttributeError, match="'qwop' has no attribute 'nothing'"):
        _ = qwop.nothing  # type: ignore[attr-defined]


def test_in_the_checkout_datasets_is_the_installed_package(tmp_path: Path) -> None:
    installed = tmp_path / "datasets"
    installed.mkdir()
    (installed / "__init__.py").write_text("from .arrow import WHOSE\n")
    (installed / "arrow.py").write_text("WHOSE = 'theirs'\n")
    code = "import datasets, sys, qwop.datasets; print(datasets.WHOSE, qwop.datasets.open_dataset.__name__)"
    assert python(code, ROOT, PYTHONPATH=str(tmp_path)).stdout.split() == ["theirs", "open_dataset"]


def test_in_the_checkout_datasets_is_missing_where_it_is_not_installed() -> None:
    # As if nothing were installed: Hugging Face's may be.
    code = (
        "import sys\nsys.path = [one for one in sys.path if 'site-packages' not in one]\n"
        "try:\n import datasets\nexcept ModuleNotFoundError as e:\n print(e.name, e)"
    )
    assert python(code, ROOT, PYTHONPATH="").stdout.strip() == "datasets No module named 'datasets'"


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_refused_and_writes_nothing(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    champion = qwop.load_policy("champion")
    info = qwop.DatasetInfo(qwop.EnvironmentSpec("CartPole-v1"), *qwop.EnvironmentSpec("CartPole-v1").interface())
    for attempt in (
        lambda: qwop.write_episode(path, np.zeros((2, 4)), [0, 1], environment="CartPole-v1"),
        lambda: qwop.DatasetWriter(path, info),
        lambda: qwop.open_dataset(path),
        lambda: qwop.save_policy(path, champion),
        lambda: qwop.load_policy(path),
        lambda: qwop.write_keys(path, [0, 1], "mine"),
        lambda: qwop.read_keys(path),
    ):
        with pytest.raises(qwop.BadInput, match=r"the name of the .* is empty; give one, or \. for the working folder"):
            attempt()
    assert not list(tmp_path.iterdir())

"""`pip install qwop` without extras: the environments, pictures and datasets work, commands say what is missing."""

import subprocess
import tomllib
from pathlib import Path

import pytest

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


def test_a_study_without_its_extra_says_which(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["optuna"], sys.argv = None, ["qwop-study"]
from qwop.commands import study
study.script()
"""
    process = python(code, tmp_path)
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert line.startswith("qwop-study: optuna is not installed; ")
    assert line.endswith("pip install 'qwop[study]'")


def test_a_public_name_that_needs_an_extra_says_which(tmp_path: Path) -> None:
    process = run("import qwop\nqwop.load_policy", tmp_path)
    assert "qwop.load_policy needs the extra 'train'" in process.stderr


def test_everything_installs_with_the_gymnasium_of_the_core() -> None:
    """d3rlpy pins Gymnasium 1.0.0 and must not get in with another extra."""
    extras = PROJECT["optional-dependencies"]
    assert not any("d3rlpy" in requirement for name in ("all", "test", "docs", "train") for requirement in extras[name])

"""`qwop-dataset relabel`: other rewards, observations and decision rates, by replay."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, Episode, open_dataset
from qwop.datasets.control import Branch
from qwop.datasets.editing import relabel
from qwop.datasets.verify import command as verify
from qwop.datasets.verify import run as run_verify


@pytest.fixture
def mine(tmp_path: Path, make_games: Callable[..., Path]) -> Path:
    return make_games(tmp_path / "mine")


def verified(folder: Path) -> list[Episode]:
    run_verify(verify.read([f"dataset={folder}", "replay=true"]))
    return list(open_dataset(folder))


def test_another_reward_keeps_the_decisions(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    relabel.run(
        relabel.command.read([f"dataset={mine}", f"out={out}", "reward=race", "observation=full", "shaping=0.5"])
    )
    for old, new in zip(open_dataset(mine), verified(out), strict=True):
        assert new.observations.shape == (len(old) + 1, 94)
        np.testing.assert_array_equal(new.observations[:, :71], old.observations)
        np.testing.assert_array_equal(new.behaviour_probabilities, old.behaviour_probabilities)
        np.testing.assert_array_equal(new.actions, old.actions)
        assert (new.mu, new.created) == (old.mu, old.created)
        assert (new.rewards != old.rewards).any()


@pytest.mark.parametrize(("setting", "step"), [("reward=race", 10), ("frames_per_step=2", 15)])
def test_games_of_shared_control_are_relabelled_with_who_acted(
    mine: Path, tmp_path: Path, setting: str, step: int
) -> None:
    game = open_dataset(mine)[0]
    actors = (np.arange(len(game)) >= 10).astype(np.int8)
    info = open_dataset(mine).info
    asked = game.behaviour_probabilities[::-1].copy()
    coached = replace(game, actors=actors, policy_probabilities=asked, branch=Branch(7, 10))
    DatasetWriter(tmp_path / "coached", info).write(coached)
    relabel.run(relabel.command.read([f"dataset={tmp_path / 'coached'}", f"out={tmp_path / 'out'}", setting]))
    (found,) = open_dataset(tmp_path / "out")
    assert found.actors is not None
    assert found.times is not None
    assert game.times is not None
    assert found.times[1:][found.actors == 0].max() == game.times[10]
    assert found.branch == Branch(7, step)
    if step == 10:  # what the policy would have done at other moments is not known
        np.testing.assert_array_equal(found.policy_probabilities, asked)
    else:
        assert found.policy_probabilities is None


@pytest.mark.parametrize("name", ["shaping", "fall_penalty", "push_penalty"])
def test_a_weight_that_no_dataset_may_have_is_refused_as_a_setting(name: str) -> None:
    with pytest.raises(BadInput, match=rf"^{name}=1e\+38: expected a number from 0 to 1,000,000"):
        relabel.command.read(["dataset=mine", "out=out", f"{name}=1e38"])

"""MiniGrid's DoorKey as an environment with numbers, and its demonstrator."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from .scripts import load_script

pytestmark = pytest.mark.needs(module="minigrid")
script = load_script("hard_exploration")


@pytest.fixture
def door_key() -> Iterator[gymnasium.Env[Any, Any]]:
    env = gymnasium.make("DoorKey-v0")
    yield env
    env.close()


def test_what_is_seen_says_of_each_cell_what_it_holds_and_of_the_door_whether_it_is_open(
    door_key: gymnasium.Env[Any, Any],
) -> None:
    seen, _ = door_key.reset(seed=0)
    cells = seen.reshape(7, 7, 14)
    assert seen in door_key.observation_space
    np.testing.assert_array_equal(cells[..., :11].sum(-1), 1)
    np.testing.assert_array_equal(cells[..., 11:].sum(-1), 1)
    image = door_key.unwrapped.gen_obs()["image"]  # type: ignore[attr-defined]
    np.testing.assert_array_equal(cells[..., :11].argmax(-1), image[..., 0])
    np.testing.assert_array_equal(cells[..., 11:].argmax(-1), image[..., 2])


@pytest.mark.parametrize("seed", range(5))
def test_the_demonstrator_fetches_the_key_opens_the_door_and_reaches_the_goal(
    seed: int, door_key: gymnasium.Env[Any, Any]
) -> None:
    seen, _ = door_key.reset(seed=seed)
    reward, ended, steps = 0.0, False, 0
    while not ended:
        seen, reward, terminated, truncated, _ = door_key.step(script.fetch(door_key, seen))
        ended, steps = terminated or truncated, steps + 1
    assert terminated
    assert steps < 30
    assert reward > 0.8


def test_demonstrations_are_learned_from(tmp_path: Path) -> None:
    task = script.replace(script.TASKS["door-key"], shown=3, decisions=64)
    dataset = script.demonstrations(task, tmp_path / "shown", 0)
    assert dataset.info.observation.shape == (686,)
    assert len(dataset) == 3
    end = script.learn(task, dataset, True, 0, tmp_path / "run")
    assert 0 <= end <= 1

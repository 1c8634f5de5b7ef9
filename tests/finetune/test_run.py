"""Runs of every algorithm, killed at some barrier and resumed, against runs that were not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.loop import Loop
from qwop.finetune.schedules.phase import NONE, Phase, Ramp

from .runs import LIVE_ONLY, SMALL, assert_same, run_until, small_run

SPEC = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"})
SEEN, ACTIONS = ObservationSpec((71,)), 11
ITERATION = 3 * 5
ITERATIONS = 8
HOURS = ITERATION / 3600 / 10  # of one iteration, at 10 decisions a second


@pytest.fixture(scope="module")
def demonstrations(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A game of noise, for a run that does not care who plays."""
    random, n = np.random.default_rng(0), 40
    folder = tmp_path_factory.mktemp("demonstrations")
    DatasetWriter(folder / "demos", DatasetInfo(SPEC, SEEN, ACTIONS)).write(
        Episode(
            observations=random.normal(size=(n + 1, 71)).astype(np.float32),
            actions=random.integers(ACTIONS, size=n).astype(np.int16),
            behaviour_probabilities=np.full((n, ACTIONS), 1 / ACTIONS, dtype=np.float32),
            rewards=random.normal(size=n).astype(np.float32),
            times=np.arange(n + 1) / 10,
            keys=None,
            terminated=True,
            truncated=False,
            outcome="fell",
            player="tests",
            source="tests",
            mu_kind="recorded",
        )
    )
    return open_dataset(folder / "demos")


def make(name: str, folder: Path, dataset: Dataset, every: int, **more: Any) -> Loop:
    share = NONE if name in LIVE_ONLY else Ramp(1.0, 0.5)
    phases = (
        Phase("one", 3 * HOURS, learning_rate=Ramp(1.0, 0.5)),
        Phase("two", (ITERATIONS - 3) * HOURS, demonstrations=share),
    )
    return small_run(name, phases, SPEC, folder, dataset, log_every=45, checkpoint_every=every * ITERATION, **more)


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_a_run_killed_at_any_barrier_and_resumed_has_the_state_of_one_that_was_not(
    name: str, overlap: bool, tmp_path: Path, demonstrations: Dataset
) -> None:
    random = np.random.default_rng(len(name))
    every, barriers = int(random.integers(1, 3)), random.choice(np.arange(1, ITERATIONS - 1), size=2, replace=False)
    whole = make(name, tmp_path / "whole", demonstrations, every, overlap=overlap)
    whole.run()
    expected = whole.get_state()
    assert expected["decisions"] == ITERATIONS * ITERATION
    for barrier in barriers:
        folder = tmp_path / f"killed at {barrier}"
        run_until(make(name, folder, demonstrations, every, overlap=overlap), int(barrier) * ITERATION)
        resumed = make(name, folder, demonstrations, every, resume=True, overlap=overlap)
        assert not resumed.finished
        resumed.run()
        assert_same(resumed.get_state(), expected)


@pytest.mark.parametrize("name", SMALL)
def test_taking_the_state_of_a_run_changes_nothing(name: str, tmp_path: Path, demonstrations: Dataset) -> None:
    asked, left = (make(name, tmp_path / folder, demonstrations, every=2) for folder in ("asked", "left"))
    for loop in (asked, left):
        run_until(loop, 2 * ITERATION)
    before = asked.get_state()
    assert_same(asked.get_state(), before)
    asked, left = (make(name, tmp_path / folder, demonstrations, every=2, resume=True) for folder in ("asked", "left"))
    asked.get_state()
    for loop in (asked, left):
        run_until(loop, 6 * ITERATION)
    assert_same(asked.get_state(), left.get_state())


def test_each_stage_draws_numbers_of_its_own(tmp_path: Path) -> None:
    first = small_run("ppo", (Phase("alone", hours=1.0),), EnvironmentSpec("CartPole-v1"), tmp_path)._run
    second = first.at(1, 0, first.policy)
    numbers = [one.random() for run in (first, second) for one in (run.for_play, run.for_agent)]
    assert len({*numbers}) == 4
    again = first.at(1, 0, first.policy)
    assert [again.for_play.random(), again.for_agent.random()] == numbers[2:]

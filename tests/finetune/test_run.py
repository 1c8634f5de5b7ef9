"""Runs: what their parts are made with; runs of every algorithm, killed at some barrier and resumed, or extended."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets.reader import Dataset
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.loop import Loop
from qwop.finetune.schedules.phase import NONE, Phase, Ramp

from ..fakes import untrained
from .fakes import write_games
from .runs import LIVE_ONLY, SMALL, assert_same, make_run, run_until, small_run

SPEC = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"})
ITERATION = 3 * 5
ITERATIONS = 8


@pytest.fixture(scope="module")
def demonstrations(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return write_games(tmp_path_factory.mktemp("demonstrations") / "demos", SPEC, [40])


def make(name: str, folder: Path, dataset: Dataset, every: int, **more: Any) -> Loop:
    share = NONE if name in LIVE_ONLY else Ramp(1.0, 0.5)
    phases = (
        Phase("one", decisions=3 * ITERATION, learning_rate=Ramp(1.0, 0.5)),
        Phase("two", decisions=(ITERATIONS - 3) * ITERATION, demonstrations=share),
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
        assert_same(resumed.get_state(), resumed.get_state())  # taking it changes nothing
        resumed.run()
        assert_same(resumed.get_state(), expected)


POLICY = untrained(EnvironmentSpec("QWOP-v1", {"frames_per_step": 3}))
PHASES = (Phase("slow", 1.0), Phase("fast", 1.0, environment={"frames_per_step": 1}))
PARTS = PHASES, PpoSettings(gamma=0.9, gamma_rate=10.0), PpoLoopSettings(num_envs=8), POLICY


def test_each_phase_has_the_discount_and_the_length_of_its_own_environment() -> None:
    schedule = make_run(*PARTS, scale=0.5).schedule
    assert schedule.lengths == (18_000, 54_000)
    assert schedule.values.gamma == 0.9
    schedule.advance(18_000)
    assert schedule.values.gamma == pytest.approx(0.9 ** (1 / 3))


def test_play_and_learning_of_each_stage_draw_numbers_of_their_own(tmp_path: Path) -> None:
    one, other = (make_run(*PARTS, seed=seed) for seed in (0, 0))
    stages = [(run, run.at(1, 0, POLICY)) for run in (one, other)]
    mine, theirs = (
        [generator.random() for run in both for generator in (run.for_play, run.for_agent)] for both in stages
    )
    assert len({*mine, one.for_play.random()}) == 5
    assert mine == theirs
    assert mine[0] != make_run(*PARTS, seed=1).for_play.random()


@pytest.mark.parametrize(("most", "kinds"), [(0, 1), (60, 8)])
def test_games_begin_with_as_many_idle_frames_as_the_settings_allow(most: int, kinds: int) -> None:
    env = make_run(*PARTS, max_idle_frames=most).environments.make(0)
    seen, _ = env.reset(seed=1)
    assert min(kinds, 5) <= len(np.unique(seen, axis=0)) <= kinds
    env.close()

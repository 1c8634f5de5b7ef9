"""A run: what its parts are made with."""

import numpy as np
import pytest
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.schedules.phase import Phase
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy

from .runs import make_run

POLICY = Policy(Actor(71, 11, (4,)), EnvironmentSpec("QWOP-v1", {"frames_per_step": 3}), ObservationSpec((71,)))
PHASES = (Phase("slow", 1.0), Phase("fast", 1.0, environment={"frames_per_step": 1}))
ALGORITHM, LOOP = PpoSettings(gamma=0.9, gamma_rate=10.0), PpoLoopSettings(num_envs=8)


def test_each_phase_has_the_discount_and_the_length_of_its_own_environment() -> None:
    schedule = make_run(PHASES, ALGORITHM, LOOP, POLICY, scale=0.5).schedule
    assert schedule.lengths == (18_000, 54_000)
    assert schedule.values.gamma == 0.9
    schedule.advance(18_000)
    assert schedule.values.gamma == pytest.approx(0.9 ** (1 / 3))


def test_play_and_learning_draw_numbers_of_their_own() -> None:
    one, other = (make_run(PHASES, ALGORITHM, LOOP, POLICY, seed=seed) for seed in (0, 0))
    drawn = [generator.integers(2**31) for generator in (one.for_play, one.for_agent, one.for_play)]
    assert len({*drawn}) == 3
    assert drawn[:2] == [other.for_play.integers(2**31), other.for_agent.integers(2**31)]
    assert drawn[0] != make_run(PHASES, ALGORITHM, LOOP, POLICY, seed=1).for_play.integers(2**31)


@pytest.mark.parametrize(("most", "kinds"), [(0, 1), (60, 8)])
def test_games_begin_with_as_many_idle_frames_as_the_settings_allow(most: int, kinds: int) -> None:
    env = make_run(PHASES, ALGORITHM, LOOP, POLICY, max_idle_frames=most).environments.make(0)
    seen, _ = env.reset(seed=1)
    assert len(np.unique(seen, axis=0)) >= min(kinds, 5)
    assert len(np.unique(seen, axis=0)) <= kinds
    env.close()

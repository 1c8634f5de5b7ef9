"""Demonstrations as transitions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets.reader import open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.dqn.settings import DqnLoopSettings, DqnSettings
from qwop.finetune.replay.demonstrations import recorded_transitions, transitions_for
from qwop.finetune.schedules.phase import FULL, Phase
from qwop.policies.policy import Policy
from qwop.policies.q_networks import DuelingQ

from ..runs import make_run

QWOP = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"})


def test_their_discount_is_that_of_the_first_phase_that_uses_them(
    tmp_path: Path, make_episode: Callable[..., Episode]
) -> None:
    info = DatasetInfo(QWOP, ObservationSpec((71,)), 11)
    DatasetWriter(tmp_path / "demos", info).write(make_episode(6, actions=11, shape=(71,)))
    phases = (
        Phase("fast", 1.0, environment={"frames_per_step": 1}),
        Phase("shown", 1.0, environment={"frames_per_step": 3}, demonstrations=FULL),
    )
    policy = Policy(DuelingQ(71, 11, (4,)), QWOP, info.observation)
    settings = DqnSettings(gamma=0.9, gamma_rate=20.0)
    found = transitions_for(make_run(phases, settings, DqnLoopSettings(), policy, open_dataset(tmp_path / "demos")))
    assert found is not None
    assert found.next(1).discounts[0] == pytest.approx(0.81)  # at 10 decisions a second, not 30


def test_their_rewards_are_clipped_where_those_of_live_play_are(make_episode: Callable[..., Episode]) -> None:
    episode = make_episode(5, first=-2.0)
    for clip, expected in ((True, [-1, -1, 0, 1, 1]), (False, [-2, -1, 0, 1, 2])):
        found = recorded_transitions([episode], DqnSettings(clip_rewards=clip), 0.9)
        np.testing.assert_array_equal(found.rewards, expected)

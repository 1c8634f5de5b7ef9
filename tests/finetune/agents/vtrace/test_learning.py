"""A recurrent policy learns what only a memory can know."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.finetune.agents.vtrace.learner import VtraceLearner
from qwop.finetune.agents.vtrace.settings import VtraceSettings
from qwop.finetune.experience.collector import Collector
from qwop.finetune.experience.policy_snapshot import PolicySnapshot
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.recurrent import RecurrentActorCritic

pytestmark = pytest.mark.slow

WAIT = 3


class Recall(gymnasium.Env[Any, Any]):
    """Shows −1 or 1 at the start and then zeros; after `WAIT` decisions, 1 is paid for the action that fits."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cue, self.step_number = int(self.np_random.integers(2)), 0
        return self._observation(2 * self.cue - 1), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.step_number += 1
        over = self.step_number > WAIT
        return self._observation(0), float(over and action == self.cue), over, False, {}

    def _observation(self, cue: float) -> Any:
        return np.array([cue, self.step_number == WAIT], dtype=np.float32)


def test_a_policy_learns_to_remember() -> None:
    env: Any = SyncVectorEnv([Recall] * 16, autoreset_mode=AutoresetMode.SAME_STEP)
    network = RecurrentActorCritic(2, 2, (16,), 16, torch.Generator().manual_seed(0))
    settings = VtraceSettings(learning_rate=0.01)
    learner = VtraceLearner(network, settings, torch.device("cpu"))
    collector, actor = Collector(env, 8, np.random.default_rng(0)), PolicySnapshot(network)
    paid = []
    for _ in range(200):
        actor.take(network)
        played, ends = collector.collect(actor)
        learner.update(played, PhaseValues(gamma=0.9))
        paid += [end.total_reward for end in ends]
    assert np.mean(paid[:200]) < 0.65
    assert np.mean(paid[-200:]) > 0.9

"""V-trace's learner: what it goes on from."""

import numpy as np
import torch
from qwop.finetune.agents.vtrace.learner import VtraceLearner
from qwop.finetune.agents.vtrace.settings import VtraceSettings
from qwop.policies.recurrent import RecurrentActorCritic

from ...runs import NOW, assert_same
from ..live_play import make_batch


def make_learner(seed: int) -> VtraceLearner:
    network = RecurrentActorCritic(2, 3, (7,), 5, torch.Generator().manual_seed(seed))
    return VtraceLearner(network, VtraceSettings(), torch.device("cpu"))


def test_a_learner_goes_on_from_its_state_to_the_bit() -> None:
    one, other = make_learner(0), make_learner(1)

    def batch(seed: int):  # type: ignore[no-untyped-def]
        return make_batch(seed, state=lambda random: tuple(random.normal(size=(4, 5)).astype(np.float32) for _ in "hc"))

    for seed in range(2):
        one.update(batch(seed), NOW)
    other.set_state(one.get_state())
    for learner in (one, other):
        learner.update(batch(2), NOW)
    assert_same(one.get_state(), other.get_state())
    assert_same(one.network.state_dict(), other.network.state_dict())

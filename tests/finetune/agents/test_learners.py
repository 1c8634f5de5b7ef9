"""The contract of all learners."""

from typing import Any

import pytest
import torch
from qwop.finetune.agents.acer.learner import AcerLearner
from qwop.finetune.agents.dqn.learner import DqnLearner
from qwop.finetune.agents.ppo.learner import PpoLearner

from ..runs import NOW
from .learners import LEARNERS, PHASES, acer, dqn, dueling_dqn, ppo, shared_ppo

each = pytest.mark.parametrize("name", LEARNERS)


@pytest.mark.parametrize("make", [acer, ppo])
def test_half_precision_learns_nearly_the_same(make: Any) -> None:
    one, other = make(), make(precision="bfloat16")
    for learner in (one, other):
        learner.update(0, NOW)
    torch.testing.assert_close(one.weights, other.weights, rtol=0, atol=1e-2)
    assert not torch.equal(one.weights, other.weights)


@pytest.mark.parametrize(
    ("make", "base", "method"),
    [
        (acer, AcerLearner, "loss"),
        (ppo, PpoLearner, "loss"),
        (shared_ppo, PpoLearner, "loss"),
        (dqn, DqnLearner, "losses"),
        (dueling_dqn, DqnLearner, "losses"),
    ],
)
def test_a_learner_learns_what_its_loss_is(make: Any, base: type, method: str) -> None:
    moved = {}
    for factor in (1.0, -1.0, 0.0):

        def own(self: Any, *arguments: Any, factor: float = factor) -> Any:
            found = getattr(base, method)(self, *arguments)
            return (factor * found[0], *found[1:]) if isinstance(found, tuple) else factor * found

        once = {"epochs": 1, "minibatch": 100, "scale_returns": False} if base is PpoLearner else {}
        one = make(type("Own", (base,), {method: own}), max_gradient_norm=1e9, **once)
        before = one.weights
        one.update(0, NOW)
        moved[factor] = one.weights - before
    assert moved[1.0].abs().max() > 1e-5
    torch.testing.assert_close(moved[-1.0], -moved[1.0], rtol=1e-3, atol=1e-7)
    assert not moved[0.0].any()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@each
def test_a_gpu_learns_as_the_cpu_does(name: str) -> None:
    here, there = LEARNERS[name](), LEARNERS[name](device=torch.device("cuda"))
    for number in range(8):
        now = PHASES[number % 4]
        for one in (here, there):
            one.update(number, now._replace(critic_only=now.critic_only and name in ("acer", "ppo", "shared_ppo")))
    torch.testing.assert_close(here.weights, there.weights, rtol=1e-3, atol=1e-4)

"""A learner trains on its `loss`: a subclass that overrides it changes what is learned."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.acer.learner import AcerLearner
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.dqn.learner import DqnLearner
from qwop.finetune.agents.dqn.settings import DqnSettings
from qwop.finetune.agents.ppo.learner import PpoLearner
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.experience.sequences import LIVE
from qwop.finetune.experience.transitions import Transitions
from qwop.policies.networks import Actor, ActorCritic, ValuedActor, Values
from qwop.policies.q_networks import QNetwork
from torch import Tensor

from ..runs import NOW
from .live_play import make_batch

CPU = torch.device("cpu")


def ppo(factor: float, shared: bool = False) -> tuple[PpoLearner, Callable[[], object]]:
    class Own(PpoLearner):
        def loss(self, *arguments: Any) -> tuple[Tensor, dict[str, Tensor]]:
            loss, named = super().loss(*arguments)
            return factor * loss, named

    generator = torch.Generator().manual_seed(0)
    network = (ValuedActor if shared else Actor)(2, 3, (16,), generator)
    values = None if shared else Values(2, (16,), generator)
    settings = PpoSettings(epochs=1, minibatch=100, target_kl=100.0, max_gradient_norm=1e9)
    learner = Own(network, values, settings, CPU, np.random.default_rng(0))
    return learner, lambda: learner.update(make_batch(0), NOW)


def acer(factor: float) -> tuple[AcerLearner, Callable[[], object]]:
    class Own(AcerLearner):
        def loss(self, *arguments: Any) -> Tensor:
            return factor * super().loss(*arguments)

    network = ActorCritic(2, 3, (16,), torch.Generator().manual_seed(0))
    learner = Own(network, AcerSettings(max_gradient_norm=1e9), CPU)
    return learner, lambda: learner.update(make_batch(0), NOW)


def dqn(factor: float, **network: bool) -> tuple[DqnLearner, Callable[[], object]]:
    class Own(DqnLearner):
        def losses(self, *arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
            losses, errors, taken = super().losses(*arguments)
            return factor * losses, errors, taken

    q = QNetwork(2, 3, (16,), torch.Generator().manual_seed(0), **network)
    learner = Own(q, DqnSettings(max_gradient_norm=1e9), CPU)
    random = np.random.default_rng(0)
    seen, following = random.normal(size=(2, 9, 2)).astype(np.float32)
    numbers = random.normal(size=9).astype(np.float32)
    source = np.full(9, LIVE, dtype=np.int8)
    batch = Transitions(seen, random.integers(3, size=9), numbers, np.abs(numbers), following, source)
    return learner, lambda: learner.update(batch, NOW, np.ones(9, dtype=np.float32))


@pytest.mark.parametrize(
    "make",
    [acer, ppo, lambda factor: ppo(factor, shared=True), dqn, lambda factor: dqn(factor, dueling=True)],
    ids=["acer", "ppo", "ppo, shared layers", "dqn", "dqn, dueling"],
)
def test_a_learner_learns_what_its_loss_is(make: Callable[[float], tuple[Any, Callable[[], object]]]) -> None:
    moved = {}
    for factor in (1.0, -1.0, 0.0):
        learner, update = make(factor)
        before = [one.detach().clone() for one in learner.network.parameters()]
        update()
        moved[factor] = torch.cat(
            [(one - old).flatten() for one, old in zip(learner.network.parameters(), before, strict=True)]
        )
    assert moved[1.0].abs().max() > 1e-5
    torch.testing.assert_close(moved[-1.0], -moved[1.0], rtol=1e-3, atol=1e-7)
    assert not moved[0.0].any()

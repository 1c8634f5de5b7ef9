"""Gradients derived by hand against autograd, in float64."""

from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.ppo.learner import PpoLearner
from qwop.finetune.agents.ppo.minibatch import Demonstrated, Minibatch
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.networks import Actor, ActorCritic, ValuedActor, Values
from qwop.pretrain.rows import Rows
from torch import Tensor

from ...runs import NOW
from ..live_play import make_batch

M, SIZE, ACTIONS = 50, 3, 4
SETTINGS = PpoSettings(
    clip=0.1, entropy_coefficient=0.3, value_coefficient=0.7, max_gradient_norm=0.5, imitation_minibatch=7
)


def learner_of(kind: type[Actor] | type[ActorCritic], hidden: tuple[int, ...], dtype: torch.dtype) -> PpoLearner:
    network = kind(SIZE, ACTIONS, hidden, torch.Generator().manual_seed(0)).to(dtype)
    with torch.no_grad():
        network.policy_head.weight.mul_(100)  # far from uniform
    values = Values(SIZE, hidden, torch.Generator().manual_seed(1)).to(dtype)
    return PpoLearner(network, values, SETTINGS, torch.device("cpu"), np.random.default_rng(0))


def batch_of(generator: torch.Generator, with_teacher: bool) -> Minibatch:
    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    actions = torch.randint(ACTIONS, (M,), generator=generator)
    log_mu = torch.log_softmax(normal(M, ACTIONS), -1).gather(-1, actions[:, None])[:, 0]
    teacher = torch.softmax(normal(M, ACTIONS), -1) if with_teacher else None
    return Minibatch(6 * normal(M, SIZE), actions, log_mu, normal(M), normal(M), teacher)


def gradients(learner: PpoLearner) -> list[Tensor | None]:
    parameters = learner._parameters()
    return [None if one.grad is None else one.grad.clone() for one in parameters]


@pytest.mark.parametrize("kind", [Actor, ActorCritic])
@pytest.mark.parametrize("hidden", [(8,), (9, 5, 6)])
@pytest.mark.parametrize(
    ("now", "teacher", "shown"),
    [
        (NOW, False, None),
        (NOW._replace(entropy=0.0), False, None),
        (NOW._replace(kickstarting=0.4), True, None),
        (NOW._replace(imitation=0.6), False, "actions"),
        (NOW._replace(imitation=0.6, kickstarting=2.0), True, "probabilities"),
        (NOW._replace(critic_only=True, imitation=0.6), False, "actions"),
    ],
    ids=["plain", "no entropy", "teacher", "imitation", "both", "critic only"],
)
def test_gradients_are_autograds(
    kind: Any, hidden: tuple[int, ...], now: PhaseValues, teacher: bool, shown: str | None
) -> None:
    generator = torch.Generator().manual_seed(2)
    learner, batch = learner_of(kind, hidden, torch.float64), batch_of(generator, teacher)
    demonstrated = None
    if shown is not None:
        seen = torch.randn(7, SIZE, generator=generator, dtype=torch.float64)
        probabilities = torch.rand(7, ACTIONS, generator=generator, dtype=torch.float64)  # not even a distribution
        chosen = torch.randint(ACTIONS, (7,), generator=generator)
        demonstrated = Demonstrated(seen, chosen, probabilities if shown == "probabilities" else None)
    expected = learner._autograd(batch, demonstrated, now)
    theirs = gradients(learner)
    assert learner._dense is not None
    for _ in range(2):  # nothing is left from the call before
        found = learner._dense.step(batch, demonstrated, now, learner._beside)
        for mine, other in zip(gradients(learner), theirs, strict=True):
            assert (mine is None) == (other is None)
            if mine is not None:
                torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-14)
        for name in ("log_ratio", "entropy", "gradient_norm"):
            torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-14)
        assert found.losses.keys() == expected.losses.keys()
        for name, loss in found.losses.items():
            torch.testing.assert_close(loss, expected.losses[name], rtol=1e-10, atol=1e-14)


def test_a_thread_for_the_critic_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for worth in (0, 10**9):
        monkeypatch.setattr("qwop.finetune.agents.ppo.dense_gradients.WORTH_A_THREAD", worth)
        learner = learner_of(Actor, (8,), torch.float32)
        batch = batch_of(torch.Generator().manual_seed(2), with_teacher=False)
        floats = (None if one is None else one.float() if one.is_floating_point() else one for one in batch)
        assert learner._dense is not None
        learner._dense.step(Minibatch._make(floats), None, NOW, learner._beside)
        found.append([one for one in gradients(learner) if one is not None])
    assert len(found[0]) == 8
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_other_networks_are_left_to_autograd() -> None:
    shared = PpoLearner(ValuedActor(SIZE, ACTIONS, (8,)), None, SETTINGS, torch.device("cpu"), np.random.default_rng(0))
    assert shared._dense is None
    linear = learner_of(Actor, (), torch.float32)
    assert linear._dense is None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("shared", [False, True])
def test_a_gpu_learns_as_the_cpu_does(shared: bool) -> None:
    found = []
    for device in ("cpu", "cuda"):
        generator = torch.Generator().manual_seed(0)
        network = (ValuedActor if shared else Actor)(2, 3, (16,), generator)
        values = None if shared else Values(2, (16,), generator)
        settings = PpoSettings(minibatch=10, target_kl=100.0)
        random = np.random.default_rng(0)
        shown = Rows(
            random.normal(size=(30, 2)).astype(np.float32), random.integers(3, size=30), np.zeros(30, np.int64)
        )
        learner = PpoLearner(network, values, settings, torch.device(device), np.random.default_rng(0), shown)
        phases = (
            NOW,
            NOW._replace(critic_only=True),
            NOW._replace(imitation=0.5),
            NOW._replace(imitation=0.2, entropy=3),
        )
        for number, now in enumerate((*phases, *phases)):
            learner.update(make_batch(number), now)
        found.append([one.detach().cpu() for one in learner._parameters()])
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-4)

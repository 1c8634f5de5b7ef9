"""Cloning: exact losses, and what it may and may not learn."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.policies.networks import ActorCritic
from qwop.pretrain.cloning import class_weights, cloning_epochs, cloning_loss
from qwop.pretrain.rows import Rows
from qwop.pretrain.settings import CloningSettings

PLAIN = CloningSettings(epochs=60, batch_size=64, weight_decay=0.0, dropout=0.0, label_smoothing=0.0)


def rows_of_random(count: int, actions: NDArray[np.int64]) -> Rows:
    observations = np.random.default_rng(0).normal(size=(count, 71)).astype(np.float32)
    return Rows(observations, actions, np.full(count, -1))


def network_for(rows: Rows) -> ActorCritic:
    network = ActorCritic(71, 11, generator=torch.Generator().manual_seed(0))
    network.scaler.fit(rows.observations)
    return network


def test_uniform_logits_cost_ln_11() -> None:
    assert cloning_loss(torch.zeros(4, 11), torch.tensor([0, 3, 7, 10])).item() == pytest.approx(2.3978953, abs=1e-6)


def test_logit_of_5_on_the_label() -> None:
    logits = torch.zeros(1, 11)
    logits[0, 4] = 5.0
    assert cloning_loss(logits, torch.tensor([4])).item() == pytest.approx(0.0652066, abs=1e-6)


def test_label_smoothing_is_cross_entropy_with_the_smoothed_label() -> None:
    logits, actions = torch.randn(6, 11, generator=torch.Generator().manual_seed(1)), torch.arange(6)
    wanted = torch.nn.functional.cross_entropy(logits, actions, label_smoothing=0.1)
    assert cloning_loss(logits, actions, label_smoothing=0.1).item() == pytest.approx(wanted.item(), abs=1e-6)


def test_class_weights_are_those_of_torch() -> None:
    logits, actions = torch.randn(6, 11, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 0, 0, 1, 1, 2])
    weights = class_weights(actions, 11, class_balance=1.0)
    assert weights[:4].tolist() == pytest.approx([1 / 3, 1 / 2, 1.0, 0.0])
    wanted = torch.nn.functional.cross_entropy(logits, actions, weight=weights)
    assert cloning_loss(logits, actions, weights).item() == pytest.approx(wanted.item(), abs=1e-6)


def test_64_rows_are_learned_by_heart() -> None:
    rows = rows_of_random(64, np.random.default_rng(1).integers(0, 11, 64))
    network = network_for(rows)
    *_, last = cloning_epochs(network, rows, PLAIN, seed=0)
    logits, _ = network(torch.from_numpy(rows.observations))
    assert (logits.argmax(-1).numpy() == rows.actions).all()
    assert last < 0.2


def test_shuffled_labels_teach_nothing_about_other_rows() -> None:
    shuffled = rows_of_random(600, np.random.default_rng(2).choice(11, 600, p=[0.3] + [0.07] * 10))
    half = Rows(shuffled.observations[:300], shuffled.actions[:300], shuffled.previous[:300])
    network = network_for(half)
    list(cloning_epochs(network, half, PLAIN, seed=0))
    logits, _ = network(torch.from_numpy(shuffled.observations[300:]))
    accuracy = (logits.argmax(-1).numpy() == shuffled.actions[300:]).mean()
    majority = np.bincount(shuffled.actions[300:]).max() / 300
    assert accuracy <= majority + 3 * np.sqrt(majority * (1 - majority) / 300)


def test_only_the_policy_is_learned() -> None:
    rows = rows_of_random(64, np.zeros(64, dtype=np.int64))
    network = network_for(rows)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    list(cloning_epochs(network, rows, CloningSettings(epochs=2), seed=0))
    after = network.state_dict()
    same = {name for name in before if torch.equal(before[name], after[name])}
    assert {name for name in before if name.startswith(("q_head", "scaler"))} <= same
    assert not torch.equal(before["policy_head.weight"], after["policy_head.weight"])


def test_the_same_seed_gives_the_same_bits() -> None:
    rows = rows_of_random(200, np.random.default_rng(3).integers(0, 11, 200))
    found = []
    for seed in (5, 5, 6):
        network = network_for(rows)
        list(cloning_epochs(network, rows, CloningSettings(epochs=2), seed=seed))
        found.append(network.state_dict()["policy_head.weight"])
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])

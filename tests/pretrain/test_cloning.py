"""Cloning: exact losses, gradients by hand equal to those of autograd, and what it may and may not learn."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.envs.spec import ObservationSpec
from qwop.policies.networks import SCALED_LIMIT, Actor, ActorCritic, TrunkedPolicy
from qwop.pretrain.cloning import cloning_batches, cloning_epochs, cloning_loss, dropout_factors
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


def test_label_smoothing_is_cross_entropy_with_the_smoothed_label_and_rows_have_weights() -> None:
    logits, actions = torch.randn(6, 11, generator=torch.Generator().manual_seed(1)), torch.arange(6)
    losses = torch.nn.functional.cross_entropy(logits, actions, label_smoothing=0.1, reduction="none")
    v = torch.arange(6.0)
    for weights, wanted in ((None, losses.mean()), (v, (v * losses).sum() / 15)):
        loss = cloning_loss(logits, actions, label_smoothing=0.1, row_weights=weights)
        assert loss.item() == pytest.approx(wanted.item(), abs=1e-6)


def test_soft_targets_are_cross_entropy_with_the_probabilities_of_the_player() -> None:
    generator = torch.Generator().manual_seed(1)
    logits, mu = torch.randn(6, 11, generator=generator), torch.softmax(torch.randn(6, 11, generator=generator), -1)
    wanted = torch.nn.functional.cross_entropy(logits, mu)
    found = cloning_loss(logits, torch.zeros(6, dtype=torch.int64), probabilities=mu)
    assert found.item() == pytest.approx(wanted.item(), abs=1e-6)
    one_hot, actions = torch.eye(11)[:6], torch.arange(6)
    smoothed = cloning_loss(logits, actions, label_smoothing=0.1, probabilities=one_hot)
    assert smoothed.item() == pytest.approx(cloning_loss(logits, actions, label_smoothing=0.1).item(), abs=1e-6)


@pytest.mark.parametrize(
    ("given", "soft", "numbers"),
    [
        (CloningSettings(), False, (0.2, 0.0, 0.0)),
        (CloningSettings(), True, (0.0, 0.0, 0.1)),
        (CloningSettings(dropout=0.3, label_smoothing=0.1, input_noise=0.4), True, (0.3, 0.1, 0.4)),
    ],
)
def test_regularisation_that_is_not_given_depends_on_the_targets(
    given: CloningSettings, soft: bool, numbers: tuple[float, float, float]
) -> None:
    found = given.completed(soft)
    assert (found.dropout, found.label_smoothing, found.input_noise) == numbers


def test_the_network_sees_its_inputs_with_noise_of_the_given_deviation_in_the_bounds_of_play() -> None:
    alike = Rows(np.ones((256, 71), dtype=np.float32), np.zeros(256, dtype=np.int64), np.full(256, -1))
    without, noisy = (
        next(cloning_batches(network_for(alike), alike, PLAIN.with_(batch_size=256, input_noise=noise), 0)).inputs
        for noise in (0.0, 0.3)
    )
    assert float(without.std(0).max()) == 0.0
    assert float((noisy - without).std()) == pytest.approx(0.3, rel=0.03)
    assert abs(float((noisy - without).mean())) < 0.01
    rows = rows_of_random(32, np.zeros(32, dtype=np.int64))
    far = replace(rows, observations=rows.observations * 100)
    (batch,) = cloning_batches(Actor(71, 11, (8,)), far, PLAIN.with_(epochs=1, input_noise=0.1), 0)
    assert batch.inputs.abs().max() == SCALED_LIMIT


def test_updates_equal_a_reference() -> None:
    """AdamW without decay of the biases, its rate falling along half a cosine, and a weight for each row."""
    rows = rows_of_random(10, np.random.default_rng(1).integers(0, 11, 10))
    rows = replace(rows, weights=np.random.default_rng(2).uniform(0.5, 2, 10).astype(np.float32))
    settings = PLAIN.with_(epochs=3, batch_size=4, weight_decay=0.5, label_smoothing=0.1, input_noise=0.0)
    network, expected = network_for(rows), network_for(rows)
    list(cloning_epochs(network, rows, settings, seed=5))

    parameters = [*expected.trunk.parameters(), *expected.policy_head.parameters()]
    matrices, biases = ([one for one in parameters if (one.ndim > 1) is wanted] for wanted in (True, False))
    optimisers = [torch.optim.AdamW(matrices, weight_decay=0.5), torch.optim.AdamW(biases, weight_decay=0.0)]
    order, update = torch.Generator().manual_seed(5), 0
    for _ in range(3):
        for batch in torch.randperm(10, generator=order).split(4):
            logits = expected.logits(torch.from_numpy(rows.observations)[batch])
            labels, v = torch.from_numpy(rows.actions)[batch], torch.from_numpy(rows.weights)[batch]
            losses = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.1, reduction="none")
            expected.zero_grad()
            ((v * losses).sum() / v.sum()).backward()
            for optimiser in optimisers:
                optimiser.param_groups[0]["lr"] = 2e-3 * (1 + math.cos(math.pi * update / 9)) / 2
                optimiser.step()
            update += 1
    for found, wanted in zip(network.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)


N, SIZE, ACTIONS = 96, 5, 4


def rows_of_targets(soft: bool, weighted: bool) -> Rows:
    random = np.random.default_rng(0)
    seen = random.normal(size=(N, SIZE)).astype(np.float32)
    mu = random.dirichlet(np.ones(ACTIONS), N).astype(np.float32) if soft else None
    weights = random.integers(1, 9, N).astype(np.float32) if weighted else None  # their sums are exact
    return Rows(seen, random.integers(0, ACTIONS, N), np.full(N, -1), mu, weights)


def small_network(kind: type[TrunkedPolicy] = ActorCritic) -> TrunkedPolicy:
    made = kind(SIZE, ACTIONS, (8, 6), torch.Generator().manual_seed(1)).double()
    made.scaler.fit(rows_of_targets(soft=False, weighted=False).observations)
    torch.nn.init.normal_(made.policy_head.weight, generator=torch.Generator().manual_seed(2))
    return made


@pytest.mark.parametrize("kind", [ActorCritic, Actor])
@pytest.mark.parametrize(
    ("settings", "soft", "weighted"),
    [
        (CloningSettings(dropout=0.0, input_noise=0.0), False, False),
        (CloningSettings(label_smoothing=0.1, dropout=0.3), False, True),
        (CloningSettings(label_smoothing=0.1, input_noise=0.2, dropout=0.3), True, False),
        (CloningSettings(input_noise=0.2), True, True),
    ],
)
def test_passes_by_hand_and_with_autograd_end_in_the_same_weights(
    kind: type[TrunkedPolicy], settings: CloningSettings, soft: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for by_hand in (True, False):
        with monkeypatch.context() as patched:
            if not by_hand:
                patched.setattr(kind, "dense_layers", lambda network: None)
            made, few = small_network(kind), CloningSettings(**{**vars(settings), "epochs": 3, "batch_size": 20})
            losses = list(cloning_epochs(made, rows_of_targets(soft, weighted), few, seed=3))
        ends.append((losses, made.state_dict()))
    (losses, weights), (wanted_losses, wanted) = ends
    assert losses == pytest.approx(wanted_losses, rel=1e-9)
    assert losses[-1] < losses[0]
    assert ActorCritic(ObservationSpec((36, 36, 3), "uint8"), ACTIONS, (8,)).dense_layers() is None  # left to autograd
    for name, tensor in weights.items():
        np.testing.assert_allclose(tensor, wanted[name], rtol=1e-7, atol=1e-10, err_msg=name)


def test_units_are_dropped_at_random_and_the_others_make_up_for_them() -> None:
    first, second = dropout_factors(small_network(), 5000, 0.2, torch.Generator().manual_seed(0))
    assert (first.shape, second.shape) == ((5000, 8), (5000, 6))
    assert first.unique().tolist() == pytest.approx([0.0, 1.25])
    assert float(first.mean()) == pytest.approx(1.0, abs=0.02)
    assert not torch.equal(first[:, :6], second)


def test_targets_are_the_probabilities_of_the_player_unless_actions_are_wanted() -> None:
    rows = rows_of_targets(soft=True, weighted=False)
    for soft in (True, False):
        batch = next(cloning_batches(small_network(), rows, PLAIN.with_(soft_targets=soft), seed=0))
        assert (batch.mu is not None) is soft

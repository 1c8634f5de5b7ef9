"""Cloning's gradient below the logits by hand: updates equal those of autograd, in float64."""

import numpy as np
import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.policies.networks import Actor, ActorCritic, TrunkedPolicy
from qwop.pretrain.cloning import cloning_epochs, dropout_factors
from qwop.pretrain.rows import Rows
from qwop.pretrain.settings import CloningSettings

N, SIZE, ACTIONS = 96, 5, 4


def rows(soft: bool, weighted: bool) -> Rows:
    random = np.random.default_rng(0)
    seen = random.normal(size=(N, SIZE)).astype(np.float32)
    mu = random.dirichlet(np.ones(ACTIONS), N).astype(np.float32) if soft else None
    weights = random.integers(1, 9, N).astype(np.float32) if weighted else None  # their sums are exact
    return Rows(seen, random.integers(0, ACTIONS, N), np.full(N, -1), mu, weights)


def network(kind: type[TrunkedPolicy] = ActorCritic) -> TrunkedPolicy:
    made = kind(SIZE, ACTIONS, (8, 6), torch.Generator().manual_seed(1)).double()
    made.scaler.fit(rows(soft=False, weighted=False).observations)
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
            made, few = network(kind), CloningSettings(**{**vars(settings), "epochs": 3, "batch_size": 20})
            losses = list(cloning_epochs(made, rows(soft, weighted), few, seed=3))
        ends.append((losses, made.state_dict()))
    (losses, weights), (wanted_losses, wanted) = ends
    assert losses == pytest.approx(wanted_losses, rel=1e-9)
    assert losses[-1] < losses[0]
    assert ActorCritic(ObservationSpec((36, 36, 3), "uint8"), ACTIONS, (8,)).dense_layers() is None  # left to autograd
    for name, tensor in weights.items():
        np.testing.assert_allclose(tensor, wanted[name], rtol=1e-7, atol=1e-10, err_msg=name)


def test_units_are_dropped_at_random_and_the_others_make_up_for_them() -> None:
    first, second = dropout_factors(network(), 5000, 0.2, torch.Generator().manual_seed(0))
    assert (first.shape, second.shape) == ((5000, 8), (5000, 6))
    assert first.unique().tolist() == pytest.approx([0.0, 1.25])
    assert float(first.mean()) == pytest.approx(1.0, abs=0.02)
    assert not torch.equal(first[:, :6], second)

"""Losses of dense layers, differentiated down to their outputs: the gradients are autograd's, in float64."""

from itertools import chain

import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.policies.dense_layers import DenseLayers, LeafGradients
from qwop.policies.networks import Actor, ActorCritic, Values
from torch import Tensor

HIDDEN = (9, 5, 6)


def stacks(dtype: torch.dtype = torch.float64) -> tuple[Values, Actor]:
    generator = torch.Generator().manual_seed(0)
    return Values(4, HIDDEN, generator).to(dtype), Actor(4, 3, HIDDEN, generator).to(dtype)


def leaves_of(values: Values, actor: Actor) -> LeafGradients:
    made = LeafGradients.of(DenseLayers.of([*values.trunk, values.head]), actor.dense_layers())
    assert made is not None
    return made


def rows(n: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(n), dtype=dtype)


def loss_of(value: Tensor, logits: Tensor) -> Tensor:
    own = torch.log_softmax(logits[: len(value)], -1)
    return (value.squeeze(-1) - own[:, 0]).square().mean() + (logits[len(value) :] - 1.0).abs().sum()


@pytest.mark.parametrize("learned", [1, None])
def test_gradients_are_autograds_of_any_loss(learned: int | None) -> None:
    values, actor = stacks()
    leaves, own, more = leaves_of(values, actor), rows(7), rows(10)
    both = list(chain(values.parameters(), actor.parameters()))
    with torch.set_grad_enabled(learned is None):
        logits = actor.policy_head(actor.trunk(more))
    loss_of(values.head(values.trunk(own)), logits).backward()
    expected = [one.grad for one in both]
    for one in both:
        one.grad = torch.ones_like(one)  # of a call before
    for _ in range(2):
        loss_of(*leaves.outputs(own, more, learned=learned)).backward()
        vector = leaves.backward()
        for one, theirs in zip(both, expected, strict=True):
            if theirs is None:
                assert one.grad is None
            else:
                torch.testing.assert_close(one.grad, theirs)
        found = [one.grad.flatten() for one in both if one.grad is not None]
        assert torch.equal(vector, torch.cat(found))
        vector.zero_()  # a change of the vector is one of the gradients
        assert not any(one.grad.any() for one in both if one.grad is not None)


def test_units_that_are_dropped_out_have_no_part_in_it() -> None:
    factors = [torch.ones(7, width, dtype=torch.float64) for width in HIDDEN]
    factors[0][:, 2] = 0.0
    network = ActorCritic(4, 3, HIDDEN, torch.Generator().manual_seed(0)).double()
    leaves = LeafGradients.of(network.dense_layers())
    assert leaves is not None
    (outputs,) = leaves.outputs(rows(7), factors=factors)
    outputs.square().sum().backward()
    leaves.backward()
    first = network.trunk[0].weight.grad
    assert first is not None
    assert not first[2].any()
    assert first[3].any()


def test_a_thread_for_the_first_stack_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for worth in (0, 10**9):
        monkeypatch.setattr("qwop.policies.dense_layers.WORTH_A_THREAD", worth)
        leaves = leaves_of(*stacks(torch.float32))
        loss_of(*leaves.outputs(rows(7, torch.float32), rows(10, torch.float32))).backward()
        found.append(leaves.backward().clone())
    assert torch.equal(*found)
    assert found[0].any()


def test_other_networks_are_left_to_autograd() -> None:
    pictures = ActorCritic(ObservationSpec((36, 36, 3), "uint8"), 3, (8,))
    linear = Actor(4, 3, ())
    for other in (pictures, linear):
        assert LeafGradients.of(stacks()[1].dense_layers(), other.dense_layers()) is None

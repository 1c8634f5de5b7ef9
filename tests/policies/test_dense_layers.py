"""Dense layers without autograd against the modules whose weights they have, and losses of their outputs."""

from itertools import chain
from typing import Any

import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.policies.dense_layers import ROWS, DenseLayers, LeafGradients
from qwop.policies.networks import Actor, ActorCritic, TrunkedPolicy, Values
from torch import Tensor, nn


def layers_of(network: TrunkedPolicy) -> DenseLayers:
    made = DenseLayers.of([*network.trunk, network.policy_head])
    assert made is not None
    return made


def rows(n: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(n), dtype=dtype)


@pytest.mark.parametrize("kind", [Actor, ActorCritic])
@torch.inference_mode()
def test_outputs_are_the_modules_whatever_the_number_of_rows(kind: Any) -> None:
    network = kind(4, 3, (8, 5), torch.Generator().manual_seed(0))
    layers = layers_of(network)
    for n in (5, 1, 9, 5):
        expected = network.policy_head(network.trunk(rows(n)))
        torch.testing.assert_close(layers.forward(rows(n)), expected.t())
    network.policy_head.bias.add_(1.0)
    torch.testing.assert_close(layers.forward(rows(5)), network.policy_head(network.trunk(rows(5))).t())


@torch.inference_mode()
def test_hidden_weights_are_those_of_now_or_those_that_were_held() -> None:
    network = Actor(4, 3, (8, 5), torch.Generator().manual_seed(0))
    layers, first = layers_of(network), network.trunk[0].weight

    def expected() -> Tensor:
        return network.policy_head(network.trunk(rows(5))).t()

    for _ in range(2):
        first.mul_(2.0)
        torch.testing.assert_close(layers.forward(rows(5)), expected())
    layers.hold()
    held = expected()
    first.mul_(2.0)
    torch.testing.assert_close(layers.forward(rows(5)), held)
    assert not torch.allclose(held, expected())
    layers.hold()
    torch.testing.assert_close(layers.forward(rows(5)), expected())


def test_two_last_layers_stand_side_by_side() -> None:
    network = ActorCritic(4, 3, (8, 5), torch.Generator().manual_seed(0))
    layers = DenseLayers.of([*network.trunk, network.policy_head], beside=network.q_head)
    assert layers is not None
    slope = torch.randn(6, 7, generator=torch.Generator().manual_seed(1))
    expected = torch.cat(network(rows(7)), dim=-1).t()
    (expected * slope).sum().backward()
    with torch.inference_mode():
        found = [torch.full_like(one, 7.0) for one in layers.parameters]
        torch.testing.assert_close(layers.forward(rows(7)), expected)
        layers.backward(slope, found)
        for mine, parameter in zip(found, layers.parameters, strict=True):
            torch.testing.assert_close(mine, parameter.grad)


@torch.inference_mode()
def test_values_of_more_rows_than_are_evaluated_at_a_time() -> None:
    network = Values(4, (8,), torch.Generator().manual_seed(0))
    layers = DenseLayers.of([*network.trunk, network.head])
    assert layers is not None
    many = rows(2 * ROWS + 6).view(2, ROWS + 3, 4)
    torch.testing.assert_close(LeafGradients([layers]).without_gradient(many).squeeze(-1), network(many))


def test_other_layers_have_no_such_form() -> None:
    pictures = Actor(ObservationSpec((36, 36, 1), "uint8"), 3, (8,))
    assert DenseLayers.of([*pictures.trunk, pictures.policy_head]) is None
    first, last = nn.Linear(4, 4), nn.Linear(4, 2)
    assert DenseLayers.of([first, nn.ReLU(), last]) is not None
    for other in ([last], [first, last], [first, nn.LayerNorm(4), last], [first, nn.ReLU(), last, nn.Tanh()]):
        assert DenseLayers.of(other) is None


HIDDEN = (9, 5, 6)


def stacks(dtype: torch.dtype = torch.float64) -> tuple[Values, Actor]:
    generator = torch.Generator().manual_seed(0)
    return Values(4, HIDDEN, generator).to(dtype), Actor(4, 3, HIDDEN, generator).to(dtype)


def leaves_of(values: Values, actor: Actor) -> LeafGradients:
    made = LeafGradients.of(DenseLayers.of([*values.trunk, values.head]), actor.dense_layers())
    assert made is not None
    return made


def loss_of(value: Tensor, logits: Tensor) -> Tensor:
    own = torch.log_softmax(logits[: len(value)], -1)
    return (value.squeeze(-1) - own[:, 0]).square().mean() + (logits[len(value) :] - 1.0).abs().sum()


@pytest.mark.parametrize("learned", [1, None])
def test_gradients_are_autograds_of_any_loss(learned: int | None) -> None:
    values, actor = stacks()
    leaves, own, more = leaves_of(values, actor), rows(7, torch.float64), rows(10, torch.float64)
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
    made = ActorCritic(4, 3, HIDDEN, torch.Generator().manual_seed(0)).double()
    leaves = LeafGradients.of(made.dense_layers())
    assert leaves is not None
    (outputs,) = leaves.outputs(rows(7, torch.float64), factors=factors)
    outputs.square().sum().backward()
    leaves.backward()
    first = made.trunk[0].weight.grad
    assert first is not None
    assert not first[2].any()
    assert first[3].any()


def test_a_thread_for_the_first_stack_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for worth in (0, 10**9):
        monkeypatch.setattr("qwop.policies.dense_layers.WORTH_A_THREAD", worth)
        leaves = leaves_of(*stacks(torch.float32))
        loss_of(*leaves.outputs(rows(7), rows(10))).backward()
        found.append(leaves.backward().clone())
    assert torch.equal(*found)
    assert found[0].any()


def test_other_networks_are_left_to_autograd() -> None:
    pictures = ActorCritic(ObservationSpec((36, 36, 3), "uint8"), 3, (8,))
    linear = Actor(4, 3, ())
    for other in (pictures, linear):
        assert LeafGradients.of(stacks()[1].dense_layers(), other.dense_layers()) is None

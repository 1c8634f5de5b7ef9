"""Dense layers without autograd against the modules whose weights they have, losses of their outputs, and tanh."""

from itertools import chain

import numpy as np
import pytest
import torch
from qwop.envs.engine import native
from qwop.envs.spec import ObservationSpec
from qwop.policies import dense_layers
from qwop.policies.dense_layers import ROWS, DenseLayers, LeafGradients, Tanh, tanh_into
from qwop.policies.networks import Actor, ActorCritic, TrunkedPolicy, Values
from torch import Tensor, nn


def layers_of(network: TrunkedPolicy) -> DenseLayers:
    made = DenseLayers.of([*network.trunk, network.policy_head])
    assert made is not None
    return made


def rows(n: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(n), dtype=dtype)


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


NUMBERS = torch.randn(40, 6, generator=torch.Generator().manual_seed(0)) * 3


def test_it_is_within_a_unit_in_the_last_place() -> None:
    found, exact = Tanh()(NUMBERS), torch.tanh(NUMBERS.double())
    assert found.dtype == torch.float32
    units = np.spacing(exact.abs().float().numpy())
    assert (np.abs(found.double().numpy() - exact.numpy()) / units).max() < 0.6


@pytest.mark.parametrize("rows", [NUMBERS.t(), NUMBERS.double(), NUMBERS.bfloat16(), NUMBERS[:0], NUMBERS[0, 0]])
def test_rows_of_any_layout_type_and_number_are_taken(rows: torch.Tensor) -> None:
    found = Tanh()(rows)
    assert (found.dtype, found.shape) == (rows.dtype, rows.shape)
    torch.testing.assert_close(found, torch.tanh(rows))


def test_its_gradient_is_one_less_its_square() -> None:
    rows = NUMBERS.clone().requires_grad_()
    found = Tanh()(rows)
    found.sum().backward()
    torch.testing.assert_close(rows.grad, 1 - found.detach().square())
    assert torch.equal(found.detach(), Tanh()(NUMBERS))


def test_without_a_library_it_is_pytorchs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        width = 1

    monkeypatch.setattr(native, "engine", Slow)
    monkeypatch.setattr(dense_layers, "_kernel", dense_layers._kernel.__wrapped__)  # not what the process found before
    out = torch.empty_like(NUMBERS)
    tanh_into(NUMBERS, out)
    assert torch.equal(out, torch.tanh(NUMBERS))

"""Dense layers without autograd against the modules whose weights they have."""

import pickle
from typing import Any

import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.policies.dense_layers import ROWS, DenseLayers
from qwop.policies.networks import Actor, ActorCritic, TrunkedPolicy, Values
from torch import Tensor, nn


def layers_of(network: TrunkedPolicy) -> DenseLayers:
    made = DenseLayers.of(network.trunk, network.policy_head)
    assert made is not None
    return made


def rows(n: int) -> Tensor:
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(n))


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


@pytest.mark.parametrize("kind", [Actor, ActorCritic])
def test_gradients_are_autograds_and_can_be_added(kind: Any) -> None:
    network = kind(4, 3, (8, 5), torch.Generator().manual_seed(0))
    layers, slope = layers_of(network), torch.randn(3, 7, generator=torch.Generator().manual_seed(1))
    (network.policy_head(network.trunk(rows(7))) * slope.t()).sum().backward()
    with torch.inference_mode():
        found = [torch.full_like(one, 7.0) for one in layers.parameters]
        for times, add in ((1, False), (2, True)):
            layers.forward(rows(7))
            layers.backward(slope, found, add=add)
            for mine, parameter in zip(found, layers.parameters, strict=True):
                assert parameter.grad is not None
                torch.testing.assert_close(mine, times * parameter.grad)


@torch.inference_mode()
def test_values_of_more_rows_than_are_evaluated_at_a_time() -> None:
    network = Values(4, (8,), torch.Generator().manual_seed(0))
    layers = DenseLayers.of(network.trunk, network.head)
    assert layers is not None
    many = rows(2 * ROWS + 6).view(2, ROWS + 3, 4)
    torch.testing.assert_close(layers.values(many), network(many))


@torch.inference_mode()
def test_a_copy_in_another_process_has_the_weights_and_no_buffers() -> None:
    network = Actor(4, 3, (64,), torch.Generator().manual_seed(0))
    layers = layers_of(network)
    before = layers.forward(rows(5000))
    assert len(pickle.dumps(layers)) < 10_000
    torch.testing.assert_close(pickle.loads(pickle.dumps(layers)).forward(rows(5000)), before)


def test_other_layers_have_no_such_form() -> None:
    pictures = Actor(ObservationSpec((36, 36, 1), "uint8"), 3, (8,))
    assert DenseLayers.of(pictures.trunk, pictures.policy_head) is None
    plain = Actor(4, 3, ())
    assert DenseLayers.of(plain.trunk, plain.policy_head) is None
    assert DenseLayers.of(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 2)) is None

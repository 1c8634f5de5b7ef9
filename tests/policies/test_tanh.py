"""One tanh for acting, evaluating and learning."""

import numpy as np
import pytest
import torch
from qwop.envs.engine import native
from qwop.policies import dense_layers
from qwop.policies.dense_layers import Tanh, tanh_into
from qwop.policies.networks import Actor

ROWS = torch.randn(40, 6, generator=torch.Generator().manual_seed(0)) * 3


def test_it_is_within_a_unit_in_the_last_place() -> None:
    found, exact = Tanh()(ROWS), torch.tanh(ROWS.double())
    assert found.dtype == torch.float32
    units = np.spacing(exact.abs().float().numpy())
    assert (np.abs(found.double().numpy() - exact.numpy()) / units).max() < 0.6


@pytest.mark.parametrize("rows", [ROWS.t(), ROWS.double(), ROWS.bfloat16(), ROWS[:0], ROWS[0, 0]])
def test_rows_of_any_layout_type_and_number_are_taken(rows: torch.Tensor) -> None:
    found = Tanh()(rows)
    assert (found.dtype, found.shape) == (rows.dtype, rows.shape)
    torch.testing.assert_close(found, torch.tanh(rows))


def test_its_gradient_is_one_less_its_square() -> None:
    rows = ROWS.clone().requires_grad_()
    found = Tanh()(rows)
    found.sum().backward()
    torch.testing.assert_close(rows.grad, 1 - found.detach().square())
    assert torch.equal(found.detach(), Tanh()(ROWS))


def test_without_a_library_it_is_pytorchs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        width = 1

    monkeypatch.setattr(native, "engine", Slow)
    monkeypatch.setattr(dense_layers, "_kernel", dense_layers._kernel.__wrapped__)  # not what the process found before
    out = torch.empty_like(ROWS)
    tanh_into(ROWS, out)
    assert torch.equal(out, torch.tanh(ROWS))


def test_layers_without_autograd_have_the_same() -> None:
    network = Actor(6, 3, (16,), torch.Generator().manual_seed(0))
    layers = network.dense_layers()
    assert layers is not None
    with torch.inference_mode():
        layers.forward(ROWS)
        torch.testing.assert_close(layers._rows(40)[0][0], network.trunk(ROWS), rtol=1e-6, atol=1e-7)

"""CUDA graphs of functions of tensors."""

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count
from unittest.mock import MagicMock

import pytest
import torch
from qwop.policies import cuda_graphs
from qwop.policies.cuda_graphs import CudaGraphs
from torch import Tensor, nn

needs_a_gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
DEVICES = ["cpu", pytest.param("cuda", marks=needs_a_gpu)]


class Step:
    """The squared error of a layer, whose gradient it sets, in a structure of results. calls: those of Python."""

    def __init__(self, device: str) -> None:
        self.layer = nn.Linear(3, 1).to(device)
        self.calls: Iterator[int] = count()
        self.graphs = CudaGraphs(self.gradient, list(self.layer.parameters()))

    def gradient(self, negative: bool, x: Tensor, weights: Tensor | None) -> tuple[Tensor, dict[str, Tensor]]:
        next(self.calls)
        self.layer.zero_grad(set_to_none=True)
        y = self.layer(x).squeeze(-1)
        errors = y.square() if weights is None else weights * y.square()
        loss = -errors.mean() if negative else errors.mean()
        loss.backward()
        return y.detach(), {"loss": loss.detach()}

    def gradients(self) -> list[Tensor]:
        return [one.grad.clone() for one in self.layer.parameters() if one.grad is not None]


def draw(rows: int, device: str, seed: int, weighted: bool) -> tuple[Tensor, Tensor | None]:
    generator = torch.Generator().manual_seed(seed)
    x, weights = torch.randn(rows, 3, generator=generator), torch.rand(rows, generator=generator)
    return x.to(device), weights.to(device) if weighted else None


@pytest.mark.parametrize("device", DEVICES)
def test_results_and_gradients_are_those_of_the_function(device: str) -> None:
    one, earlier = Step(device), []
    for seed in range(3):
        for rows, negative, weighted in ((4, False, False), (4, True, False), (6, False, False), (4, False, True)):
            arguments = draw(rows, device, seed, weighted)
            expected, gradients = one.gradient(negative, *arguments), one.gradients()
            found = one.graphs(negative, *arguments)
            torch.testing.assert_close(found, expected)
            torch.testing.assert_close(one.gradients(), gradients)
            earlier.append((found, expected))
            with torch.no_grad():
                one.layer.weight.add_(0.1)  # as an optimiser does
    for found, expected in earlier:  # no later call has written into them
        torch.testing.assert_close(found, expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_graph_is_recorded_once_for_each_kind_of_arguments_and_place_of_the_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_graphs, "MOST", 3)
    one = Step("cuda")

    def calls(rows: int, weighted: bool) -> int:
        before = next(one.calls)
        arguments = draw(rows, "cuda", 0, weighted)
        loss = one.graphs(False, *arguments)[1]["loss"]
        called = next(one.calls) - before - 1
        torch.testing.assert_close(loss, one.gradient(False, *arguments)[1]["loss"])
        return called

    recorded = cuda_graphs.WARM_UPS + 1
    assert [calls(4, False), calls(4, False), calls(4, True), calls(4, True)] == [recorded, 0, recorded, 0]
    one.layer.weight.data = one.layer.weight.data * 2
    assert [calls(4, False), calls(4, False)] == [recorded, 0]
    assert [calls(5, False), calls(5, False)] == [1, 1]  # the function itself: there are three graphs


class Pretended(Tensor):
    """A tensor that says that it is on a GPU."""

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True


def test_threads_record_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a resumed run do that plays while it learns."""
    for name in ("Stream", "current_stream", "CUDAGraph"):
        monkeypatch.setattr(torch.cuda, name, MagicMock())
    for name in ("stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, lambda *_, **__: nullcontext())
    x, recorded = torch.zeros(1).as_subclass(Pretended), list[str]()

    def play(key: None, x: Tensor) -> Tensor:
        recorded.append("play")
        return x + 1

    def learn(key: None, x: Tensor) -> Tensor:
        if not recorded:
            player.start()
            player.join(0.2)  # it would be over
        recorded.append("learn")
        return x + 2

    player = threading.Thread(target=CudaGraphs(play, []), args=(None, x))
    CudaGraphs(learn, [])(None, x)
    player.join()
    times = cuda_graphs.WARM_UPS + 1
    assert recorded == ["learn"] * times + ["play"] * times

"""CUDA graphs: the kernels of a function of tensors, recorded once and started again in one call.

The update of a small network is a hundred kernels that take a few microseconds each on a GPU, and longer to be started
one by one from Python than to run.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

R = TypeVar("R")

MOST = 8
"""Graphs of a function; further kinds of arguments are computed without one."""

WARM_UPS = 3
"""Calls before a recording, in which libraries choose their kernels and take their memory (PyTorch's advice)."""

_RECORDING = threading.Lock()
"""Held while a graph is recorded. A process can record only one at a time: before each recording PyTorch waits for the
whole GPU, which ends another thread's with an error."""


class Recording(NamedTuple):
    """A graph, the arguments that it reads, its results and their structure, and the gradients that it sets."""

    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]
    outputs: list[Tensor]
    form: Any
    gradients: list[Tensor | None]


class CudaGraphs(Generic[R]):
    """A function as CUDA graphs: one for each key, and for each shapes and types of its arguments.

    `function` takes the key and tensors, or None, and returns tensors in any structure of tuples and dicts. It must not
    look at numbers on the GPU, and its kernels must read and write, besides its arguments, only memory that stays where
    it is. It may set the gradients of `parameters`. Results are copies. Without a GPU, the function is called as it is.
    """

    def __init__(self, function: Callable[..., R], parameters: Sequence[Tensor]) -> None:
        self._function, self._parameters = function, list(parameters)
        self._recordings: dict[Hashable, Recording] = {}

    def __call__(self, key: Hashable, *arguments: Tensor | None) -> R:
        if not any(one is not None and one.is_cuda for one in arguments):
            return self._function(key, *arguments)
        shapes = (None if one is None else (one.shape, one.dtype) for one in arguments)
        # Graphs go on using the memory that they were recorded with.
        kind = (key, *shapes, *(one.data_ptr() for one in self._parameters))
        if kind not in self._recordings:
            if len(self._recordings) == MOST:
                return self._function(key, *arguments)
            with _RECORDING:
                self._recordings[kind] = self._record(key, arguments)
        recording = self._recordings[kind]
        with torch.no_grad():
            torch._foreach_copy_(recording.inputs, [one for one in arguments if one is not None])
            recording.graph.replay()
            for parameter, gradient in zip(self._parameters, recording.gradients, strict=True):
                parameter.grad = gradient
            results: R = tree_unflatten([one.clone() for one in recording.outputs], recording.form)
        return results

    def _record(self, key: Hashable, arguments: Sequence[Tensor | None]) -> Recording:
        with torch.inference_mode(False):
            inputs = [None if one is None else one.detach().clone() for one in arguments]
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(WARM_UPS):
                self._function(key, *inputs)
        torch.cuda.current_stream().wait_stream(beside)
        for parameter in self._parameters:
            parameter.grad = None  # so that the graph has memory of its own for it
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # other threads may be playing on the GPU
            results = self._function(key, *inputs)
        outputs, form = tree_flatten(results)
        gradients = [one.grad for one in self._parameters]
        return Recording(graph, [one for one in inputs if one is not None], outputs, form, gradients)

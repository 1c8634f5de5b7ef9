"""The types, devices and threads of networks, whatever the process has set for PyTorch as a whole."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

from ..common.errors import BadInput

WEIGHTS = torch.float32
"""Type of every network's numbers, in memory and in files."""

KINDS = ("cpu", "cuda", "mps")
"""Kinds of devices."""


def choose_device(name: str) -> torch.device:
    """The device by its name in the settings; auto is a CUDA GPU where there is one, else the CPU.

    BadInput for a device that this machine, or this installation of PyTorch, does not have.
    """
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if available["cuda"] else "cpu")
    if not available.get(name, True):
        words = {"cuda": "CUDA device", "mps": "Apple GPU (Metal)"}[name]
        raise BadInput(f"device={name}: no {words} here; device=auto takes what is available")
    return torch.device(name)


def use_one_thread() -> None:
    """Compute on one thread from now on: with layers as narrow as a policy's, threads spend more time waiting than
    working."""
    torch.set_num_threads(1)


def in_float64(numbers: Tensor) -> Tensor:
    """The numbers in float64: on the CPU if they are on an Apple GPU, which has none."""
    return (numbers.cpu() if numbers.device.type == "mps" else numbers).double()


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Context manager: autocast the hidden layers to this precision."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16")


P = ParamSpec("P")
R = TypeVar("R")

_SIZES_ONLY = ContextVar("sizes only", default=False)


@contextmanager
def sizes_only() -> Iterator[None]:
    """Context manager: networks that are made inside have shapes and types, but no numbers and no memory."""
    before = _SIZES_ONLY.set(True)
    try:
        with torch.device("meta"):
            yield
    finally:
        _SIZES_ONLY.reset(before)


def undisturbed(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: PyTorch computes as if nothing had been set for this thread.

    A program, or the module of an environment, may set a default device, autocast or inference mode, or turn gradients
    off. Inside, new tensors are on the CPU and can be learned, and results have the types of their inputs. The default
    type stays, because it is one for all threads: new tensors name theirs.
    """

    @wraps(function)
    def inside(*arguments: P.args, **keywords: P.kwargs) -> R:
        if _is_plain():
            return function(*arguments, **keywords)
        with ExitStack() as stack:
            for kind in KINDS:
                if torch.is_autocast_enabled(kind):
                    stack.enter_context(torch.autocast(kind, enabled=False))
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            if not _SIZES_ONLY.get():
                stack.enter_context(torch.device("cpu"))
            return function(*arguments, **keywords)

    return inside


def _is_plain() -> bool:
    """True if nothing has been set for this thread."""
    return (
        torch.is_grad_enabled()
        and not torch.is_inference_mode_enabled()
        and not any(map(torch.is_autocast_enabled, KINDS))
        and torch.empty(0).device.type == "cpu"
    )


class Undisturbed(type):
    """Metaclass: making an object is `undisturbed`."""

    __call__ = undisturbed(type.__call__)

"""The devices of networks, and what PyTorch computes differently on them."""

import torch
from torch import Tensor

from ..common.errors import BadInput


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


def in_float64(numbers: Tensor) -> Tensor:
    """The numbers in float64: on the CPU if they are on an Apple GPU, which has none."""
    return (numbers.cpu() if numbers.device.type == "mps" else numbers).double()


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Context manager: autocast the hidden layers to this precision."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16")

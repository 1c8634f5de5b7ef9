"""States of PyTorch as a whole that a process, or a module that it imports, may set."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

STATES = ["float64", "bfloat16", "meta device", "autocast", "inference mode", "no gradients", "deterministic"]


@contextmanager
def process_state(name: str) -> Iterator[None]:
    """Context manager: PyTorch with one of `STATES` set; as it was at the end."""
    if name == "autocast":
        with torch.autocast("cpu", dtype=torch.bfloat16):
            yield
    elif name == "inference mode":
        with torch.inference_mode():
            yield
    elif name == "no gradients":
        torch.set_grad_enabled(False)
        try:
            yield
        finally:
            torch.set_grad_enabled(True)
    elif name == "deterministic":
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(False)
    elif name == "meta device":
        torch.set_default_device("meta")
        try:
            yield
        finally:
            torch.set_default_device(None)
    else:
        torch.set_default_dtype(getattr(torch, name))
        try:
            yield
        finally:
            torch.set_default_dtype(torch.float32)

"""States of PyTorch as a whole that a process, or a module that it imports, may set."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch


@contextmanager
def _set(setter: Callable[[Any], object], value: Any, usual: Any) -> Iterator[None]:
    setter(value)
    try:
        yield
    finally:
        setter(usual)


_STATES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "float64": lambda: _set(torch.set_default_dtype, torch.float64, torch.float32),
    "bfloat16": lambda: _set(torch.set_default_dtype, torch.bfloat16, torch.float32),
    "meta device": lambda: _set(torch.set_default_device, "meta", None),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "deterministic": lambda: _set(torch.use_deterministic_algorithms, True, False),
}
STATES = [*_STATES]


def process_state(name: str) -> AbstractContextManager[object]:
    """Context manager: PyTorch with one of `STATES` set; as it was at the end."""
    return _STATES[name]()

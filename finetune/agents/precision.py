"""Precision of the hidden layers while learning; heads, losses and weights are always float32."""

import torch

from ...common.errors import BadInput

PRECISIONS = ("float32", "bfloat16")


def require_precision(name: str) -> None:
    """Raise BadInput for an unknown precision."""
    if name not in PRECISIONS:
        raise BadInput(f"algorithm.precision={name}: expected {' or '.join(PRECISIONS)}")


def autocast(name: str, device: torch.device) -> torch.autocast:
    """Context manager: autocast to this precision."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=name == "bfloat16")

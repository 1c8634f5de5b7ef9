"""The precision in which hidden layers learn; heads, losses and weights are float32 whatever it is."""

import torch

from ...common.errors import BadInput

PRECISIONS = ("float32", "bfloat16")


def require_precision(name: str) -> None:
    """BadInput for what is none."""
    if name not in PRECISIONS:
        raise BadInput(f"algorithm.precision={name}: expected {' or '.join(PRECISIONS)}")


def in_precision(name: str, device: torch.device) -> torch.autocast:
    """What is calculated within is so in this precision."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=name == "bfloat16")

"""Precision of the hidden layers while learning; heads, losses and weights are always float32."""

from typing import Any

import torch

from ...common.settings import setting

PRECISIONS = ("float32", "bfloat16")


def precision() -> Any:
    """Declare the setting."""
    return setting(
        "float32",
        "Precision of the hidden layers while learning. bfloat16 is about twice as fast on hardware that supports it, "
        "and slower elsewhere.",
        choices=PRECISIONS,
    )


def autocast(name: str, device: torch.device) -> torch.autocast:
    """Context manager: autocast to this precision."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=name == "bfloat16")

"""Values of the observations at which a time limit ended an episode."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..experience.sequences import Sequences


def final_values(batch: Sequences, value: Callable[[Tensor], Tensor], device: torch.device) -> Tensor:
    """V of the final observations, placed at their steps: float32 [n, k], 0 elsewhere.

    value: V(s) [m] of observations [m, size].
    """
    values = torch.zeros(batch.actions.shape, device=device)
    finals = batch.finals
    if len(finals.observations):
        sequence, step, seen = (torch.from_numpy(array).to(device) for array in finals)
        values[sequence, step] = value(seen.flatten(1))
    return values

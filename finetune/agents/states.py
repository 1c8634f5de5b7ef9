"""States of networks and optimisers, for checkpoints."""

import copy
from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.optim import Optimizer

Parts = Mapping[str, nn.Module | Optimizer]
"""Networks and optimiser of a learner, by their names in its checkpoints."""


def copied_states(parts: Parts) -> dict[str, Any]:
    """Copies of the states of these parts, by name: all weights, and what an optimiser remembers."""
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


def load_states(parts: Parts, state: Mapping[str, Any]) -> None:
    """Set each part to the state that `copied_states` found; further entries are ignored."""
    for name, part in parts.items():
        part.load_state_dict(state[name])

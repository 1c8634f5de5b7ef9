"""What all learners have in common: settings at a decision rate, tensors on a device, and states for checkpoints."""

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from ..metrics import Diagnosis
from ..schedules.phase import PhaseValues


class Learner:
    """Learns a network in place, one `update` at a time, with the values that the schedule has now."""

    def __init__(self, network: Any, settings: Any, device: torch.device) -> None:
        self.settings = self._given = settings
        self.network = network.to(device)
        self._device = device

    @property
    def parts(self) -> dict[str, Any]:
        """All that a checkpoint holds, by name."""
        raise NotImplementedError

    def update(self, batch: Any, now: PhaseValues) -> Diagnosis:
        """Learn from a batch. The values of `now` multiply the settings' learning rate and weight of the entropy."""
        raise NotImplementedError

    def at_rate(self, decisions_per_second: float | None) -> None:
        """Keep the horizon in seconds in an environment with this decision rate."""
        self.settings = self._given.at_rate(decisions_per_second)

    def get_state(self) -> dict[str, Any]:
        return {name: state_of(part) for name, part in self.parts.items()}

    def set_state(self, state: dict[str, Any]) -> None:
        for name, part in self.parts.items():
            to_state(part, state[name])

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)


def state_of(part: Any) -> Any:
    """The state of a network, an optimiser, a generator or anything with `get_state`; None of None."""
    if isinstance(part, nn.Module | Optimizer):
        return copy.deepcopy(part.state_dict())
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    return None if part is None else part.get_state()


def to_state(part: Any, state: Any) -> None:
    """Set a part to what `state_of` found."""
    if isinstance(part, nn.Module | Optimizer):
        part.load_state_dict(state)
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif (part is not None and state is not None) or hasattr(part, "accepts_none"):
        part.set_state(state)

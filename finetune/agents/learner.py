"""Base classes of learners: settings, tensors on a device, and states for checkpoints."""

import copy
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from ...common.settings import Settings
from ...policies.networks import Network
from ..experience.sequences import Sequences
from ..metrics import UpdateStats
from ..schedules.phase import PhaseValues

N = TypeVar("N", bound=Network, covariant=True)
S = TypeVar("S", bound=Settings, covariant=True)


class HasState(Protocol):
    """Anything with a state of its own."""

    def get_state(self) -> object: ...
    def set_state(self, state: Any) -> None: ...


Part = nn.Module | Optimizer | np.random.Generator | HasState | None
"""Part of an agent or of a learner whose state is saved."""


class HasParts:
    """Base class of objects whose state is the states of their parts."""

    @property
    def parts(self) -> Mapping[str, Part]:
        """The parts saved in a checkpoint, by name."""
        raise NotImplementedError

    def get_state(self) -> dict[str, object]:
        """The full state needed to continue the run. Has no side effects."""
        return {name: state_of(part) for name, part in self.parts.items()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `get_state`."""
        for name, part in self.parts.items():
            to_state(part, state[name])


class Learner(HasParts, Generic[N, S]):
    """Trains a network in place, one `update` at a time, from a batch and the schedule's current values.

    The schedule's values multiply the settings' learning rate and entropy weight; their γ is the settings' γ at the
    environment's decision rate.
    """

    def __init__(self, network: N, settings: S, device: torch.device) -> None:
        self.settings = settings
        self.network = network.to(device)
        # An earlier phase's learner may have left gradients that this one never overwrites.
        self.network.zero_grad(set_to_none=True)
        self._device = device

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self._device.type == "cuda":  # copies from pinned memory overlap with other work
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor.to(self._device)


class LiveLearner(Learner[N, S]):
    """Learns from the newest live play, which is then discarded."""

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        raise NotImplementedError


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Context manager: autocast the hidden layers to this precision."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16")


def state_of(part: Part) -> object:
    """The state of a network, an optimiser, a generator or anything with `get_state`; None of None."""
    if isinstance(part, nn.Module | Optimizer):
        return copy.deepcopy(part.state_dict())
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    return None if part is None else part.get_state()


def to_state(part: Part, state: Any) -> None:
    """Restore a part from a state returned by `state_of`."""
    if isinstance(part, nn.Module | Optimizer):
        part.load_state_dict(state)
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif part is not None and (state is not None or hasattr(part, "accepts_none")):
        part.set_state(state)

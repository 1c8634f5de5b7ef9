"""The interface between the training loop and an agent that learns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from ...envs.spec import ObservationSpec
from ...policies.networks import LayeredNetwork, Network, Values
from ..experience.sequences import Sequences
from ..metrics import Metrics
from ..schedules.phase import Phase, PhaseValues

MakeNetwork = Callable[[ObservationSpec | int, int, torch.Generator], LayeredNetwork]
"""Makes an untrained network for observations (an int n: float32 [n]) and a number of actions."""


class Agent(Protocol):
    """A learning algorithm with its memory: what the loop composes with live play, a schedule, a log and checkpoints.

    An iteration of the loop is `observe`, `update`, `advance`. Live play draws its actions from a copy of `network`,
    the policy as it stands (`experience.snapshot.PolicySnapshot`).
    """

    @property
    def network(self) -> Network:
        """The policy that learns, in place."""
        ...

    @property
    def values(self) -> Values | None:
        """V(s) that the agent learns in a network of its own beside the policy, if it does."""
        ...

    def warm_up(self, play: Callable[[], Sequences]) -> None:
        """Prepare before the schedule begins; each call of `play` gives more live play, which does not count."""
        ...

    def observe(self, live: Sequences | None, now: PhaseValues) -> None:
        """Take in an iteration's live play, None in phases without any, and its share of demonstrations."""
        ...

    def update(self, now: PhaseValues) -> None:
        """Learn as much as one iteration allows."""
        ...

    def advance(self, decisions: int, planned: int) -> None:
        """Follow the schedule: so many of the planned decisions are over. Called first with those of a checkpoint."""
        ...

    def begin_phase(self, phase: Phase) -> None:
        """Enter the first phase or the next. Demonstrations leave the memory at once if it uses none."""
        ...

    def enter(self, decisions_per_second: float | None) -> None:
        """Move to another environment with this decision rate (None: unknown); what was learned from is dropped."""
        ...

    def interrupt(self) -> None:
        """Accept that the games under way end here: the next live play is of new games."""
        ...

    def measurements(self) -> dict[str, float]:
        """The numbers that a row of the log has besides those of `Metrics`."""
        ...

    def get_state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on, without side effects."""
        ...

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue where `get_state` was called."""
        ...


@dataclass(frozen=True)
class AgentContext:
    """Collaborators that every agent is built with.

    generator: draws samples and orders; the seed of the run decides it. seed: of new networks. decisions_per_second: of
    the first phase's environment, None where unknown.
    """

    device: torch.device
    metrics: Metrics
    generator: np.random.Generator
    seed: int
    decisions_per_second: float | None

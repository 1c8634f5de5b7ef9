"""The interface between the training loop and an agent that learns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...envs.spec import ObservationSpec
from ...policies.networks import LayeredNetwork, Values
from ..experience.sequences import Sequences
from ..metrics import Metrics
from ..schedules.phase import Phase, PhaseValues
from .learner import Learner, state_of, to_state

MakeNetwork = Callable[[ObservationSpec | int, int, torch.Generator], LayeredNetwork]
"""Makes an untrained network for observations (an int n: float32 [n]) and a number of actions."""


class Agent:
    """A learning algorithm with its memory. The loop combines it with live play, a schedule, a log and checkpoints.

    An iteration of the loop is `learn`, then `advance`. Live play draws its actions from a copy of `network`
    (`experience.snapshot.PolicySnapshot`). Subclasses define `learn` and `parts`; the other hooks do nothing by default.
    """

    learner: Learner

    @property
    def network(self) -> Any:
        """The policy that learns, in place."""
        return self.learner.network

    @property
    def values(self) -> Values | None:
        """The separate value network V(s), if the agent learns one."""
        return None

    @property
    def parts(self) -> dict[str, Any]:
        """All that a checkpoint holds, by name."""
        return {"learner": self.learner}

    def warm_up(self, play: Callable[[], Sequences]) -> None:
        """Prepare before the schedule begins. Each call of `play` returns more live play, which does not count."""

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        """Take in an iteration's live play (None in phases without any) and learn as much as one iteration allows."""
        raise NotImplementedError

    def advance(self, decisions: int, planned: int) -> None:
        """Set what depends on the progress of the whole run: `decisions` of the `planned` ones."""

    def begin_phase(self, phase: Phase) -> None:
        """Enter the first phase or the next. Demonstrations leave the memory at once if it uses none."""

    def enter(self, decisions_per_second: float | None) -> None:
        """Move to another environment with this decision rate (None: unknown); data of the previous one is dropped."""
        self.learner.at_rate(decisions_per_second)

    def interrupt(self) -> None:
        """Handle the end of all games in progress: the next live play starts new ones."""

    def measurements(self) -> dict[str, float]:
        """The agent's own numbers for a row of the log, besides those of `Metrics`."""
        return {}

    def get_state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on. Has no side effects."""
        return {name: state_of(part) for name, part in self.parts.items()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue where `get_state` was called."""
        for name, part in self.parts.items():
            to_state(part, state[name])


@dataclass(frozen=True)
class AgentContext:
    """Collaborators that every agent is built with.

    generator: draws samples and orders, seeded by the run. seed: for new networks. decisions_per_second: of the first
    phase's environment, None where unknown.
    """

    device: torch.device
    metrics: Metrics
    generator: np.random.Generator
    seed: int
    decisions_per_second: float | None

"""The interface between the training loop and an agent that learns."""

from collections.abc import Callable
from typing import Any

import torch

from ...envs.spec import ObservationSpec
from ...policies.networks import LayeredNetwork, Values
from ..experience.sequences import Sequences
from ..schedules.phase import Phase, PhaseValues
from .learner import Learner, state_of, to_state

MakeNetwork = Callable[[ObservationSpec | int, int, torch.Generator], LayeredNetwork]
"""Makes an untrained network for observations (an int n: float32 [n]) and a number of actions."""


class Agent:
    """A learning algorithm with its memory. The loop combines it with live play, a schedule, a log and checkpoints.

    An iteration of the loop is `learn`, then `advance`. Live play draws its actions from a copy of `network`
    (`experience.snapshot.PolicySnapshot`). Subclasses define `learn` and `parts`; other hooks do nothing by default.
    """

    learner: Learner[Any, Any]

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

    def warm_up(self, play: Callable[[], Sequences], now: PhaseValues) -> None:
        """Prepare before the schedule begins. Each call of `play` returns more live play, which does not count."""

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        """Take in an iteration's live play (None in phases without any) and learn as much as one iteration allows."""
        raise NotImplementedError

    def advance(self, decisions: int, planned: int) -> None:
        """Set what depends on the progress of the whole run: `decisions` of the `planned` ones."""

    def begin_phase(self, phase: Phase) -> None:
        """Enter the first phase or the next. Demonstrations leave the memory at once if it uses none."""

    def change_environment(self) -> None:
        """Drop all data of the environment so far: the next phase is played in another one."""

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


class Due:
    """Accumulates fractional amounts and hands out their whole part: a rate of 0.25 gives 1 every fourth time."""

    def __init__(self) -> None:
        self._owed = 0.0

    def take(self, amount: float) -> int:
        """Add an amount; return the whole number that is due now and keep the rest."""
        self._owed += amount
        whole = int(self._owed)
        self._owed -= whole
        return whole

    def get_state(self) -> float:
        return self._owed

    def set_state(self, state: float) -> None:
        self._owed = float(state)

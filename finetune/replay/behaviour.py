"""The behaviour probabilities μ that a demonstration carries into replay: a choice, and the modes to choose from.

What each does to ACER with a demonstrated action that the policy gives probability π(a):

- `recorded`: what the recorder stored. Exact for demonstrations of a stochastic agent; one-hot for a greedy one or a
  person, which would make ρ meaningless, so that is refused.
- `current`: π of the learner when the demonstration enters the memory (the published system). ρ starts at 1: traces
  are not cut and the pull towards the action has full strength however small π(a) is. Biased.
- `current_at_sampling`: π of the learner whenever it is sampled. ρ is 1 always; nothing is ever truncated.
- `smoothed`: (1 − ε)·one-hot + ε/A. ρ is about π(a): the pull is weak where imitation is needed, traces are cut early.
- `cloned`: π of a cloned policy, mixed with a floor so that ρ stays finite. The closest to the theory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.behaviour_probabilities import floored, require_epsilon, smoothed
from ..experience.sequences import DEMONSTRATIONS, Sequences
from .demonstrations import Demonstrations

Probabilities = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""π(·|s), [n, A], of observations [n, *shape]."""

MODES = ("recorded", "current", "current_at_sampling", "smoothed", "cloned")


@dataclass(frozen=True)
class BehaviourSettings:
    """mode: one of MODES; epsilon: of `smoothed`; floor: the least probability of any action in `cloned`."""

    mode: str = "current"
    epsilon: float = 0.1
    floor: float = 1e-3

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise BadInput(f"behaviour.mode={self.mode}: no such mode; the modes are {', '.join(MODES)}")
        require_epsilon(self.epsilon, "behaviour.epsilon")
        if not 0 < self.floor < 0.05:
            raise BadInput(f"behaviour.floor={self.floor}: expected more than 0, less than 0.05")


class Behaviour:
    """Gives demonstrations their μ, at the moment that the mode says."""

    def __init__(self, settings: BehaviourSettings) -> None:
        self._settings = settings

    def prepare(self, demonstrations: Demonstrations, clone: Probabilities, name: str) -> None:
        """Once, at the start: fix the μ of all demonstrations, in the modes that know it then.

        `clone` is asked in the mode `cloned` alone; `name` is what errors call the demonstrations.
        """
        recorded = demonstrations.behaviour_probabilities
        if self._settings.mode == "recorded":
            certain = float((recorded.max(axis=1) > 1 - 1e-6).mean())
            if certain > 0.5:
                raise BadInput(
                    f"behaviour.mode=recorded: {certain:.0%} of the decisions in {name} were recorded as certain "
                    "(one-hot), which no importance weight can use; choose current, smoothed or cloned"
                )
        elif self._settings.mode == "smoothed":
            demonstrations.replace_behaviour(
                smoothed(demonstrations.actions, recorded.shape[1], self._settings.epsilon)
            )
        elif self._settings.mode == "cloned":
            demonstrations.replace_behaviour(floored(clone(demonstrations.observations), self._settings.floor))

    def at_insertion(self, sequences: Sequences, current: Probabilities) -> Sequences:
        """Demonstrations as they enter the memory."""
        if self._settings.mode != "current":
            return sequences
        return _replaced(sequences, np.arange(len(sequences)), current)

    def at_sampling(self, batch: Sequences, current: Probabilities) -> Sequences:
        """A batch from the memory, live sequences among it, as it goes to the learner."""
        if self._settings.mode != "current_at_sampling":
            return batch
        return _replaced(batch, np.flatnonzero(batch.source == DEMONSTRATIONS), current)


def _replaced(sequences: Sequences, which: NDArray[np.int64], current: Probabilities) -> Sequences:
    if not len(which):
        return sequences
    seen = sequences.observations[which, :-1]
    behaviour = sequences.behaviour_probabilities.copy()
    behaviour[which] = current(seen.reshape(-1, *seen.shape[2:])).reshape(behaviour[which].shape)
    return replace(sequences, behaviour_probabilities=behaviour)

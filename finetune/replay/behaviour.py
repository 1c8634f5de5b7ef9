"""The behaviour probabilities μ of demonstrations in replay, and the modes that set them.

The modes differ in their effect on ACER where the policy gives a demonstrated action the probability π(a):

- `recorded`: the stored probabilities. Exact for demonstrations of a stochastic agent. A greedy agent's or a person's
  are one-hot, which makes ρ meaningless, so they are refused even when mixed with others.
- `current`: π of the learner when the demonstration enters the memory, as in the published system. ρ starts at 1, so
  traces are not cut, and the gradient towards the action has full strength however small π(a) is. Biased.
- `current_at_sampling`: π of the learner whenever the demonstration is sampled. ρ is always 1; nothing is truncated.
- `smoothed`: (1 − ε)·one-hot + ε/A. ρ is about π(a): the gradient is weak where imitation is needed, and traces are
  cut early. The default, because it does not go stale: with `current`, the stored policy ages, and ρ of demonstrations
  that stay in memory grows into the hundreds.
- `cloned`: π of a cloned policy, mixed with a floor so that ρ stays finite. Closest to the theory.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.behaviour_probabilities import floored, smoothed
from ...envs.spec import Observations
from ..experience.sequences import DEMONSTRATIONS, Sequences
from .demonstrations import RecordedSequences
from .settings import BehaviourSettings

Probabilities = Callable[[Observations], NDArray[np.float32]]
"""π(·|s), [n, A], of observations [n, *shape]."""

ONE_HOT_SHARE = 0.01
"""Largest share of one-hot decisions that `recorded` accepts: a stochastic agent is sometimes certain."""


class Behaviour:
    """Sets the μ of demonstrations at the point that the mode defines."""

    def __init__(self, settings: BehaviourSettings) -> None:
        self._settings = settings

    def prepare(self, demonstrations: RecordedSequences, clone: Probabilities, name: str) -> None:
        """Set the μ of all demonstrations, in modes where it is known from the start.

        clone: policy for the mode `cloned`. name: of the demonstrations, for error messages. Raises BadInput for
        probabilities that cannot be used in importance weights.
        """
        mode, recorded = self._settings.mode, demonstrations.behaviour_probabilities
        if mode == "recorded":
            one_hot = float(((recorded > 0).sum(axis=1) == 1).mean())
            if one_hot > ONE_HOT_SHARE:
                raise BadInput(
                    f"behaviour.mode=recorded: {one_hot:.0%} of the decisions in {name} were recorded as certain "
                    "(one-hot), which no importance weight can use; choose current, smoothed or cloned"
                )
        elif mode == "smoothed":
            actions, epsilon = recorded.shape[1], self._settings.epsilon
            demonstrations.behaviour_probabilities = smoothed(demonstrations.actions, actions, epsilon)
        elif mode == "cloned":
            demonstrations.behaviour_probabilities = self._cloned(demonstrations, clone, name)

    def at_insertion(self, sequences: Sequences, current: Probabilities) -> Sequences:
        """Set the μ of demonstrations that enter the memory."""
        return _replaced(sequences, current) if self._settings.mode == "current" else sequences

    def at_sampling(self, batch: Sequences, current: Probabilities) -> Sequences:
        """Set the μ of the demonstrations in a batch from memory, which may also hold live sequences."""
        return _replaced(batch, current) if self._settings.mode == "current_at_sampling" else batch

    def _cloned(self, demonstrations: RecordedSequences, clone: Probabilities, name: str) -> NDArray[np.float32]:
        actions, floor = demonstrations.behaviour_probabilities.shape[1], self._settings.floor
        if actions * floor >= 1:
            raise BadInput(
                f"behaviour.floor={floor:g}: {actions} actions cannot all have this probability; expected less than "
                f"{1 / actions:.3g}"
            )
        probabilities = clone(demonstrations.observations)
        if is_uniform(probabilities):
            raise BadInput(
                f"behaviour.mode=cloned: the initial policy is untrained, so it is no clone of {name}; start from a "
                "policy of qwop-pretrain, or choose current or smoothed"
            )
        return floored(probabilities, floor)


def is_uniform(probabilities: NDArray[np.float32]) -> bool:
    """True for the probabilities [..., A] of an untrained policy: all within a fifth of 1/A."""
    return bool(np.abs(probabilities * probabilities.shape[-1] - 1).max() < 0.2)


def _replaced(sequences: Sequences, current: Probabilities) -> Sequences:
    """The sequences, with μ of demonstrations replaced by the current policy's probabilities."""
    which = np.flatnonzero(sequences.source == DEMONSTRATIONS)
    if not len(which):
        return sequences
    observations = sequences.observations[which, :-1]
    behaviour = sequences.behaviour_probabilities.copy()
    behaviour[which] = current(observations.reshape(-1, *observations.shape[2:])).reshape(behaviour[which].shape)
    return replace(sequences, behaviour_probabilities=behaviour)

"""Early stopping: training ends when the likelihood of validation episodes no longer improves."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..policies.policy import Policy
from .measures import expected_nats, measure
from .rows import Rows


@dataclass(frozen=True)
class Epoch:
    """One pass: its number from 1, its training loss, and the policy's measures on the validation rows after it."""

    number: int
    training_loss: float
    validation_nats: float
    validation_accuracy: float
    is_best: bool


def train_with_early_stopping(
    policy: Policy, epochs: Iterator[float], validation: Rows, patience: int, on_epoch: Callable[[Epoch], None]
) -> tuple[Epoch, ...]:
    """Run `epochs`, each of which trains `policy` in place and yields its loss, and restore the best pass's weights.

    The best pass has the highest likelihood of the validation rows (its mean over all that the player could have done,
    where the rows have the player's probabilities); training ends after `patience` passes without a
    better one. `on_epoch` is called after each pass, while the policy still has that pass's weights.
    """
    done: list[Epoch] = []
    best, best_weights = float("inf"), policy.network.state_dict()
    since_best = 0
    for number, loss in enumerate(epochs, 1):
        predicted = policy.probabilities(validation.observations)
        found = measure(predicted, validation.actions)
        nats = found.nats
        if validation.probabilities is not None:
            nats = expected_nats(predicted, validation.probabilities)
        is_best = nats < best
        done.append(Epoch(number, loss, nats, found.accuracy, is_best))
        if is_best:
            best, best_weights, since_best = nats, copy.deepcopy(policy.network.state_dict()), 0
        else:
            since_best += 1
        on_epoch(done[-1])
        if since_best == patience:
            break
    policy.network.load_state_dict(best_weights)
    return tuple(done)

"""Training until the validation episodes say that it no longer helps."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..policies.policy import Policy
from .measures import measure
from .rows import Rows


@dataclass(frozen=True)
class Epoch:
    """One pass: its number from 1, its training loss, and what the policy was worth after it on validation rows."""

    number: int
    training_loss: float
    validation_nats: float
    validation_accuracy: float
    is_best: bool


def train_until_it_stops_helping(
    policy: Policy, epochs: Iterator[float], validation: Rows, patience: int, on_epoch: Callable[[Epoch], None]
) -> tuple[Epoch, ...]:
    """Run `epochs`, each of which improves `policy` in place and gives its loss; leave the policy of the best one.

    Best is the highest likelihood of the validation rows; `patience` passes without a better one end it. `on_epoch`
    hears of every pass while the policy is still that pass's.
    """
    done: list[Epoch] = []
    best, best_weights = float("inf"), policy.network.state_dict()
    since_best = 0
    for number, loss in enumerate(epochs, 1):
        found = measure(policy.probabilities(validation.observations), validation.actions)
        is_best = found.nats < best
        done.append(Epoch(number, loss, found.nats, found.accuracy, is_best))
        if is_best:
            best, best_weights, since_best = found.nats, copy.deepcopy(policy.network.state_dict()), 0
        else:
            since_best += 1
        on_epoch(done[-1])
        if since_best == patience:
            break
    policy.network.load_state_dict(best_weights)
    return tuple(done)

"""Cloning a player: from episodes to a policy, by maximum likelihood with early stopping.

Episodes are split as a whole: neighbouring decisions are nearly equal, so a split within an episode would leak.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..common.errors import BadInput
from ..datasets.reader import Dataset
from ..datasets.schema import DatasetInfo, Episode
from ..policies.devices import undisturbed
from ..policies.networks import ActorCritic, TrunkedPolicy
from ..policies.policy import Policy
from .cloning import cloning_epochs
from .d3rlpy_backend import d3rlpy_epochs
from .measures import expected_nats, measure
from .rows import Rows, rows_of, some, weights_of
from .settings import CloningSettings


@dataclass(frozen=True)
class Epoch:
    """One pass: its number from 1, its training loss, and the policy's measures on the validation rows after it."""

    number: int
    training_loss: float
    validation_nats: float
    validation_accuracy: float
    is_best: bool


@undisturbed
def clone(
    episodes: Sequence[Episode],
    info: DatasetInfo,
    settings: CloningSettings | None = None,
    seed: int = 0,
    on_epoch: Callable[[Epoch, Policy], None] = lambda epoch, policy: None,
    device: torch.device | None = None,
    scaled_with: Sequence[Episode] = (),
    start: Policy | None = None,
) -> Policy:
    """Clone the player of `episodes` (at least two: some are held back for early stopping), from the weights of `start`
    if it is given.

    scaled_with: more games whose observations, not actions, count in the scaling of the network's input.
    `seed` decides everything, the device (None: the CPU) only the rounding. `on_epoch` is called after each pass, with
    the policy as it is then. The clone is on the CPU.
    """
    settings = settings or CloningSettings()
    train, validation = hold_out_cloned(episodes, info, settings, settings.validation, seed)
    generator = torch.Generator().manual_seed(seed)
    rows, checked = (
        rows_of(some(episodes, part), policy=settings.policy_weight, person=settings.person_weight)
        for part in (train, validation)
    )
    network: TrunkedPolicy
    if start is None:
        network = untrained(info, settings, generator)
        more = [episode.observations.reshape(len(episode) + 1, -1) for episode in scaled_with]
        network.scaler.fit(np.concatenate([rows.observations, *more]) if more else rows.observations)
    else:
        network, settings = continued(start, info, settings)
    network.to(device)
    training = {
        "cloned_from": {"episodes": len(episodes), "decisions": len(rows) + len(checked)},
        "cloning": dict(settings),
        "seed": seed,
    }
    policy = Policy(network, info.environment, info.observation, training, None if start is None else start.values)
    passes = (d3rlpy_epochs if settings.backend == "d3rlpy" else cloning_epochs)(network, rows, settings, seed)
    best = train_with_early_stopping(policy, passes, checked, settings.patience, on_epoch)
    network.to("cpu")
    if best == math.inf:
        raise BadInput(
            "the training diverges, to a policy whose probabilities are no numbers; lower learning_rate "
            f"({settings.learning_rate:g}) or weight_decay ({settings.weight_decay:g})"
        )
    return policy


def train_with_early_stopping(
    policy: Policy, passes: Iterator[float], validation: Rows, patience: int, on_epoch: Callable[[Epoch, Policy], None]
) -> float:
    """Run `passes`, each of which trains `policy` in place and yields its loss, and restore the best one's weights.

    The best pass has the highest likelihood of the validation rows (its mean over all that the player could have done,
    where the rows have the player's probabilities); training ends after `patience` passes without a
    better one. `on_epoch` is called after each pass, while the policy still has that pass's weights. Returns the best
    pass's nats; infinity where none has any.
    """
    best, best_weights = math.inf, policy.network.state_dict()
    since_best = 0
    for number, loss in enumerate(passes, 1):
        predicted = policy.probabilities(validation.observations)
        measures = measure(predicted, validation.actions)
        nats = measures.nats
        if validation.probabilities is not None:
            nats = expected_nats(predicted, validation.probabilities)
        is_best = nats < best
        since_best = 0 if is_best else since_best + 1
        if is_best:
            best, best_weights = nats, copy.deepcopy(policy.network.state_dict())
        on_epoch(Epoch(number, loss, nats, measures.accuracy, is_best), policy)
        if since_best == patience:
            break
    policy.network.load_state_dict(best_weights)
    return best


def hold_out_cloned(
    episodes: Sequence[Episode], info: DatasetInfo, settings: CloningSettings, share: float, seed: int, part: int = 0
) -> tuple[list[int], list[int]]:
    """`hold_out` of the episodes that have decisions to clone; those that nobody corrected may have none.

    BadInput if none has any.
    """
    numbers = list(range(len(episodes)))
    if episodes.shares_control if isinstance(episodes, Dataset) else any(one.shares_control for one in episodes):
        weights = (weights_of(episode, settings.policy_weight, settings.person_weight) for episode in episodes)
        numbers = [number for number, weight in enumerate(weights) if weight.any()]
    if not numbers:
        raise BadInput("no decision to clone; record more, or raise policy_weight or person_weight")
    train, held_out = hold_out(len(numbers), share, seed, part)
    return [numbers[index] for index in train], [numbers[index] for index in held_out]


def hold_out(count: int, share: float, seed: int, part: int = 0) -> tuple[list[int], list[int]]:
    """Indices of the training and the held-out episodes, out of `count`; both sorted, neither empty. A single
    episode is in both: cloning a single game without a check is better than refusing it.

    The episodes are shuffled by `seed` and arranged in a circle, of which `part` p holds out the p-th arc: five parts
    of a fifth hold out each episode once.
    """
    if count == 1:
        return [0], [0]
    size = min(max(round(share * count), 1), count - 1)
    circle = np.roll(np.random.default_rng(seed).permutation(count), -part * size)
    return sorted(circle[size:].tolist()), sorted(circle[:size].tolist())


def untrained(info: DatasetInfo, settings: CloningSettings, generator: torch.Generator) -> ActorCritic:
    """The network of a clone before its training."""
    return ActorCritic(info.observation, info.actions, settings.hidden, generator, settings.convolutions)


def continued(start: Policy, info: DatasetInfo, settings: CloningSettings) -> tuple[TrunkedPolicy, CloningSettings]:
    """A copy of a policy's network to continue, and the settings without dropout and noise unless they are given.

    BadInput for a policy of another task, or with a memory.
    """
    start.require_fit(info.observation, info.actions, "policy", f"the dataset of {info.environment}")
    if not isinstance(start.network, TrunkedPolicy) or settings.backend != "torch":
        raise BadInput(
            f"policy: a network {start.network.architecture} with backend={settings.backend}; expected layers without "
            "a memory and backend=torch"
        )
    plain = settings.with_(dropout=settings.dropout or 0.0, input_noise=settings.input_noise or 0.0)
    return copy.deepcopy(start.network), plain

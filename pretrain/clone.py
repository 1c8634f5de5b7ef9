"""Cloning a player: from episodes to a policy."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch

from ..common.errors import BadInput
from ..datasets.schema import DatasetInfo, Episode
from ..policies.networks import ActorCritic, TrunkedPolicy
from ..policies.policy import Policy
from .cloning import cloning_epochs
from .d3rlpy_backend import d3rlpy_epochs
from .early_stopping import Epoch, train_with_early_stopping
from .rows import rows_of, weights_of
from .settings import CloningSettings
from .split import chosen, hold_out


@dataclass(frozen=True)
class Clone:
    """A clone: the policy of the best pass, and all passes."""

    policy: Policy
    epochs: tuple[Epoch, ...]

    @property
    def best(self) -> Epoch:
        """The best pass, whose weights the policy has."""
        return min(self.epochs, key=lambda epoch: epoch.validation_nats)


def clone(
    episodes: Sequence[Episode],
    info: DatasetInfo,
    settings: CloningSettings | None = None,
    seed: int = 0,
    on_epoch: Callable[[Epoch, Policy], None] = lambda epoch, policy: None,
    device: torch.device | None = None,
    scaled_with: Sequence[Episode] = (),
    start: Policy | None = None,
) -> Clone:
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
        rows_of(chosen(episodes, part), policy=settings.policy_weight, person=settings.person_weight)
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
    training = {"cloned_from": {"episodes": len(episodes), "decisions": len(rows) + len(checked)}}
    made = {**training, "cloning": asdict(settings), "seed": seed}
    policy = Policy(network, info.environment, info.observation, made, None if start is None else start.values)
    backend = d3rlpy_epochs if settings.backend == "d3rlpy" else cloning_epochs
    epochs = train_with_early_stopping(
        policy,
        backend(network, rows, settings, seed),
        checked,
        settings.patience,
        lambda epoch: on_epoch(epoch, policy),
    )
    network.to("cpu")
    if not any(epoch.is_best for epoch in epochs):
        raise BadInput(
            f"learning_rate={settings.learning_rate:g}: the training diverges, to a policy whose probabilities are no "
            "numbers; lower it"
        )
    return Clone(policy, epochs)


def hold_out_cloned(
    episodes: Sequence[Episode], info: DatasetInfo, settings: CloningSettings, share: float, seed: int, part: int = 0
) -> tuple[list[int], list[int]]:
    """`hold_out` of the episodes that have decisions to clone; those that nobody corrected may have none.

    BadInput if none has any.
    """
    kept = list(range(len(episodes)))
    if info.shares_control:
        weights = (weights_of(episode, settings.policy_weight, settings.person_weight) for episode in episodes)
        kept = [number for number, one in enumerate(weights) if one.any()]
    if not kept:
        raise BadInput("no decision to clone; record more, or raise policy_weight or person_weight")
    train, held_out = hold_out(len(kept), share, seed, part)
    return [kept[number] for number in train], [kept[number] for number in held_out]


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
    plain = replace(settings, dropout=settings.dropout or 0.0, input_noise=settings.input_noise or 0.0)
    return copy.deepcopy(start.network), plain

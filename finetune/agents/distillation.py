"""Distillation of a policy, on its own play, into a network that a learner can continue (Rusu et al. 2016)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from ...policies.networks import ActorCritic
from ...policies.policy import Policy
from ...policies.rollout import Game, play
from ...policies.sizes import NATURE
from ...pretrain.cloning import cloning_epochs
from ...pretrain.rows import NONE, Rows
from ...pretrain.settings import CloningSettings
from .settings import Discounted, LiveSettings

if TYPE_CHECKING:
    from ..run import Run

DECISIONS, AT_ONCE = 40_000, 8
"""Decisions of the policy's own play, at least, and games played side by side."""

PASSES = 20


def distilled(run: "Run[Discounted, LiveSettings]", hidden: Sequence[int], convolutions: str = NATURE) -> ActorCritic:
    """An `ActorCritic` without a memory that decides as the run's policy does: fitted to the probabilities that the
    policy draws its actions from, in whole games of its own. Its Q head is untrained."""
    policy, seed = run.policy, run.settings.seed
    idle = run.settings.max_idle_frames if policy.environment.capabilities.idle_start else 0
    rows = own_play(policy, seed, idle)
    generator = torch.Generator().manual_seed(seed)
    network = ActorCritic(policy.observation, policy.actions, hidden, generator, convolutions)
    network.scaler.fit(rows.observations)
    *_, nats = cloning_epochs(network, rows, CloningSettings(epochs=PASSES), seed)
    run.observer.note(
        f"note: the policy's network ({policy.network.architecture}) does not fit the algorithm; distilled on "
        f"{len(rows):,} decisions of its own play, with a loss of {nats:.3f} nats"
    )
    return network


def own_play(policy: Policy, seed: int, max_idle_frames: int = 0) -> Rows:
    """Decisions of whole games that the policy plays with drawn actions, `DECISIONS` or more in all."""
    games: list[Game] = []
    while sum(map(len, games)) < DECISIONS:
        games += play(
            policy,
            episodes=AT_ONCE,
            num_envs=AT_ONCE,
            seed=seed,
            greedy=False,
            max_idle_frames=max_idle_frames,
            first=len(games),
        )
    taken = [game.actions.astype(np.int64) for game in games]
    return Rows(
        np.concatenate([game.observations[:-1].reshape(len(game), -1) for game in games]),
        np.concatenate(taken),
        np.concatenate([np.concatenate([[NONE], actions[:-1]]) for actions in taken]),
        np.concatenate([game.probabilities for game in games]),
    )

"""The RLPD learner: ensemble, target ensemble, optimiser, and one update on a batch of transitions."""

import copy

import numpy as np
import torch
from torch import Tensor

from ....policies.q_networks import EnsembleQ
from ...experience.sequences import DEMONSTRATIONS
from ...experience.transitions import Transitions
from ...metrics import UpdateStats, means_by_source
from ...schedules.phase import PhaseValues
from ..dqn.losses import margin_loss
from ..learner import Learner, Part
from ..optimisers import FusedAdam, descend
from . import losses as rlpd
from .settings import RlpdSettings


class RlpdLearner(Learner[EnsembleQ, RlpdSettings]):
    """Trains the ensemble in place; the target ensemble is its moving average.

    generator: samples the subsets of members.
    """

    def __init__(
        self, network: EnsembleQ, settings: RlpdSettings, device: torch.device, generator: np.random.Generator
    ) -> None:
        super().__init__(network, settings, device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self._generator = generator
        self._optimiser = FusedAdam(self.network.parameters(), settings.learning_rate, settings.adam_epsilon)

    @property
    def parts(self) -> dict[str, Part]:
        return {"network": self.network, "target": self.target, "optimiser": self._optimiser}

    def update(self, batch: Transitions, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        """Take one optimiser step on L + imitation · Σ_i mean_b J_E,i·[b is a demonstration]."""
        actions = self._tensor(batch.actions)
        rewards = self._tensor(batch.rewards) * self.settings.reward_scale
        q = self.network.member_values(self._tensor(batch.observations).flatten(1))
        with torch.no_grad():
            following = self._tensor(batch.next_observations).flatten(1)
            drawn = self._generator.choice(self.network.members, self.settings.subset, replace=False)
            target = rlpd.subset_target(
                rewards,
                self._tensor(batch.discounts),
                self.network.member_values(following),
                self.target.member_values(following),
                self._tensor(drawn),
            )
        index = actions.expand(self.network.members, -1)
        taken = q.gather(-1, index.unsqueeze(-1)).squeeze(-1)
        loss = rlpd.ensemble_loss(taken, target)
        if now.imitation:
            demonstrated = self._tensor(batch.source == DEMONSTRATIONS)
            shortfall = demonstrated * margin_loss(q, index, self.settings.margin)
            loss = loss + now.imitation * shortfall.mean(dim=1).sum()

        rate = self.settings.learning_rate * now.learning_rate
        norm = descend(self._optimiser, loss, rate, self.settings.max_gradient_norm)
        rlpd.move_towards(self.target, self.network, self.settings.tau)
        return self._stats(batch, taken.detach(), target, norm) if diagnose else None

    def _stats(self, batch: Transitions, taken: Tensor, target: Tensor, norm: Tensor) -> UpdateStats:
        errors = (target - taken).abs().mean(0).cpu().numpy()
        scalars = {
            "q_error": float((target - taken).square().mean().sqrt()),
            "value": float(taken.mean()),
            "disagreement": float(taken.std(dim=0, correction=0).mean()),
            "gradient_norm": float(norm),
        }
        return UpdateStats(scalars, means_by_source(batch.source, td_error=errors))

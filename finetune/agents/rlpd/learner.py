"""The RLPD learner: ensemble, target ensemble, optimiser, and one update on a batch of transitions."""

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.q_networks import EnsembleQ
from ...experience.sequences import DEMONSTRATIONS, SOURCES
from ...experience.transitions import Transitions
from ...metrics import Diagnosis
from ..dqn.losses import margin_loss
from ..optimisers import descend
from ..states import Parts, copied_states, load_states
from . import losses as rlpd
from .settings import RlpdSettings


class RlpdLearner:
    """Learns the ensemble in place; the target ensemble follows it a little with every update.

    generator: draws the subsets of members.
    """

    def __init__(
        self, network: EnsembleQ, settings: RlpdSettings, device: torch.device, generator: np.random.Generator
    ) -> None:
        self._settings = settings
        self.network = network.to(device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self._device = device
        self._generator = generator
        self._optimiser = torch.optim.Adam(
            self.network.parameters(), settings.learning_rate, eps=settings.adam_epsilon, fused=True
        )
        self._parts: Parts = {"network": self.network, "target": self.target, "optimiser": self._optimiser}

    def update(
        self, batch: Transitions, *, learning_rate: float = 1.0, imitation: float = 0.0, diagnose: bool = False
    ) -> Diagnosis | None:
        """Take one optimiser step on L + imitation · Σ_i mean_b J_E,i·[b is a demonstration].

        learning_rate multiplies that of the settings.
        """
        actions = self._tensor(batch.actions)
        rewards = self._tensor(batch.rewards) * self._settings.reward_scale
        q = self.network.member_values(self._tensor(batch.observations).flatten(1))
        with torch.no_grad():
            following = self._tensor(batch.next_observations).flatten(1)
            drawn = self._generator.choice(self.network.members, self._settings.subset, replace=False)
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
        if imitation:
            demonstrated = self._tensor(batch.source == DEMONSTRATIONS)
            shortfall = demonstrated * margin_loss(q, index, self._settings.margin)
            loss = loss + imitation * shortfall.mean(dim=1).sum()

        rate = self._settings.learning_rate * learning_rate
        norm = descend(self._optimiser, loss, rate, self._settings.max_gradient_norm)
        rlpd.move_towards(self.target, self.network, self._settings.tau)
        return self._diagnosis(batch, taken.detach(), target, norm) if diagnose else None

    def get_state(self) -> dict[str, Any]:
        """Copies of all weights and of the optimiser's memory."""
        return copied_states(self._parts)

    def set_state(self, state: dict[str, Any]) -> None:
        load_states(self._parts, state)

    def _diagnosis(self, batch: Transitions, taken: Tensor, target: Tensor, norm: Tensor) -> Diagnosis:
        errors = (target - taken).abs().mean(0).cpu().numpy()
        by_source = {}
        for source, name in enumerate(SOURCES):
            mine = batch.source == source
            if mine.any():
                by_source[name] = {"td_error": float(errors[mine].mean())}
        scalars = {
            "q_error": float((target - taken).square().mean().sqrt()),
            "value": float(taken.mean()),
            "disagreement": float(taken.std(dim=0, correction=0).mean()),
            "gradient_norm": float(norm),
        }
        return Diagnosis(scalars, by_source)

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)

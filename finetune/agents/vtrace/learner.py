"""The V-trace learner: network, optimiser, one update on a batch of unrolls, and its objective."""

from typing import NamedTuple

import torch
from torch import Tensor

from ....policies.recurrent import RecurrentActorCritic
from ...experience.sequences import Sequences
from ...metrics import UpdateStats, mean_figures
from ...schedules.phase import PhaseValues
from ..learner import LiveLearner, Part
from ..losses import entropy as entropy_of
from ..losses import kickstarting_loss
from ..optimisers import descend
from ..running_scale import RunningScale
from .losses import policy_loss, value_loss, vtrace
from .settings import VtraceSettings
from .unroll import Unroll, unroll


class VtraceLearner(LiveLearner[RecurrentActorCritic, VtraceSettings]):
    """Trains the policy's network, including its value head, in place.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    """

    def __init__(self, network: RecurrentActorCritic, settings: VtraceSettings, device: torch.device) -> None:
        super().__init__(network, settings, device)
        self._scale = RunningScale(network)
        self._optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=settings.epsilon)

    @property
    def parts(self) -> dict[str, Part]:
        return {"network": self.network, "optimiser": self._optimiser, "seen": self._scale}

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        """Take `passes` steps on the sequences."""
        with self._scale.learning_from(played):
            steps = [self._step(played, now) for _ in range(self.settings.passes)]
        return UpdateStats(mean_figures(steps), {})

    def _step(self, played: Sequences, now: PhaseValues) -> dict[str, float]:
        settings = self.settings
        found = unroll(self.network, played, self._device, critic_only=now.critic_only)
        loss, scalars = actor_critic(played, found, settings, now)
        rate = settings.learning_rate * now.learning_rate
        norm = descend(self._optimiser, loss, rate, settings.max_gradient_norm)
        return scalars | {"gradient_norm": norm.item()}


class Objective(NamedTuple):
    """A loss to minimise, and statistics for the log."""

    loss: Tensor
    scalars: dict[str, float]


def actor_critic(played: Sequences, found: Unroll, settings: VtraceSettings, now: PhaseValues) -> Objective:
    """L = L_π + c_V·L_V − c_H·H of an unroll of the sequences, plus λ·H(π_T ‖ π) with a teacher.

    λ is `kickstarting`; `entropy` multiplies c_H. `critic_only`: L = c_V·L_V.
    """
    rewards, terminated, truncated, actions, mu = (
        torch.from_numpy(array).to(found.logits.device)
        for array in (
            played.rewards, played.terminated, played.truncated, played.actions, played.behaviour_probabilities
        )
    )  # fmt: skip
    values, log_policy = found.values, torch.log_softmax(found.logits, dim=-1)
    log_pi, log_mu = _of(log_policy, actions), _of(mu, actions).log()
    rho = (log_pi.detach() - log_mu).exp()
    targets, advantages = vtrace(
        rewards, terminated, truncated, values, found.final_values, rho, now.gamma, settings.rho_bar, settings.c_bar
    )
    errors = value_loss(values[:, :-1], targets)
    bonus = entropy_of(log_policy).mean()
    loss = settings.value_coefficient * errors
    if not now.critic_only:
        loss = loss + policy_loss(log_pi, advantages) - now.entropy * settings.entropy_coefficient * bonus
    scalars = {
        "entropy": bonus.item(),
        "rho": rho.mean().item(),
        "rho_above_limit": (rho > settings.rho_bar).float().mean().item(),
        "value": values[:, :-1].mean().item(),
        "value_error": errors.sqrt().item(),
    }
    if now.kickstarting and played.teacher is not None and not now.critic_only:
        lesson = kickstarting_loss(log_policy, torch.from_numpy(played.teacher).to(log_policy.device))
        loss = loss + now.kickstarting * lesson
        scalars["kickstarting"] = lesson.item()
    return Objective(loss, scalars)


def _of(rows: Tensor, actions: Tensor) -> Tensor:
    """The entries of the actions, [n, k], of rows [n, k, A]."""
    return rows.gather(-1, actions.unsqueeze(-1)).squeeze(-1)

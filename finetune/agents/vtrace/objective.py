"""The objective of the V-trace actor-critic on a batch of unrolls."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from ...experience.sequences import Sequences
from ...schedules.phase import PhaseValues
from ..losses import entropy as entropy_of
from ..losses import teaching_loss
from .losses import policy_loss, value_loss, vtrace
from .settings import VtraceSettings


class Unrolled(Protocol):
    """A network's outputs along n sequences of k steps; see `unroll.Unroll`."""

    @property
    def logits(self) -> Tensor: ...

    @property
    def values(self) -> Tensor: ...

    @property
    def final_values(self) -> Tensor: ...


class Objective(NamedTuple):
    """A loss to descend, and figures for the log."""

    loss: Tensor
    scalars: dict[str, float]


def actor_critic(played: Sequences, found: Unrolled, settings: VtraceSettings, now: PhaseValues) -> Objective:
    """L = L_π + c_V·L_V − c_H·H of an unroll of the sequences, with a teacher + λ·H(π_T ‖ π), where λ is `teaching`.

    `entropy` multiplies c_H. `critic_only`: L = c_V·L_V.
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
        rewards,
        terminated,
        truncated,
        values,
        found.final_values,
        rho,
        now.gamma,
        settings.rho_bar,
        settings.c_bar,
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
    if now.teaching and played.teacher is not None and not now.critic_only:
        lesson = teaching_loss(log_policy, torch.from_numpy(played.teacher).to(log_policy.device))
        loss = loss + now.teaching * lesson
        scalars["teaching"] = lesson.item()
    return Objective(loss, scalars)


def _of(rows: Tensor, actions: Tensor) -> Tensor:
    """The entries of the actions, [n, k], of rows [n, k, A]."""
    return rows.gather(-1, actions.unsqueeze(-1)).squeeze(-1)

"""DQN's gradient for networks of dense layers: derived by hand, because autograd takes much longer with small layers.

It is the gradient of the formulas in `losses`, equal to autograd's but for rounding.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from ....policies.dense_layers import DenseLayers
from ....policies.q_networks import QNetwork
from . import losses as dqn
from .settings import DqnSettings


class Batch(NamedTuple):
    """Transitions as tensors [B, ...]: those of `transitions.Transitions`, rewards scaled, importance weights w and, if
    demonstrations are imitated, imitation times 1 for a demonstration, else 0."""

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    discounts: Tensor
    following: Tensor
    weights: Tensor
    imitation: Tensor | None


class StepResult(NamedTuple):
    """TD errors δ and Q(s, a), [B], and the loss."""

    errors: Tensor
    taken: Tensor
    loss: Tensor


class DenseGradients:
    """Sets the gradients of a network of expected values without dueling and layer norm."""

    def __init__(self, network: QNetwork, online: DenseLayers, target: DenseLayers, settings: DqnSettings) -> None:
        self._network, self._online, self._target, self._settings = network, online, target, settings
        self._gradients = [torch.zeros_like(one, requires_grad=False) for one in online.parameters]

    @classmethod
    def of(cls, network: QNetwork, target: QNetwork, settings: DqnSettings) -> "DenseGradients | None":
        """The gradients of these networks; None if they are of another kind."""
        online, offline = network.dense_layers(), target.dense_layers()
        return None if online is None or offline is None else cls(network, online, offline, settings)

    @torch.inference_mode()
    def step(self, batch: Batch) -> StepResult:
        """Set the gradient of mean_i w_i·(Huber(δ_i) + imitation_i·J_E,i).

            ∂/∂Q(s, a) of w·Huber(δ)/B = −w·clamp(δ, −1, 1)/B
            ∂/∂Q(s, ·) of w·J_E/B      = w·(1_best − 1_a)/B, best = argmax_b Q(s, b) + m·1(b ≠ a)

        Values are [A, B].
        """
        settings, action = self._settings, batch.actions.unsqueeze(0)
        following = self._network.layer_input(batch.following)
        q_next_target = self._target.forward(following).t()
        if settings.double:
            q_next = self._online.forward(following).t()
            y = dqn.double_target(batch.rewards, batch.discounts, q_next, q_next_target)
        else:
            y = dqn.max_target(batch.rewards, batch.discounts, q_next_target)
        q = self._online.forward(self._network.layer_input(batch.observations))
        taken = q.gather(0, action).squeeze(0)
        errors = y - taken
        losses = dqn.huber(errors)
        each = batch.weights / len(errors)
        gradient = torch.zeros_like(q).scatter_(0, action, -(each * errors.clamp(-1.0, 1.0)).unsqueeze(0))
        if batch.imitation is not None:
            losses = losses + batch.imitation * dqn.margin_loss(q.t(), batch.actions, settings.margin)
            best = (q + settings.margin).scatter_(0, action, taken.unsqueeze(0)).argmax(0, keepdim=True)
            pull = (each * batch.imitation).unsqueeze(0)
            gradient.scatter_add_(0, best, pull).scatter_add_(0, action, -pull)
        self._online.backward(gradient, self._gradients)
        for parameter, one in zip(self._online.parameters, self._gradients, strict=True):
            parameter.grad = one
        return StepResult(errors, taken, dqn.weighted_mean(losses, batch.weights))

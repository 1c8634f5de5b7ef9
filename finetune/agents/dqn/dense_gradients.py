"""DQN's gradient for networks of dense layers: derived by hand, because autograd takes much longer with small layers.

It is the gradient of the formulas in `losses`, equal to autograd's but for rounding.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.dense_layers import DenseLayers
from ....policies.q_networks import QNetwork
from ...experience.sequences import DEMONSTRATIONS
from ...experience.transitions import Transitions
from ...kernels import kernel
from .settings import DqnSettings


class StepResult(NamedTuple):
    """TD errors δ and Q(s, a), [B], the loss, and the norm of the gradient before it was clipped."""

    errors: Tensor
    taken: Tensor
    loss: Tensor | float
    norm: Tensor | float


class DenseGradients:
    """Sets the clipped gradients of a network of expected values without dueling and layer norm, on a CPU."""

    def __init__(self, network: QNetwork, online: DenseLayers, target: DenseLayers, settings: DqnSettings) -> None:
        self._network, self._online, self._target, self._settings = network, online, target, settings
        target.share_buffers(online)
        self._gradients = [torch.zeros_like(one, requires_grad=False) for one in online.parameters]

    @classmethod
    def of(cls, network: QNetwork, target: QNetwork, settings: DqnSettings) -> "DenseGradients | None":
        """The gradients of these networks; None if they are of another kind or on another device."""
        online, offline = network.dense_layers(), target.dense_layers()
        if online is None or offline is None or online.parameters[0].device.type != "cpu":
            return None
        return cls(network, online, offline, settings)

    @torch.inference_mode()
    def step(self, batch: Transitions, weights: NDArray[np.floating], imitation: float) -> StepResult:
        """Set the gradient of mean_i w_i·(Huber(δ_i) + imitation·J_E,i·[i is a demonstration])."""
        settings = self._settings
        following = self._inputs(batch.next_observations)
        q_next_target = self._target.forward(following)
        q_next = self._online.forward(following) if settings.double else q_next_target
        q = self._online.forward(self._inputs(batch.observations))
        loss, errors, taken, gradient = _loss(
            q.numpy(), q_next.numpy(), q_next_target.numpy(), batch.actions, batch.rewards, batch.discounts,
            batch.source, weights, settings.reward_scale, settings.margin, float(imitation),
        )  # fmt: skip
        self._online.backward(torch.from_numpy(gradient), self._gradients)
        norm = self._clip()
        for parameter, one in zip(self._online.parameters, self._gradients, strict=True):
            parameter.grad = one
        return StepResult(torch.from_numpy(errors), torch.from_numpy(taken), loss, norm)

    def _inputs(self, observations: NDArray[np.generic]) -> Tensor:
        return self._network.layer_input(torch.from_numpy(observations).flatten(1))

    def _clip(self) -> float:
        """Clip the gradient of each parameter to the maximum norm; return the norm of all before."""
        most = self._settings.max_gradient_norm
        norms = torch.stack(torch._foreach_norm(self._gradients)).tolist()
        for gradient, norm in zip(self._gradients, norms, strict=True):
            if norm > most:
                gradient.mul_(most / (norm + 1e-6))
        return math.hypot(*norms)


@kernel
def _loss(  # type: ignore[no-untyped-def]
    q, q_next, q_next_target, actions, rewards, discounts, source, weights, reward_scale, margin, imitation
):  # fmt: skip
    """Return the loss L, δ = y − Q(s, a), Q(s, a), [B], and ∂L/∂Q(s, ·), [A, B].

        y = r + d·Q⁻(s', argmax_a Q(s', a)), with Q⁻(s', ·) for Q(s', ·) unless double
        ∂/∂Q(s, a) of w·Huber(δ)/B = −w·clamp(δ, −1, 1)/B
        ∂/∂Q(s, ·) of w·J_E/B      = w·(1_best − 1_a)/B, best = argmax_b Q(s, b) + m·1(b ≠ a)

    Values are [A, B].
    """
    loss, errors, taken, gradient = 0.0, np.empty_like(q[0]), np.empty_like(q[0]), np.zeros_like(q)
    for i, a in enumerate(actions):
        weight = weights[i] / len(actions)
        y = rewards[i] * reward_scale + discounts[i] * q_next_target[q_next[:, i].argmax(), i]
        taken[i] = q[a, i]
        errors[i] = y - taken[i]
        clamped = min(max(errors[i], -1.0), 1.0)
        loss += weight * clamped * (errors[i] - 0.5 * clamped)
        gradient[a, i] = -weight * clamped
        if imitation > 0.0 and source[i] == DEMONSTRATIONS:
            with_margin = q[:, i] + margin
            with_margin[a] = taken[i]
            best = with_margin.argmax()
            pull = weight * imitation
            loss += pull * (with_margin[best] - taken[i])
            gradient[best, i] += pull
            gradient[a, i] -= pull
    return loss, errors, taken, gradient

"""Cloning's gradient for networks of dense layers: derived by hand, because autograd takes longer with small layers.

It is the gradient of `cloning_loss`, equal to autograd's but for rounding.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..policies.dense_layers import DenseLayers
from ..policies.networks import TrunkedPolicy


class DenseGradients:
    """Sets the gradients of a network's trunk and policy head, in memory of its own."""

    def __init__(self, layers: DenseLayers, label_smoothing: float) -> None:
        self._layers, self._label_smoothing = layers, label_smoothing
        self._gradients = [torch.zeros_like(one) for one in layers.parameters]
        for parameter, gradient in zip(layers.parameters, self._gradients, strict=True):
            parameter.grad = gradient

    @classmethod
    def of(cls, network: TrunkedPolicy, label_smoothing: float) -> "DenseGradients | None":
        """The gradients of this network; None if it has convolutions."""
        layers = network.dense_layers()
        return None if layers is None else cls(layers, label_smoothing)

    @torch.inference_mode()
    def step(
        self, inputs: Tensor, kept: Sequence[Tensor], actions: Tensor, mu: Tensor | None, v: Tensor | None
    ) -> float:
        """Set the gradients of `cloning_loss`, and return the loss. With logits z of the inputs, and y and v as there:

            ∂L/∂z_i = v_i·(π(·|s_i)·Σ_a y_ia − y_i) / Σ_j v_j

        inputs [N, size], of the trunk; kept: factors of each hidden layer's units, [N, width], if some are dropped out;
        actions int64 [N], μ [N, A] or None, v [N] or None.
        """
        log_pi = torch.log_softmax(self._layers.forward(inputs, kept), dim=0)  # [A, N], as all that follows
        smoothing = self._label_smoothing
        y = torch.full_like(log_pi, smoothing / len(log_pi))
        if mu is None:
            every = torch.full_like(log_pi[:1], 1 - smoothing)
            y.scatter_add_(0, actions.unsqueeze(0), every)
        else:
            y.add_(mu.t(), alpha=1 - smoothing)
        weights = log_pi.new_tensor(1 / len(actions)) if v is None else v.to(log_pi) / v.sum()
        loss = -((y * log_pi).sum(0) * weights).sum()
        self._layers.backward(log_pi.exp_().mul_(y.sum(0)).sub_(y).mul_(weights), self._gradients)
        return float(loss)

"""PPO's gradient for networks of dense layers: derived by hand, because autograd takes much longer with small layers.

It is the gradient of the formulas in `losses`, equal to autograd's but for rounding.
"""

from concurrent.futures import Executor

import torch
from torch import Tensor

from ....policies.dense_layers import DenseLayers
from ....policies.networks import Actor, ActorCritic, ValuedActor, Values, bounded
from ...schedules.phase import PhaseValues
from ..optimisers import as_one_vector, clip
from . import losses as ppo
from .minibatch import Demonstrated, Minibatch, StepStats
from .settings import PpoSettings

WORTH_A_THREAD = 2**23
"""Rows times weights of the critic, from which its gradient is computed in a thread of its own."""


class DenseGradients:
    """Sets the gradients of a policy and of a separate value network, as views of one vector."""

    def __init__(self, network: Actor | ActorCritic, policy: DenseLayers, critic: DenseLayers, settings: PpoSettings):
        self._observation, self._settings = network.observation, settings
        self._policy, self._critic = policy, critic
        self._vector, views = as_one_vector([*critic.parameters, *policy.parameters])
        count = len(critic.parameters)
        self._critic_size = sum(one.numel() for one in critic.parameters)
        self._critic_views, self._policy_views = views[:count], views[count:]

    @classmethod
    def of(cls, network: Actor | ActorCritic, values: Values | None, settings: PpoSettings) -> "DenseGradients | None":
        """The gradients of these networks; None if they share layers, see pictures or are on a CUDA GPU, whose graphs
        spare autograd's overhead as well."""
        if values is None or isinstance(network, ValuedActor) or network.policy_head.weight.is_cuda:
            return None
        low = settings.precision == "bfloat16"
        policy = network.dense_layers(low)
        critic = DenseLayers.of([*values.trunk, values.head], low)
        return None if policy is None or critic is None else cls(network, policy, critic, settings)

    @torch.inference_mode()
    def value(self, inputs: Tensor) -> Tensor:
        """V(s), [...], of inputs of the policy's trunk, [..., size]."""
        return self._critic.values(bounded(inputs, self._observation))

    @torch.inference_mode()
    def step(
        self, batch: Minibatch, demonstrated: Demonstrated | None, now: PhaseValues, beside: Executor
    ) -> StepStats:
        """Set the clipped gradients of a minibatch. `beside` computes the critic's if it is worth a thread."""
        critic = None
        if len(batch.inputs) * self._critic_size >= WORTH_A_THREAD:
            critic = beside.submit(self._set_critic_gradient, batch)
        else:
            self._set_critic_gradient(batch)
        log_ratio, bonus, losses = self._set_policy_gradient(batch, demonstrated, now)
        if critic is not None:
            critic.result()
        gradient = self._vector[: self._critic_size] if now.critic_only else self._vector
        norm = clip(gradient, self._settings.max_gradient_norm)
        for parameter, view in zip(self._critic.parameters, self._critic_views, strict=True):
            parameter.grad = view
        for parameter, view in zip(self._policy.parameters, self._policy_views, strict=True):
            parameter.grad = None if now.critic_only else view
        return StepStats(log_ratio, bonus, norm, losses)

    @torch.inference_mode()  # in either thread
    def _set_critic_gradient(self, batch: Minibatch) -> None:
        """∂/∂V of c·mean (V − R)² is 2c·(V − R)/m."""
        error = self._critic.forward(bounded(batch.inputs, self._observation)).sub_(batch.returns)
        self._critic.backward(error.mul_(2 * self._settings.value_coefficient / len(batch.returns)), self._critic_views)

    def _set_policy_gradient(
        self, batch: Minibatch, demonstrated: Demonstrated | None, now: PhaseValues
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Set the policy's gradient; return log ρ, H and the losses of a teacher and of imitation.

        With the logits z, log π = z − log Σ exp z, and the surrogate's slope g = ∂/∂log π(a|s) at each step:

            ∂/∂z of −surrogate = g·(π − 1_a)/m,  with g = ρÂ, or 0 where the clipped term is the smaller one
            ∂/∂z of −w·H       = w·π·(log π + H)/m
            ∂/∂z of −Σ π_T log π = (π·Σ π_T − π_T)/m

        All arrays are [A, m]. Demonstrated decisions go through the layers behind the others.
        """
        settings, m = self._settings, len(batch.actions)
        imitated = None if now.critic_only else demonstrated
        inputs = batch.inputs if imitated is None else torch.cat([batch.inputs, imitated.inputs])
        all_log_pi = torch.log_softmax(self._policy.forward(inputs), dim=0)
        all_pi = all_log_pi.exp()
        log_pi, pi, action = all_log_pi[:, :m], all_pi[:, :m], batch.actions.unsqueeze(0)
        log_ratio = log_pi.gather(0, action).squeeze(0) - batch.log_mu
        bonus = (pi * log_pi).sum(0).neg_()
        losses: dict[str, Tensor] = {}
        if now.critic_only:
            return log_ratio, bonus, losses
        ratio = log_ratio.exp()
        gain = ratio * batch.advantage
        slope = torch.where(gain <= ppo.clipped_surrogate(ratio, batch.advantage, settings.clip), gain, 0.0)
        weight = now.entropy * settings.entropy_coefficient
        every = torch.empty_like(all_pi)
        gradient = torch.mul(pi, slope + weight * (log_pi + bonus), out=every[:, :m])
        gradient.scatter_add_(0, action, -slope.unsqueeze(0))
        if batch.teacher is not None:
            teacher = batch.teacher.t()
            losses["kickstarting"] = -(teacher * log_pi).sum(0).mean()
            gradient.add_(pi * teacher.sum(0) - teacher, alpha=now.kickstarting)
        gradient.div_(m)
        if imitated is not None:
            player, log_pi = _player(imitated, len(every)), all_log_pi[:, m:]
            torch.addcmul(-player, all_pi[:, m:], player.sum(0), out=every[:, m:])
            every[:, m:].mul_(now.imitation / player.shape[1])
            losses["imitation_loss"] = -(player * log_pi).sum(0).mean()
        self._policy.backward(every, self._policy_views)
        return log_ratio, bonus, losses


def _player(shown: Demonstrated, actions: int) -> Tensor:
    """The probabilities to imitate, [A, m]: the demonstrator's, or 1 for its action."""
    if shown.probabilities is not None:
        return shown.probabilities.t()
    one_hot = shown.inputs.new_zeros(actions, len(shown.actions))
    return one_hot.scatter_(0, shown.actions.unsqueeze(0), 1.0)

"""The ACER learner: network, average network, optimiser, and one update on a batch of sequences."""

import copy
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....envs.spec import Observations
from ....policies.dense_layers import DenseLayers, LeafGradients
from ....policies.devices import autocast
from ....policies.networks import ActorCritic
from ...experience.sequences import DEMONSTRATIONS, Sequences
from ...log import UpdateStats, means_by_source
from ...schedules.phase import PhaseValues
from ..agent import Learner, Part
from ..losses import final_values
from ..optimisers import RMSprop, move_towards, set_gradients
from . import losses as acer
from .settings import AcerSettings

AveragePolicy = Callable[[Tensor, Tensor], Tensor]
"""π_avg, [m, A], of m states: step t of sequence i, by tensors of t and i, int64 [m]."""


class Played(NamedTuple):
    """A batch of n sequences of k steps as tensors, rewards and returns scaled.

    mu, player: [k, n, A]; demonstrated, True for demonstrations: [n]; the others: [k, n]. achieved: returns of
    demonstrations, and True where they are known.
    """

    actions: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    mu: Tensor
    final_values: Tensor
    demonstrated: Tensor
    player: Tensor | None
    achieved: tuple[Tensor, Tensor] | None


class Steps(NamedTuple):
    """Numbers of every step: π, [k, n, A]; ρ and Q of the action taken, its target, V, [k, n]; outside: True where V
    was clipped; limited: True where the trust region shortened the policy's gradient."""

    pi: Tensor
    rho: Tensor
    q_taken: Tensor
    q_ret: Tensor
    values: Tensor
    outside: Tensor
    limited: Tensor


class AcerLearner(Learner[ActorCritic, AcerSettings]):
    """Trains the network in place.

    The average network starts as a copy. The statistics of observation scaling are part of both and stay fixed.
    """

    def __init__(self, network: ActorCritic, settings: AcerSettings, device: torch.device) -> None:
        super().__init__(network, settings, device)
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.bounds: tuple[float, float] | None = None
        """Range that bootstrap values are clipped to, in scaled rewards; None: not clipped."""
        self.tolerance = 1.0
        """Returns of demonstrations that fall short of V by this are not imitated; in unscaled rewards."""
        self._dense, self._dense_average = map(self._layers, (self.network, self.average))
        self._averages: list[Tensor] = list(self.average.parameters())
        self._parameters: list[Tensor] = list(self.network.parameters())
        self._below_q = [one for name, one in self.network.named_parameters() if not name.startswith("q_head.")]
        self._optimiser = RMSprop(self._parameters, settings.learning_rate, settings.decay, settings.epsilon)

    @property
    def parts(self) -> dict[str, Part]:
        return {"network": self.network, "average": self.average, "optimiser": self._optimiser}

    def clip_bootstrap(self, returns: tuple[float, float] | None) -> None:
        """Clip bootstrap values to the range of these returns of unscaled rewards."""
        scale = self.settings.reward_scale
        self.bounds = None
        if returns is not None and self.settings.bound_values:
            self.bounds = returns[0] * scale, returns[1] * scale

    def probabilities(self, observations: Observations) -> NDArray[np.float32]:
        """The current π(·|s), float32 [n, A], of observations [n, *shape]."""
        with torch.inference_mode():
            logits, _ = self.network(self._rows(observations))
            return torch.softmax(logits, dim=-1).cpu().numpy()

    @torch.enable_grad()
    def update(self, batch: Sequences, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        """Take one optimiser step on the batch.

        `critic_only` updates only the Q head, so the policy does not change. `imitation` is the weight of the
        cross-entropy with the demonstrator's policy.
        """
        n, k = batch.actions.shape
        tensors = self._played(batch)
        # Rows in the order of steps, so those of the last observations, without gradient, are the last ones.
        inputs = self.network.trunk_input(self._tensor(batch.observations).transpose(0, 1).flatten(0, 1).flatten(1))

        def average(step: Tensor, sequence: Tensor) -> Tensor:
            heads = self._without_gradient(self.average, self._dense_average, inputs[step * n + sequence])
            return torch.softmax(heads.chunk(2, -1)[0], -1)

        dense = self._dense
        outputs = self._forward(self.network, inputs) if dense is None else dense.outputs(inputs)[0]
        logits, q = outputs.unflatten(0, (k + 1, n)).chunk(2, -1)
        steps = self._steps(torch.softmax(logits.detach(), -1), q.detach(), tensors, now.gamma)
        loss = self.loss(logits[:-1], q[:-1], steps, tensors, average, now)
        fixed = self._below_q if now.critic_only else ()
        norm = set_gradients(loss, self._parameters, self.settings.max_gradient_norm, dense, n * k, fixed)
        stats = self._stats(batch, tensors, steps, norm, now) if diagnose else None
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
        self._optimiser.step()
        move_towards(self._averages, self._parameters, 1.0 - self.settings.alpha)
        return stats

    def loss(
        self, logits: Tensor, q: Tensor, steps: Steps, played: Played, average: AveragePolicy, now: PhaseValues
    ) -> Tensor:
        """The mean over all steps, to be minimised, of

            c_Q·½(Qret − Q(s, a))² − z*·logits − imitation·w·Σ_a p(a|s)·log π(a|s),

        z* the gradient of the actor's gain within the trust region, the last term for demonstrations. With
        `critic_only`, the critic's term alone. With `achieved_returns`, demonstrations have no z*, and their targets
        are the returns where known.

        logits, q: [k, n, A]. steps: those that the trust region limits are marked. average: called only for states
        that it may limit.
        """
        settings = self.settings
        q_taken = q.gather(-1, played.actions.unsqueeze(-1)).squeeze(-1)
        loss = acer.CRITIC * acer.critic_loss(q_taken, steps.q_ret)
        if now.critic_only:
            return loss
        z = self._limited_gradient(q.detach(), steps, played, average, now.entropy * settings.entropy_coefficient)
        if settings.achieved_returns:
            z = z.masked_fill(played.demonstrated.unsqueeze(-1), 0.0)
        loss = loss - (z * logits).sum() / steps.rho.numel()
        if now.imitation and played.player is not None:
            weights = now.imitation * played.demonstrated.to(q.dtype)
            if settings.achieved_returns and played.achieved is not None:
                returns, mask = played.achieved
                w = acer.imitation_weight(returns, steps.values, self.tolerance * settings.reward_scale)
                weights = weights * torch.where(mask, w, 1.0)
            loss = loss + acer.imitation_loss(logits, played.player, weights)
        return loss

    @torch.no_grad()
    def _steps(self, pi: Tensor, q: Tensor, tensors: Played, gamma: float) -> Steps:
        """Numbers of every step, of π and Q of all actions, [k + 1, n, A]."""
        low, high = (-math.inf, math.inf) if self.bounds is None else self.bounds
        index = tensors.actions.unsqueeze(-1)
        exact = (pi * q).sum(-1)
        values = exact.clamp(low, high)
        outside = (exact != values)[:-1]
        pi, q_taken = pi[:-1], q[:-1].gather(-1, index).squeeze(-1)
        rho = acer.importance_weights(pi.gather(-1, index), tensors.mu.gather(-1, index)).squeeze(-1)
        q_ret = acer.retrace(
            tensors.rewards, tensors.terminated, tensors.truncated, q_taken, values,
            tensors.final_values.clamp(low, high), rho, gamma,
        )  # fmt: skip
        if self.settings.achieved_returns and tensors.achieved is not None:
            returns, mask = tensors.achieved
            q_ret = torch.where(mask, returns, q_ret)
        return Steps(pi, rho, q_taken, q_ret.clamp(low, high), values[:-1], outside, torch.zeros_like(outside))

    @torch.no_grad()
    def _limited_gradient(
        self, q: Tensor, steps: Steps, tensors: Played, average: AveragePolicy, entropy_weight: float
    ) -> Tensor:
        """z*, [k, n, A], of Q of all actions; marks the steps that are limited."""
        settings, pi = self.settings, steps.pi
        g = acer.policy_gradient(
            pi, tensors.mu, tensors.actions, q, steps.values, steps.q_ret, acer.TRUNCATION, entropy_weight
        )
        reached = acer.within_reach(g, settings.delta).nonzero(as_tuple=True)
        if len(reached[0]):
            g[reached], steps.limited[reached] = acer.to_trust_region(
                g[reached], pi[reached], average(*reached), settings.delta
            )
        return g

    @torch.no_grad()
    def fit_values(self, played: Sequences, gamma: float) -> None:
        """Set the Q head to V of the current policy, the same for every action, estimated from its own live play.

        An untrained critic would degrade a good policy before it has learned that policy's values. The hidden layers
        and the policy stay bit-identical.
        """
        n, k = played.actions.shape
        features = self._features(played.observations).view(n, k + 1, -1)
        following = features[:, 1:].clone()
        following[self._tensor(played.terminated)] = 0.0
        if len(played.finals.observations):
            stopped = self._tensor(played.finals.sequence), self._tensor(played.finals.step)
            following[stopped] = self._features(played.finals.observations)
        rewards = self._tensor(played.rewards) * self.settings.reward_scale
        w = acer.lstd(features[:, :-1].flatten(0, 1), following.flatten(0, 1), rewards.flatten(), gamma)
        for network in (self.network, self.average):
            network.q_head.weight.copy_(w[:-1].expand_as(network.q_head.weight))
            network.q_head.bias.fill_(float(w[-1]))

    def _played(self, batch: Sequences) -> Played:
        kind, scale = self.network.q_head.weight.dtype, self.settings.reward_scale

        def by_step(array: NDArray[np.generic]) -> Tensor:
            return self._tensor(array).transpose(0, 1)

        achieved = None
        if batch.known is not None and batch.returns is not None:
            achieved = by_step(batch.returns).to(kind) * scale, by_step(batch.known)
        return Played(
            by_step(batch.actions),
            by_step(batch.rewards).to(kind) * scale,
            by_step(batch.terminated),
            by_step(batch.truncated),
            by_step(batch.behaviour_probabilities).to(kind),
            # Before the outputs, which hold until the next ones.
            final_values(batch, self._value, self._device).t(),
            self._tensor(batch.source == DEMONSTRATIONS),
            None if batch.player is None else by_step(batch.player).to(kind),
            achieved,
        )

    @torch.no_grad()
    def _stats(self, batch: Sequences, tensors: Played, steps: Steps, norm: Tensor, now: PhaseValues) -> UpdateStats:
        """Statistics of an update, before its step. Of demonstrations also V of their states, the return achieved from
        there (scaled), and −log π of their actions."""
        pi, rho = steps.pi, steps.rho
        scalars = {
            "q_error": (steps.q_ret - steps.q_taken).square().mean().sqrt(),
            "value": steps.values.mean(),
            "entropy": -(pi * (pi + acer.EPSILON).log()).sum(-1).mean(),
            "gradient_norm": norm,
        }
        if self.bounds is not None:
            scalars["values_outside"] = steps.outside.float().mean()
        if not now.critic_only:
            scalars["trust_region_active"] = steps.limited.float().mean()
        by_source = means_by_source(
            batch.source,
            importance_weight=rho.t().cpu(),
            truncated_share=(rho > acer.TRUNCATION).float().t().cpu(),
        )
        if (demonstrations := by_source.get("demonstrations")) is not None:
            mine, index = tensors.demonstrated, tensors.actions.unsqueeze(-1)
            demonstrations["nats"] = float(-(pi.gather(-1, index)[:, mine] + acer.EPSILON).log().mean())
            if tensors.achieved is not None and tensors.achieved[1].any():
                returns, mask = tensors.achieved
                demonstrations |= {"value": float(steps.values[mask].mean()), "achieved": float(returns[mask].mean())}
        return UpdateStats({name: float(value) for name, value in scalars.items()}, by_source)

    def _layers(self, network: ActorCritic) -> LeafGradients | None:
        """The trunk and both heads, side by side, as dense layers; None with convolutions."""
        low = self.settings.precision == "bfloat16"
        dense = DenseLayers.of([*network.trunk, network.policy_head], low, network.q_head)
        return None if dense is None else LeafGradients([dense])

    def _forward(self, network: ActorCritic, inputs: Tensor) -> Tensor:
        """Policy logits and Q values, [rows, 2A], of the trunk's inputs; the heads in float32 whatever the precision
        of the trunk."""
        with autocast(self.settings.precision, self._device):
            features = network.trunk(inputs).to(network.policy_head.weight.dtype)
        return torch.cat([network.policy_head(features), network.q_head(features)], dim=-1)

    @torch.no_grad()
    def _without_gradient(self, network: ActorCritic, dense: LeafGradients | None, inputs: Tensor) -> Tensor:
        return self._forward(network, inputs) if dense is None else dense.without_gradient(inputs)

    def _rows(self, observations: Observations) -> Tensor:
        return torch.from_numpy(observations.reshape(-1, self.network.observation_size)).to(self._device)

    def _features(self, observations: Observations) -> Tensor:
        """Inputs of the heads, with a 1 for the bias: [rows, width + 1]."""
        features = self.network.features(self._rows(observations))
        return torch.cat([features, torch.ones_like(features[:, :1])], dim=1)

    def _value(self, observations: Tensor) -> Tensor:
        """V(s) = Σ_a π(a|s) Q(s, a), [rows]."""
        heads = self._without_gradient(self.network, self._dense, self.network.trunk_input(observations))
        logits, q = heads.t().chunk(2)
        return (torch.softmax(logits, dim=0) * q).sum(0)

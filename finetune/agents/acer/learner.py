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
from ....policies.dense_layers import DenseLayers
from ....policies.devices import undisturbed
from ....policies.leaf_gradients import LeafGradients
from ....policies.networks import ActorCritic
from ...experience.sequences import DEMONSTRATIONS, Sequences
from ...metrics import UpdateStats, means_by_source
from ...schedules.phase import PhaseValues
from ..learner import Learner, Part, autocast
from ..losses import final_values
from ..optimisers import FusedRMSprop, clip, update_average
from . import losses as acer
from .losses import EPSILON, trace_lengths
from .returns import lstd
from .settings import AcerSettings

AveragePolicy = Callable[[Tensor, Tensor], Tensor]
"""π_avg, [m, A], of m states: step t of sequence i, by tensors of i and t, int64 [m]."""


class Played(NamedTuple):
    """A batch of n sequences of k steps as tensors, rewards and returns scaled.

    mu, player: [n, k, A]; demonstrated, True for demonstrations: [n, 1]; the others: [n, k]. achieved: returns of
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
    """Numbers of every step, [n, k]: ρ and Q of the action taken, its target, V; outside: True where V was clipped;
    limited: True where the trust region shortened the policy's gradient."""

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
        low = settings.precision == "bfloat16"
        self._dense, self._dense_average = (
            LeafGradients.of(DenseLayers.of([*one.trunk, one.policy_head], low, one.q_head))
            for one in (self.network, self.average)
        )
        self._averages: list[Tensor] = list(self.average.parameters())
        self._parameters: list[Tensor] = list(self.network.parameters())
        self._below_q = [one for name, one in self.network.named_parameters() if not name.startswith("q_head.")]
        self._below_q_size = sum(one.numel() for one in self._below_q)
        self._optimiser = FusedRMSprop(self._parameters, settings.learning_rate, settings.decay, settings.epsilon)

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
        rows = observations.reshape(-1, self.network.observation_size)
        with torch.inference_mode():
            logits, _ = self.network(torch.from_numpy(rows).to(self._device))
            return torch.softmax(logits, dim=-1).cpu().numpy()

    def values(self, observations: Observations) -> NDArray[np.float32]:
        """V(s) in unscaled rewards, float32 [n], of n observations [..., *shape]."""
        rows = observations.reshape(-1, self.network.observation_size)
        with torch.inference_mode():
            values = self._value(torch.from_numpy(rows).to(self._device))
            return (values / self.settings.reward_scale).cpu().numpy()

    def update(self, batch: Sequences, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        """Take one optimiser step on the batch.

        `critic_only` updates only the Q head, so the policy does not change. `imitation` is the weight of the
        cross-entropy with the demonstrator's policy.
        """
        n, k = batch.actions.shape
        played = self._played(batch)
        # Rows in the order of steps, so that rows of equal steps are read together.
        inputs = self.network.trunk_input(self._tensor(batch.observations).transpose(0, 1).flatten(0, 1).flatten(1))

        def average(sequence: Tensor, step: Tensor) -> Tensor:
            return self._average_policy(inputs[step * n + sequence])

        with torch.enable_grad():
            outputs = self._outputs(self.network, self._dense, inputs, learned=True)
            logits, q = outputs.t().reshape(2, -1, k + 1, n).permute(0, 3, 2, 1).unbind()
            if diagnose:
                logits.retain_grad()
            loss, steps = self.loss(logits, q, played, average, now)
            norm = self._set_gradients(loss, now.critic_only)
        stats = self._stats(batch, played, logits, steps, norm, average, now) if diagnose else None
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
        self._optimiser.step()
        update_average(self._averages, self._parameters, self.settings.alpha)
        return stats

    def loss(
        self, logits: Tensor, q: Tensor, played: Played, average: AveragePolicy, now: PhaseValues
    ) -> tuple[Tensor, Steps]:
        """The mean over all steps, to be minimised, of

            c_Q·½(Qret − Q(s, a))² − z*·logits − imitation·w·Σ_a p(a|s)·log π(a|s),

        z* the gradient of the actor's gain within the trust region, the last term for demonstrations. With
        `critic_only`, the critic's term alone. With `achieved_returns`, demonstrations have no z*, and their targets
        are the returns where known.

        logits, q: [n, k + 1, A]. average: called only for states that the trust region may limit.
        """
        settings = self.settings
        steps = self._steps(torch.softmax(logits.detach(), -1), q.detach(), played, now.gamma)
        logits, q = logits[:, :-1], q[:, :-1]
        q_taken = q.gather(-1, played.actions.unsqueeze(-1)).squeeze(-1)
        loss = settings.q_coefficient * acer.critic_loss(q_taken, steps.q_ret)
        if now.critic_only:
            return loss, steps
        entropy_weight = now.entropy * settings.entropy_coefficient
        free = logits.detach().requires_grad_()
        gain = acer.gain(
            free, played.mu, played.actions, q.detach(), steps.values, steps.q_ret, settings.truncation, entropy_weight
        )
        (g,) = torch.autograd.grad(gain.sum(), free)
        reached = acer.within_reach(g, settings.delta).nonzero(as_tuple=True)
        if len(reached[0]):
            pi = torch.softmax(free.detach()[reached], -1)
            g[reached], steps.limited[reached] = acer.to_trust_region(g[reached], pi, average(*reached), settings.delta)
        if settings.achieved_returns:
            g = g.masked_fill(played.demonstrated.unsqueeze(-1), 0.0)
        loss = loss - (g * logits).sum(-1).mean()
        if now.imitation and played.player is not None:
            weights = now.imitation * played.demonstrated.to(q.dtype)
            if settings.achieved_returns and played.achieved is not None:
                returns, known = played.achieved
                w = acer.imitation_weight(returns, steps.values, self.tolerance * settings.reward_scale)
                weights = weights * torch.where(known, w, 1.0)
            loss = loss + acer.imitation_loss(logits, played.player, weights)
        return loss, steps

    @torch.no_grad()
    def _steps(self, pi: Tensor, q: Tensor, played: Played, gamma: float) -> Steps:
        """ρ, Q, its targets and V, of π and Q of all actions, [n, k + 1, A]."""
        low, high = (-math.inf, math.inf) if self.bounds is None else self.bounds
        taken = played.actions.unsqueeze(-1)
        exact = (pi * q).sum(-1)
        values = exact.clamp(low, high)
        pi_taken, q_taken = pi[:, :-1].gather(-1, taken).squeeze(-1), q[:, :-1].gather(-1, taken).squeeze(-1)
        rho = acer.importance_weights(pi_taken, played.mu.gather(-1, taken).squeeze(-1))
        q_ret = acer.retrace(
            played.rewards, played.terminated, played.truncated, q_taken, values,
            played.final_values.clamp(low, high), rho, gamma,
        )  # fmt: skip
        if self.settings.achieved_returns and played.achieved is not None:
            returns, known = played.achieved
            q_ret = torch.where(known, returns, q_ret)
        outside = (exact != values)[:, :-1]
        return Steps(rho, q_taken, q_ret.clamp(low, high), values[:, :-1], outside, torch.zeros_like(outside))

    @undisturbed
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
        w = lstd(features[:, :-1].flatten(0, 1), following.flatten(0, 1), rewards.flatten(), gamma)
        for network in (self.network, self.average):
            network.q_head.weight.copy_(w[:-1].expand_as(network.q_head.weight))
            network.q_head.bias.fill_(float(w[-1]))

    def _played(self, batch: Sequences) -> Played:
        kind, scale = self.network.q_head.weight.dtype, self.settings.reward_scale
        achieved = None
        if batch.known is not None and batch.returns is not None:
            achieved = self._tensor(batch.returns).to(kind) * scale, self._tensor(batch.known)
        return Played(
            self._tensor(batch.actions),
            self._tensor(batch.rewards).to(kind) * scale,
            self._tensor(batch.terminated),
            self._tensor(batch.truncated),
            self._tensor(batch.behaviour_probabilities).to(kind),
            final_values(batch, self._value, self._device),  # before the outputs, which hold until the next
            self._tensor(batch.source == DEMONSTRATIONS).unsqueeze(-1),
            None if batch.player is None else self._tensor(batch.player).to(kind),
            achieved,
        )

    @torch.no_grad()
    def _average_policy(self, inputs: Tensor) -> Tensor:
        """π_avg, [rows, A], of the trunk's inputs."""
        return torch.softmax(self._outputs(self.average, self._dense_average, inputs).chunk(2, -1)[0], -1)

    def _set_gradients(self, loss: Tensor, critic_only: bool) -> Tensor:
        """Set the clipped gradients of the parameters; return their norm before."""
        longest = self.settings.max_gradient_norm
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        vector = None if self._dense is None else self._dense.backward()
        if critic_only:
            for parameter in self._below_q:
                parameter.grad = None
        if vector is None:
            return torch.nn.utils.clip_grad_norm_(self._parameters, longest)
        return clip(vector[self._below_q_size :] if critic_only else vector, longest)

    @torch.no_grad()
    def _stats(
        self,
        batch: Sequences,
        played: Played,
        logits: Tensor,
        steps: Steps,
        norm: Tensor,
        average: AveragePolicy,
        now: PhaseValues,
    ) -> UpdateStats:
        """Statistics of an update, before its step. logits: [n, k + 1, A], with their gradient."""
        pi = torch.softmax(logits[:, :-1], -1)
        scalars = {
            "q_error": (steps.q_ret - steps.q_taken).square().mean().sqrt(),
            "value": steps.values.mean(),
            "entropy": -(pi * (pi + EPSILON).log()).sum(-1).mean(),
            "gradient_norm": norm,
        }
        if self.bounds is not None:
            scalars["values_outside"] = steps.outside.float().mean()
        if not now.critic_only:
            pi_average = average(*torch.ones_like(played.terminated).nonzero(as_tuple=True)).view_as(pi)
            scalars["kl_to_average"] = (pi_average * ((pi_average + 1e-8) / (pi + 1e-8)).log()).sum(-1).mean()
            scalars["trust_region_active"] = steps.limited.float().mean()
        lengths = trace_lengths(steps.rho, played.terminated | played.truncated)
        by_source = means_by_source(
            batch.source,
            importance_weight=steps.rho.cpu(),
            truncated_share=(steps.rho > self.settings.truncation).float().cpu(),
            trace_length=lengths.cpu(),
        )
        if "demonstrations" in by_source:
            slopes = None if now.critic_only else logits.grad
            by_source["demonstrations"] |= self._of_demonstrations(played, pi, slopes, steps)
        return UpdateStats({name: float(value) for name, value in scalars.items()}, by_source)

    def _of_demonstrations(self, played: Played, pi: Tensor, slopes: Tensor | None, steps: Steps) -> dict[str, float]:
        """Statistics of the demonstrations in a batch: V of their states and the return achieved from there (scaled),
        −log π of their actions, and the share of these actions that the update makes less probable. slopes: the
        gradient of the logits, [n, k + 1, A]."""
        mine, taken = played.demonstrated.squeeze(-1), played.actions.unsqueeze(-1)
        figures = {"nats": -(pi.gather(-1, taken)[mine] + EPSILON).log().mean()}
        if played.achieved is not None:
            returns, known = played.achieved
            if known.any():
                figures |= {"value": steps.values[known].mean(), "achieved": returns[known].mean()}
        if slopes is not None:
            figures["pushed_down"] = (slopes[:, :-1].gather(-1, taken)[mine] > 0).float().mean()
        return {name: float(figure) for name, figure in figures.items()}

    def _outputs(
        self, network: ActorCritic, dense: LeafGradients | None, inputs: Tensor, learned: bool = False
    ) -> Tensor:
        """Policy logits and Q values, [rows, 2A], of the trunk's inputs; the heads in float32 whatever the precision
        of the trunk. learned: with gradient."""
        if dense is not None:
            return dense.outputs(inputs)[0] if learned else dense.without_gradient(inputs)
        with autocast(self.settings.precision, self._device):
            features = network.trunk(inputs).to(network.policy_head.weight.dtype)
        return torch.cat([network.policy_head(features), network.q_head(features)], dim=-1)

    def _features(self, observations: Observations) -> Tensor:
        """Inputs of the heads, with a 1 for the bias: [rows, width + 1]."""
        rows = self._tensor(observations).reshape(-1, self.network.observation_size)
        features = self.network.features(rows)
        return torch.cat([features, torch.ones_like(features[:, :1])], dim=1)

    @torch.no_grad()
    def _value(self, observations: Tensor) -> Tensor:
        """V(s) = Σ_a π(a|s) Q(s, a), [rows]."""
        inputs = self.network.trunk_input(observations)
        logits, q = self._outputs(self.network, self._dense, inputs).chunk(2, dim=-1)
        return (torch.softmax(logits, dim=-1) * q).sum(-1)

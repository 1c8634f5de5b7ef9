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
from ....policies.leaf_gradients import as_one_vector
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
        low = settings.precision == "bfloat16"
        self._dense, self._dense_average = (
            DenseLayers.of([*one.trunk, one.policy_head], low, one.q_head) for one in (self.network, self.average)
        )
        self._averages: list[Tensor] = list(self.average.parameters())
        self._parameters: list[Tensor] = list(self.network.parameters())
        self._gradient, self._gradients = as_one_vector(self._parameters)
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
        # Rows in the order of steps, so those of the last observations, without gradient, are the last ones.
        inputs = self.network.trunk_input(self._tensor(batch.observations).transpose(0, 1).flatten(0, 1).flatten(1))

        def average(step: Tensor, sequence: Tensor) -> Tensor:
            return self._average_policy(inputs[step * n + sequence])

        with torch.inference_mode(self._dense is not None), torch.set_grad_enabled(self._dense is None):
            outputs = self._outputs(self.network, self._dense, inputs)
        both = outputs.detach().clone().view(2, -1, k + 1, n).permute(0, 2, 3, 1)
        steps = self._steps(torch.softmax(both[0], -1), both[1], played, now.gamma)
        learned = both[:, :-1].requires_grad_()
        with torch.enable_grad():
            logits, q = learned.unbind()
            loss = self.loss(logits, q, steps, played, average, now)
            (slopes,) = torch.autograd.grad(loss, learned)
        norm = self._set_gradients(
            outputs[:, : n * k], slopes.permute(0, 3, 1, 2).reshape(len(outputs), -1), now.critic_only
        )
        stats = self._stats(batch, played, steps, slopes[0], norm, average, now) if diagnose else None
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
        self._optimiser.step()
        update_average(self._averages, self._parameters, self.settings.alpha)
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
                returns, known = played.achieved
                w = acer.imitation_weight(returns, steps.values, self.tolerance * settings.reward_scale)
                weights = weights * torch.where(known, w, 1.0)
            loss = loss + acer.imitation_loss(logits, played.player, weights)
        return loss

    @torch.no_grad()
    def _steps(self, pi: Tensor, q: Tensor, played: Played, gamma: float) -> Steps:
        """Numbers of every step, of π and Q of all actions, [k + 1, n, A]."""
        low, high = (-math.inf, math.inf) if self.bounds is None else self.bounds
        taken = played.actions.unsqueeze(-1)
        exact = (pi * q).sum(-1)
        values = exact.clamp(low, high)
        outside = (exact != values)[:-1]
        pi, q_taken = pi[:-1], q[:-1].gather(-1, taken).squeeze(-1)
        rho = acer.importance_weights(pi.gather(-1, taken), played.mu.gather(-1, taken)).squeeze(-1)
        q_ret = acer.retrace(
            played.rewards, played.terminated, played.truncated, q_taken, values,
            played.final_values.clamp(low, high), rho, gamma,
        )  # fmt: skip
        if self.settings.achieved_returns and played.achieved is not None:
            returns, known = played.achieved
            q_ret = torch.where(known, returns, q_ret)
        return Steps(pi, rho, q_taken, q_ret.clamp(low, high), values[:-1], outside, torch.zeros_like(outside))

    @torch.no_grad()
    def _limited_gradient(
        self, q: Tensor, steps: Steps, played: Played, average: AveragePolicy, entropy_weight: float
    ) -> Tensor:
        """z*, [k, n, A], of Q of all actions; marks the steps that are limited."""
        settings, pi = self.settings, steps.pi
        g = acer.policy_gradient(
            pi, played.mu, played.actions, q, steps.values, steps.q_ret, acer.TRUNCATION, entropy_weight
        )
        reached = acer.within_reach(g, settings.delta).nonzero(as_tuple=True)
        if len(reached[0]):
            g[reached], steps.limited[reached] = acer.to_trust_region(
                g[reached], pi[reached], average(*reached), settings.delta
            )
        return g

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

    def _average_policy(self, inputs: Tensor) -> Tensor:
        """π_avg, [rows, A], of the trunk's inputs."""
        with torch.inference_mode():
            return torch.softmax(self._outputs(self.average, self._dense_average, inputs).chunk(2)[0].t(), -1)

    def _set_gradients(self, outputs: Tensor, slopes: Tensor, critic_only: bool) -> Tensor:
        """Set the clipped gradients of the parameters from those of the first rows of the outputs; return the norm
        before they were clipped."""
        longest = self.settings.max_gradient_norm
        if self._dense is None:
            self._optimiser.zero_grad(set_to_none=True)
            outputs.backward(slopes)
        else:
            with torch.inference_mode():
                self._dense.backward(slopes, self._gradients)
            for parameter, one in zip(self._parameters, self._gradients, strict=True):
                parameter.grad = one
        if critic_only:
            for parameter in self._below_q:
                parameter.grad = None
        if self._dense is None:
            return torch.nn.utils.clip_grad_norm_(self._parameters, longest)
        return clip(self._gradient[self._below_q_size :] if critic_only else self._gradient, longest)

    @torch.no_grad()
    def _stats(
        self,
        batch: Sequences,
        played: Played,
        steps: Steps,
        slopes: Tensor,
        norm: Tensor,
        average: AveragePolicy,
        now: PhaseValues,
    ) -> UpdateStats:
        """Statistics of an update, before its step. slopes: the gradient of the logits, [k, n, A]."""
        pi = steps.pi
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
            importance_weight=steps.rho.t().cpu(),
            truncated_share=(steps.rho > acer.TRUNCATION).float().t().cpu(),
            trace_length=lengths.cpu(),
        )
        if "demonstrations" in by_source:
            by_source["demonstrations"] |= self._of_demonstrations(played, steps, None if now.critic_only else slopes)
        return UpdateStats({name: float(value) for name, value in scalars.items()}, by_source)

    def _of_demonstrations(self, played: Played, steps: Steps, slopes: Tensor | None) -> dict[str, float]:
        """Statistics of the demonstrations in a batch: V of their states and the return achieved from there (scaled),
        −log π of their actions, and the share of these actions that the update makes less probable."""
        mine, taken = played.demonstrated, played.actions.unsqueeze(-1)
        figures = {"nats": -(steps.pi.gather(-1, taken)[:, mine] + EPSILON).log().mean()}
        if played.achieved is not None:
            returns, known = played.achieved
            if known.any():
                figures |= {"value": steps.values[known].mean(), "achieved": returns[known].mean()}
        if slopes is not None:
            figures["pushed_down"] = (slopes.gather(-1, taken)[:, mine] > 0).float().mean()
        return {name: float(figure) for name, figure in figures.items()}

    def _outputs(self, network: ActorCritic, dense: DenseLayers | None, inputs: Tensor) -> Tensor:
        """Policy logits and Q values, [2A, rows], of the trunk's inputs; the heads in float32 whatever the precision
        of the trunk."""
        if dense is not None:
            return dense.forward(inputs)
        with autocast(self.settings.precision, self._device):
            features = network.trunk(inputs).to(network.policy_head.weight.dtype)
        return torch.cat([network.policy_head(features), network.q_head(features)], dim=-1).t()

    def _features(self, observations: Observations) -> Tensor:
        """Inputs of the heads, with a 1 for the bias: [rows, width + 1]."""
        rows = self._tensor(observations).reshape(-1, self.network.observation_size)
        features = self.network.features(rows)
        return torch.cat([features, torch.ones_like(features[:, :1])], dim=1)

    def _value(self, observations: Tensor) -> Tensor:
        """V(s) = Σ_a π(a|s) Q(s, a), [rows]."""
        with torch.inference_mode():
            logits, q = self._outputs(self.network, self._dense, self.network.trunk_input(observations)).chunk(2)
            return (torch.softmax(logits, dim=0) * q).sum(0)

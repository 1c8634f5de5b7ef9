"""The ACER learner: network, average network, optimiser, and one update on a batch of sequences."""

import copy
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....envs.spec import Observations
from ....policies.dense_layers import DenseLayers
from ....policies.networks import ActorCritic
from ...experience.sequences import DEMONSTRATIONS, Sequences
from ...metrics import UpdateStats, means_by_source
from ...schedules.phase import PhaseValues
from ..learner import Learner, Part, autocast
from ..losses import final_values
from ..optimisers import RMSpropTF
from . import losses as acer
from .returns import lstd
from .settings import AcerSettings


class _Targets(NamedTuple):
    """Constants of one update, without gradient: actions, rho, q_ret, q_taken, values, outside [n, k]; pi, mu and q:
    [n, k, A]. outside: True where the value was clipped to the bounds."""

    actions: Tensor
    pi: Tensor
    mu: Tensor
    q: Tensor
    q_taken: Tensor
    values: Tensor
    rho: Tensor
    q_ret: Tensor
    outside: Tensor


class _ActorStep(NamedTuple):
    """The gradient g of the actor's gain with respect to the logits, its projection z*, and π_avg: [n, k, A] each."""

    g: Tensor
    z: Tensor
    pi_average: Tensor


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
        self._gradients = [] if self._dense is None else [torch.zeros_like(one) for one in self._dense.parameters]
        self._parameters: list[Tensor] = list(self.network.parameters())
        self._averages: list[Tensor] = list(self.average.parameters())
        self._optimiser = RMSpropTF(self._parameters, settings.learning_rate, settings.decay, settings.epsilon)

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

    def update(self, batch: Sequences, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        """Take one optimiser step on the batch.

        `critic_only` updates only the Q head, so the policy does not change. `imitation` is the weight of the
        cross-entropy with the demonstrator's policy.
        """
        with torch.inference_mode(self._dense is not None):
            finals = final_values(batch, self._value, self._device)  # before the outputs, which hold until the next
            # Rows are in the order of steps, so that operations on a step find its numbers side by side.
            inputs = self.network.trunk_input(self._tensor(batch.observations).transpose(0, 1).flatten(0, 1).flatten(1))
            outputs = self._outputs(self.network, self._dense, inputs)
            gradient, targets, step = self._gradient(batch, outputs.detach(), inputs, finals, now)
            if self._dense is None:
                self._optimiser.zero_grad(set_to_none=True)
                outputs.backward(gradient)
            else:
                self._dense.backward(gradient, self._gradients)
                for parameter, one in zip(self._dense.parameters, self._gradients, strict=True):
                    parameter.grad = one
        if now.critic_only:
            for name, parameter in self.network.named_parameters():
                if not name.startswith("q_head."):
                    parameter.grad = None
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, self.settings.max_gradient_norm)
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
        self._optimiser.step()
        acer.update_average(self._averages, self._parameters, self.settings.alpha)
        if not diagnose:
            return None
        stats = self._stats(batch, targets, step, norm)
        if "demonstrations" in stats.by_source:
            stats.by_source["demonstrations"] |= self._demonstrated(batch, targets, step, now.imitation)
        return stats

    @torch.no_grad()
    def _gradient(
        self, batch: Sequences, outputs: Tensor, inputs: Tensor, finals: Tensor, now: PhaseValues
    ) -> tuple[Tensor, _Targets, _ActorStep | None]:
        """The gradient of the loss with respect to the outputs, [2A, rows], with its targets and the actor's step."""
        n, k = batch.actions.shape
        logits, q = outputs.view(2, -1, k + 1, n)
        probabilities = torch.softmax(logits, dim=0).transpose(0, 2)  # [n, k + 1, A]
        targets = self._targets(batch, probabilities, q.transpose(0, 2), finals, now.gamma)
        gradient = torch.zeros_like(outputs)
        to_logits, to_q = gradient.view(2, -1, k + 1, n).transpose(1, 3)[:, :, :-1]
        to_taken = self.settings.q_coefficient * acer.critic_gradient(targets.q_taken, targets.q_ret)
        to_q.scatter_(-1, targets.actions.unsqueeze(-1), to_taken.unsqueeze(-1))
        if now.critic_only:
            return gradient, targets, None
        step = self._actor_step(inputs[: n * k], targets, now.entropy)
        demonstrated = self._tensor(batch.source == DEMONSTRATIONS).unsqueeze(-1)
        z = step.z * ~demonstrated.unsqueeze(-1) if self.settings.achieved_returns else step.z
        to_logits.copy_(z).div_(-n * k)
        if now.imitation and batch.player is not None and bool(demonstrated.any()):
            weights = demonstrated * self._imitation_weights(batch, targets)
            player = self._tensor(batch.player)
            to_logits.add_(acer.imitation_gradient(targets.pi, player, weights), alpha=now.imitation)
        return gradient, targets, step

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

    def _targets(self, batch: Sequences, probabilities: Tensor, q: Tensor, finals: Tensor, gamma: float) -> _Targets:
        """Importance weights and Retrace targets of a batch; probabilities π and q [n, k + 1, A]."""
        actions, mu = self._by_step(batch.actions), self._by_step(batch.behaviour_probabilities)
        unbounded = (probabilities * q).sum(-1)
        values = self._bounded(unbounded)
        pi, q_now = probabilities[:, :-1], q[:, :-1]
        index = actions.unsqueeze(-1)
        rho = acer.importance_weights(pi, mu).gather(-1, index).squeeze(-1)
        q_taken = q_now.gather(-1, index).squeeze(-1)
        q_ret = acer.retrace(
            self._by_step(batch.rewards) * self.settings.reward_scale,
            self._by_step(batch.terminated),
            self._by_step(batch.truncated),
            q_taken,
            values,
            self._bounded(finals),
            rho,
            gamma,
        )
        if self.settings.achieved_returns and batch.returns is not None and batch.known is not None:
            q_ret = acer.achieved_targets(q_ret, self._returns(batch), self._tensor(batch.known))
        return _Targets(
            actions, pi, mu, q_now, q_taken, values[:, :-1], rho, self._bounded(q_ret), (values != unbounded)[:, :-1]
        )

    def _imitation_weights(self, batch: Sequences, targets: _Targets) -> Tensor:
        """Imitation weight of each step, [n, k]: 1, reduced where the demonstrator's return is known, learned from and
        below V."""
        ones = torch.ones_like(targets.values)
        if not self.settings.achieved_returns or batch.known is None:
            return ones
        tolerance = self.tolerance * self.settings.reward_scale
        weights = acer.imitation_weights(self._returns(batch), targets.values, tolerance)
        return torch.where(self._tensor(batch.known), weights, ones)

    def _returns(self, batch: Sequences) -> Tensor:
        """The achieved returns of demonstrated steps [n, k], in scaled rewards."""
        assert batch.returns is not None
        return self._tensor(batch.returns) * self.settings.reward_scale

    def _actor_step(self, inputs: Tensor, targets: _Targets, entropy: float) -> _ActorStep:
        """The policy gradient where the trunk's inputs are [k·n, size], before and after its projection on the trust
        region."""
        pi = targets.pi
        n, k, actions = pi.shape
        average_logits = self._outputs(self.average, self._dense_average, inputs)[:actions]
        pi_average = torch.softmax(average_logits, dim=0).view(actions, k, n).transpose(0, 2)
        g = acer.policy_gradient(
            pi, targets.mu, targets.actions, targets.q, targets.values, targets.q_ret, self.settings.truncation
        )
        weight = entropy * self.settings.entropy_coefficient
        g = acer.logit_gradient(pi, g + weight * acer.entropy_gradient(pi))
        direction = acer.kl_gradient(pi, pi_average)
        return _ActorStep(g, acer.trust_region(g, direction, self.settings.delta), pi_average)

    @torch.no_grad()
    def _stats(self, batch: Sequences, targets: _Targets, step: _ActorStep | None, norm: Tensor) -> UpdateStats:
        pi = targets.pi
        scalars = {
            "q_error": (targets.q_ret - targets.q_taken).square().mean().sqrt(),
            "value": targets.values.mean(),
            "entropy": -(pi * torch.log(pi + acer.EPSILON)).sum(-1).mean(),
            "gradient_norm": norm,
        }
        if self.bounds is not None:
            scalars["values_outside"] = targets.outside.float().mean()
        if step is not None:
            log_ratio = torch.log((step.pi_average + 1e-8) / (pi + 1e-8))
            scalars["kl_to_average"] = (step.pi_average * log_ratio).sum(-1).mean()
            scalars["trust_region_active"] = (step.z != step.g).any(-1).float().mean()
        lengths = acer.trace_lengths(targets.rho, self._by_step(batch.terminated | batch.truncated))
        by_source = means_by_source(
            batch.source,
            importance_weight=targets.rho.cpu(),
            truncated_share=(targets.rho > self.settings.truncation).float().cpu(),
            trace_length=lengths.cpu(),
        )
        return UpdateStats({name: float(value) for name, value in scalars.items()}, by_source)

    @torch.no_grad()
    def _demonstrated(
        self, batch: Sequences, targets: _Targets, step: _ActorStep | None, imitation: float
    ) -> dict[str, float]:
        """Statistics of the demonstrations in a batch: V of their states and the return achieved from there (scaled),
        −log π of their actions, and the share of these actions that the update makes less probable."""
        mine = self._tensor(batch.source == DEMONSTRATIONS)
        index = targets.actions.unsqueeze(-1)
        figures = {"nats": -torch.log(targets.pi.gather(-1, index).squeeze(-1) + acer.EPSILON)[mine].mean()}
        if batch.known is not None and bool((known := self._tensor(batch.known)).any()):
            figures |= {"value": targets.values[known].mean(), "achieved": self._returns(batch)[known].mean()}
        if step is not None:
            push = torch.zeros_like(targets.pi) if self.settings.achieved_returns else step.z
            if imitation and batch.player is not None:
                weights = self._imitation_weights(batch, targets).unsqueeze(-1)
                push = push + imitation * weights * (self._tensor(batch.player) - targets.pi)
            figures["pushed_down"] = (push.gather(-1, index).squeeze(-1) < 0)[mine].float().mean()
        return {name: float(figure) for name, figure in figures.items()}

    def _bounded(self, values: Tensor) -> Tensor:
        return values if self.bounds is None else values.clamp(*self.bounds)

    def _by_step(self, array: NDArray[np.generic]) -> Tensor:
        """An array [n, k, ...] as a tensor whose memory is in the order of the outputs'."""
        last = array.ndim - 1
        return self._tensor(array).transpose(0, last).contiguous().transpose(0, last) if last else self._tensor(array)

    def _outputs(self, network: ActorCritic, dense: DenseLayers | None, inputs: Tensor) -> Tensor:
        """Policy logits and Q values, [2A, rows], of the trunk's inputs; the heads in float32 whatever the precision
        of the trunk."""
        if dense is not None:
            return dense.forward(inputs)
        with autocast(self.settings.precision, self._device):
            features = network.trunk(inputs).float()
        return torch.cat([network.policy_head(features), network.q_head(features)], dim=-1).t()

    def _features(self, observations: Observations) -> Tensor:
        """Inputs of the heads, with a 1 for the bias: [rows, width + 1]."""
        rows = self._tensor(observations).reshape(-1, self.network.observation_size)
        features = self.network.features(rows)
        return torch.cat([features, torch.ones_like(features[:, :1])], dim=1)

    @torch.no_grad()
    def _value(self, observations: Tensor) -> Tensor:
        """V(s) = Σ_a π(a|s) Q(s, a), [rows]."""
        logits, q = self._outputs(self.network, self._dense, self.network.trunk_input(observations)).chunk(2)
        return (torch.softmax(logits, dim=0) * q).sum(0)

"""The ACER learner: network, average network, optimiser, and one update on a batch of sequences."""

import copy

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
from .gradients import Array, Steps, loss_gradient
from .losses import EPSILON, trace_lengths
from .returns import lstd
from .settings import AcerSettings


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
        with torch.inference_mode(self._dense is not None):
            finals = final_values(batch, self._value, self._device)  # before the outputs, which hold until the next
            # Rows are in the order of steps, so those of the last observations, without gradient, are the last ones.
            inputs = self.network.trunk_input(self._tensor(batch.observations).transpose(0, 1).flatten(0, 1).flatten(1))
            outputs = self._outputs(self.network, self._dense, inputs)
            logits, values = outputs.detach().chunk(2)
            pi, q = (_on_cpu(one).reshape(-1, k + 1, n) for one in (torch.softmax(logits, dim=0), values))
            averages = self._average_policy(inputs[: n * k]) if diagnose else None

            def average(states: NDArray[np.int64]) -> Array:
                return self._average_policy(inputs[states]) if averages is None else averages.take(states, axis=1)

            gradient, steps = loss_gradient(
                batch, pi, q, average, _on_cpu(finals), self.bounds,
                self.tolerance * self.settings.reward_scale, self.settings, now,
            )  # fmt: skip
            norm = self._set_gradients(
                outputs[:, : n * k], self._tensor(gradient).view(2 * len(pi), -1), now.critic_only
            )
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
        self._optimiser.step()
        update_average(self._averages, self._parameters, self.settings.alpha)
        if averages is None:
            return None
        return self._stats(batch, pi[:, :-1], None if now.critic_only else averages.reshape(-1, k, n), steps, norm)

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

    @torch.no_grad()
    def _average_policy(self, inputs: Tensor) -> Array:
        """π_avg, [A, rows], of the trunk's inputs."""
        logits, _ = self._outputs(self.average, self._dense_average, inputs).chunk(2)
        return _on_cpu(torch.softmax(logits, dim=0))

    def _set_gradients(self, outputs: Tensor, gradient: Tensor, critic_only: bool) -> Tensor:
        """Set the clipped gradients of the parameters from that with respect to the first rows of the outputs; return
        the norm before they were clipped."""
        longest = self.settings.max_gradient_norm
        if self._dense is None:
            self._optimiser.zero_grad(set_to_none=True)
            outputs.backward(gradient)
        else:
            self._dense.backward(gradient, self._gradients)
            for parameter, one in zip(self._parameters, self._gradients, strict=True):
                parameter.grad = one
        if critic_only:
            for parameter in self._below_q:
                parameter.grad = None
        if self._dense is None:
            return torch.nn.utils.clip_grad_norm_(self._parameters, longest)
        return clip(self._gradient[self._below_q_size :] if critic_only else self._gradient, longest)

    def _stats(self, batch: Sequences, pi: Array, pi_average: Array | None, steps: Steps, norm: Tensor) -> UpdateStats:
        """Statistics of an update; pi, pi_average: [A, k, n], the latter None if the actor did not learn."""
        scalars = {
            "q_error": np.sqrt(np.square(steps.q_ret - steps.q_taken).mean()),
            "value": steps.values.mean(),
            "entropy": -(pi * np.log(pi + EPSILON)).sum(0).mean(),
            "gradient_norm": norm,
        }
        if self.bounds is not None:
            scalars["values_outside"] = steps.outside.mean()
        if pi_average is not None:
            scalars["kl_to_average"] = (pi_average * np.log((pi_average + 1e-8) / (pi + 1e-8))).sum(0).mean()
            scalars["trust_region_active"] = steps.limited.mean()
        by_source = means_by_source(
            batch.source,
            importance_weight=steps.rho,
            truncated_share=steps.rho > self.settings.truncation,
            trace_length=trace_lengths(steps.rho, batch.terminated | batch.truncated),
        )
        if "demonstrations" in by_source:
            by_source["demonstrations"] |= self._demonstrated(batch, pi, pi_average is not None, steps)
        return UpdateStats({name: float(value) for name, value in scalars.items()}, by_source)

    def _demonstrated(self, batch: Sequences, pi: Array, acts: bool, steps: Steps) -> dict[str, float]:
        """Statistics of the demonstrations in a batch: V of their states and the return achieved from there (scaled),
        −log π of their actions, and the share of these actions that the update makes less probable."""
        mine = batch.source == DEMONSTRATIONS
        taken = np.take_along_axis(pi.T, batch.actions[..., np.newaxis], axis=-1).squeeze(-1)
        figures = {"nats": -np.log(taken + EPSILON)[mine].mean()}
        if batch.known is not None and batch.returns is not None and batch.known.any():
            achieved = batch.returns[batch.known].mean() * self.settings.reward_scale
            figures |= {"value": steps.values[batch.known].mean(), "achieved": achieved}
        if acts:
            figures["pushed_down"] = (steps.to_action > 0)[mine].mean()
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

    @torch.no_grad()
    def _value(self, observations: Tensor) -> Tensor:
        """V(s) = Σ_a π(a|s) Q(s, a), [rows]."""
        logits, q = self._outputs(self.network, self._dense, self.network.trunk_input(observations)).chunk(2)
        return (torch.softmax(logits, dim=0) * q).sum(0)


def _on_cpu(tensor: Tensor) -> Array:
    array: Array = tensor.contiguous().cpu().numpy()
    return array

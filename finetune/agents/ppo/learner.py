"""The PPO learner: policy, value network, optimiser, and one update on the newest live play."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.cuda_graphs import CudaGraphs
from ....policies.dense_layers import DenseLayers
from ....policies.leaf_gradients import LeafGradients
from ....policies.networks import Actor, ActorCritic, ValuedActor, Values, bounded
from ....pretrain.cloning import cloning_loss
from ....pretrain.rows import Rows
from ...experience.sequences import Sequences
from ...metrics import UpdateStats
from ...schedules.phase import PhaseValues
from ..learner import LiveLearner, Part, autocast
from ..losses import final_values, kickstarting_loss
from ..optimisers import FusedAdam, clip
from ..running_scale import RunningScale
from . import losses as ppo
from .minibatch import Demonstrated, Minibatch, StepStats
from .return_scale import ReturnScale
from .settings import PpoSettings

PATIENCE = 1.5
"""An update ends early once an epoch's KL is this many times `target_kl`, as in Spinning Up."""


class PpoLearner(LiveLearner[Actor | ActorCritic, PpoSettings]):
    """Trains the policy's network in place, and V(s) in a separate network or in the value head of a `ValuedActor`.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    What is learned is `loss`, differentiated by autograd; below the outputs of dense layers by `LeafGradients`.
    """

    def __init__(
        self,
        network: Actor | ActorCritic,
        values: Values | None,
        settings: PpoSettings,
        device: torch.device,
        shuffle: np.random.Generator,
        demonstrated: Rows | None = None,
    ) -> None:
        """values: None for a `ValuedActor`, and only for it. shuffle: generator of minibatches. demonstrated: decisions
        to imitate."""
        if isinstance(network, ValuedActor):
            assert values is None
            head = network.value_head
        else:
            assert values is not None
            head = values.head
        super().__init__(network, settings, device)
        self.values = None if values is None else values.to(device)
        self._shuffle, self._demonstrated = shuffle, demonstrated
        self._scale = RunningScale(network)
        self._return_scale = ReturnScale(head) if settings.scale_returns else None
        low = settings.precision == "bfloat16"
        self._dense = None
        if self.values is not None:
            critic = DenseLayers.of([*self.values.trunk, self.values.head], low)
            self._dense = LeafGradients.of(critic, self.network.dense_layers(low))
        self._graphs = CudaGraphs(self._of_tensors, self._parameters())
        self._optimiser = FusedAdam(self._parameters(), settings.learning_rate, settings.epsilon)

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        """Take up to `epochs` passes over the sequences. Decisions to imitate are sampled anew for each step."""
        played = self.settings.with_clipped_rewards(played)
        with self._scale.learning_from(played):
            with torch.no_grad():
                inputs = self.network.trunk_input(self._tensor(played.observations).flatten(2))
                values = self._value(inputs)
                estimates = ppo.advantages(
                    self._tensor(played.rewards),
                    self._tensor(played.terminated),
                    self._tensor(played.truncated),
                    values,
                    final_values(played, lambda seen: self._value(self.network.trunk_input(seen)), self._device),
                    now.gamma,
                    self.settings.gae_lambda,
                )
            returns = (estimates + values[:, :-1]).flatten()
            advantage = ((estimates - estimates.mean()) / (estimates.std() + 1e-8)).flatten()
            actions = self._tensor(played.actions).flatten()
            mu = self._tensor(played.behaviour_probabilities).flatten(0, 1)
            teacher = None
            if now.kickstarting and played.teacher is not None:
                teacher = self._tensor(played.teacher).flatten(0, 1)
            log_mu = mu.gather(-1, actions.unsqueeze(-1)).squeeze(-1).log()
            every = Minibatch(inputs[:, :-1].flatten(0, 1), actions, log_mu, advantage, returns, teacher)
            self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
            scale = self._return_scale
            with nullcontext(returns) if scale is None else scale.learning_from(returns) as targets:
                steps, epochs = self._passes(every._replace(returns=targets), now)
        scalars = self._summary(steps)
        error = (returns - values[:, :-1].flatten()).square().mean()
        scalars["value"] = float(values[:, :-1].mean())
        scalars["value_error"] = float(error.sqrt())
        scalars["explained_variance"] = 1.0 - float(error / returns.var().clamp_min(1e-12))
        return UpdateStats(scalars | {"epochs": float(epochs)}, {})

    @property
    def parts(self) -> dict[str, Part]:
        values = {} if self.values is None else {"values": self.values}
        scale = {} if self._return_scale is None else {"return_scale": self._return_scale}
        return {
            "network": self.network,
            **values,
            **scale,
            "optimiser": self._optimiser,
            "seen": self._scale,
            "shuffle": self._shuffle,
        }

    def _passes(self, every: Minibatch, now: PhaseValues) -> tuple[list[StepStats], int]:
        """Take up to `epochs` passes; return the results of all steps, and the number of passes."""
        steps: list[StepStats] = []
        epochs = 0
        for _ in range(self.settings.epochs):
            order = self._tensor(self._shuffle.permutation(len(every.actions)))
            found = [self._step(every.take(part), now) for part in torch.split(order, self.settings.minibatch)]
            steps += found
            epochs += 1
            kl = float(ppo.kl_estimate(torch.cat([one.log_ratio for one in found])))
            if kl > PATIENCE * self.settings.target_kl:
                break
        return steps, epochs

    def _step(self, batch: Minibatch, now: PhaseValues) -> StepStats:
        demonstrated = None
        if now.imitation and self._demonstrated is not None:
            size = self.settings.imitation_minibatch
            demonstrated = self._to_imitate(self._shuffle.integers(len(self._demonstrated), size=size))
        if self._device.type != "cuda":
            stats = self._set_gradients(batch, demonstrated, now)
        else:
            ramps = now.entropy, now.imitation, now.kickstarting
            weights = torch.tensor(ramps, dtype=self.network.policy_head.weight.dtype, device=self._device)
            stats = self._graphs(now.critic_only, weights, *batch, *(demonstrated or ()))
        self._optimiser.step()
        return stats

    def _of_tensors(self, critic_only: bool, weights: Tensor, *columns: Any) -> StepStats:
        """`_set_gradients` of tensors alone, for a graph.

        weights: of entropy, imitation and kickstarting, [3]. columns: of a minibatch, and of decisions to imitate."""
        own = len(Minibatch._fields)
        batch, shown = Minibatch._make(columns[:own]), columns[own:]
        named: dict[str, Any] = dict(zip(("entropy", "imitation", "kickstarting"), weights.unbind(), strict=True))
        now = PhaseValues(gamma=1.0, critic_only=critic_only, **named)
        return self._set_gradients(batch, Demonstrated._make(shown) if shown else None, now)

    def loss(
        self,
        batch: Minibatch,
        log_pi: Tensor,
        log_ratio: Tensor,
        entropy: Tensor,
        values: Tensor,
        demonstrated: Demonstrated | None,
        shown: Tensor | None,
        now: PhaseValues,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Equation 9 of Schulman et al. 2017, to be minimised:

            L = −mean min(ρÂ, clamp(ρ, 1 − ε, 1 + ε)Â) + c_V·mean (V − R)² − c_H·mean H

        plus imitation·L_BC of demonstrated decisions and kickstarting·H(π_T ‖ π). With `critic_only`, c_V's term alone.

        log_pi: log π(·|s) [m, A]. log_ratio, entropy, values: log ρ, H and V(s) [m]. shown: logits [m', A] of the
        demonstrated decisions. Also returns the losses of imitation and of a teacher, by name.
        """
        loss = self.settings.value_coefficient * ppo.value_loss(values, batch.returns)
        named: dict[str, Tensor] = {}
        if now.critic_only:
            return loss, named
        gain = ppo.clipped_surrogate(log_ratio.exp(), batch.advantage, self.settings.clip)
        weight = now.entropy * self.settings.entropy_coefficient
        loss = loss - (gain + weight * entropy).mean()  # the weight is a tensor in a CUDA graph
        if demonstrated is not None and shown is not None:
            probabilities = demonstrated.probabilities
            named["imitation_loss"] = cloning_loss(shown, demonstrated.actions, probabilities=probabilities)
            loss = loss + now.imitation * named["imitation_loss"]
        if batch.teacher is not None:
            named["kickstarting"] = kickstarting_loss(log_pi, batch.teacher)
            loss = loss + now.kickstarting * named["kickstarting"]
        return loss, named

    @torch.enable_grad()
    def _set_gradients(self, batch: Minibatch, demonstrated: Demonstrated | None, now: PhaseValues) -> StepStats:
        """Set the clipped gradients of a minibatch."""
        m, imitated = len(batch.actions), None if now.critic_only else demonstrated
        # Demonstrated decisions go through the layers behind the others.
        inputs = batch.inputs if imitated is None else torch.cat([batch.inputs, imitated.inputs])
        logits, values = self._outputs(inputs, batch.inputs, now.critic_only)
        shown = None
        if imitated is not None:
            logits, shown = logits.split([m, len(logits) - m])
        log_pi = torch.log_softmax(logits, dim=-1)
        log_ratio = log_pi.gather(-1, batch.actions.unsqueeze(-1)).squeeze(-1) - batch.log_mu
        entropy, longest = ppo.entropy(log_pi), self.settings.max_gradient_norm
        loss, named = self.loss(batch, log_pi, log_ratio, entropy, values, imitated, shown, now)
        if self._dense is not None:
            loss.backward()
            norm = clip(self._dense.backward(), longest)
        else:
            self._optimiser.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(self._parameters(), longest)
        losses = {name: one.detach() for name, one in named.items()}
        return StepStats(log_ratio.detach(), entropy.detach(), norm, losses)

    def _outputs(self, inputs: Tensor, own: Tensor, critic_only: bool) -> tuple[Tensor, Tensor]:
        """Logits of inputs of the trunk, and V(s) [m] of those of the batch's own steps, which come first."""
        if self._dense is not None:
            learned = 1 if critic_only else None
            values, logits = self._dense.outputs(bounded(own, self.network.observation), inputs, learned=learned)
            return logits, values.squeeze(-1)
        with torch.set_grad_enabled(not critic_only):
            features = self._features(inputs)
            logits = self.network.policy_head(features)
        return logits, self._value_of(features[: len(own)], own)

    @torch.no_grad()
    def _summary(self, steps: list[StepStats]) -> dict[str, float]:
        """Means over all steps of an update."""
        log_ratio = torch.cat([one.log_ratio for one in steps])
        means = {
            "entropy": torch.cat([one.entropy for one in steps]).mean(),
            "kl": ppo.kl_estimate(log_ratio),
            "clipped_share": ((log_ratio.exp() - 1.0).abs() > self.settings.clip).float().mean(),
            "gradient_norm": torch.stack([one.gradient_norm for one in steps]).mean(),
        }
        means |= {name: torch.stack([one.losses[name] for one in steps]).mean() for name in steps[0].losses}
        return {name: float(value) for name, value in means.items()}

    def _to_imitate(self, chosen: NDArray[np.int64]) -> Demonstrated:
        assert self._demonstrated is not None
        rows = self._demonstrated[chosen]
        inputs = self.network.trunk_input(self._tensor(rows.observations))
        probabilities = None if rows.probabilities is None else self._tensor(rows.probabilities)
        return Demonstrated(inputs, self._tensor(rows.actions), probabilities)

    def _features(self, inputs: Tensor) -> Tensor:
        """Inputs of the policy's heads, in the heads' precision, which may differ from that of the layers below."""
        with autocast(self.settings.precision, self._device):
            features: Tensor = self.network.trunk(inputs)
        return features.to(self.network.policy_head.weight.dtype)

    def _parameters(self) -> list[torch.nn.Parameter]:
        return [*self.network.parameters(), *(() if self.values is None else self.values.parameters())]

    @torch.no_grad()
    def _value(self, inputs: Tensor) -> Tensor:
        """V(s), [...], of inputs of the policy's trunk [..., size]."""
        if self._dense is not None:
            return self._dense.values(bounded(inputs, self.network.observation))
        return self._value_of(self._features(inputs) if self.values is None else inputs, inputs)

    def _value_of(self, features: Tensor, inputs: Tensor) -> Tensor:
        """V(s) by the head on the policy's features, or of inputs by the network of its own."""
        if self.values is None:
            assert isinstance(self.network, ValuedActor)
            shared: Tensor = self.network.value_head(features).squeeze(-1)
            return shared
        with autocast(self.settings.precision, self._device):
            own = self.values.features(inputs)
        values: Tensor = self.values.head(own.to(self.values.head.weight.dtype)).squeeze(-1)
        return values

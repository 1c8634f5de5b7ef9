"""The PPO learner: policy, value network, optimiser, and one update on the newest live play."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.cuda_graphs import CudaGraphs
from ....policies.networks import Actor, ActorCritic, ValuedActor, Values
from ....pretrain.cloning import cloning_loss
from ....pretrain.rows import Rows
from ...experience.sequences import Sequences
from ...metrics import UpdateStats
from ...schedules.phase import PhaseValues
from ..learner import LiveLearner, Part, autocast
from ..losses import final_values, kickstarting_loss
from ..optimisers import FusedAdam
from ..running_scale import RunningScale
from . import losses as ppo
from .dense_gradients import DenseGradients
from .minibatch import Demonstrated, Minibatch, StepStats
from .return_scale import ReturnScale
from .settings import PpoSettings

PATIENCE = 1.5
"""An update ends early once an epoch's KL is this many times `target_kl`, as in Spinning Up."""


class PpoLearner(LiveLearner[Actor | ActorCritic, PpoSettings]):
    """Trains the policy's network in place, and V(s) in a separate network or in the value head of a `ValuedActor`.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    Two networks share no weights, so each step computes the gradient of V in a thread parallel to the policy's. Dense
    layers get their gradients from `DenseGradients`, others from autograd.
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
        self._dense = DenseGradients.of(self.network, self.values, settings)
        self._graphs = CudaGraphs(self._of_tensors, self._parameters())
        self._optimiser = FusedAdam(self._parameters(), settings.learning_rate, settings.epsilon)
        # Otherwise MKL would start one thread per core from that thread.
        threads = (torch.get_num_threads(),)
        self._beside = ThreadPoolExecutor(1, "critic", initializer=torch.set_num_threads, initargs=threads)

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
        if self._dense is not None:
            stats = self._dense.step(batch, demonstrated, now, self._beside)
        else:
            ramps = now.entropy, now.imitation, now.kickstarting
            weights = torch.tensor(ramps, dtype=self.network.policy_head.weight.dtype, device=self._device)
            stats = self._graphs(now.critic_only, weights, *batch, *(demonstrated or ()))
        self._optimiser.step()
        return stats

    def _of_tensors(self, critic_only: bool, weights: Tensor, *columns: Any) -> StepStats:
        """`_autograd` of tensors alone, for a graph.

        weights: of entropy, imitation and kickstarting, [3]. columns: of a minibatch, and of decisions to imitate."""
        own = len(Minibatch._fields)
        batch, shown = Minibatch._make(columns[:own]), columns[own:]
        named: dict[str, Any] = dict(zip(("entropy", "imitation", "kickstarting"), weights.unbind(), strict=True))
        now = PhaseValues(gamma=1.0, critic_only=critic_only, **named)
        return self._autograd(batch, Demonstrated._make(shown) if shown else None, now)

    def _autograd(self, batch: Minibatch, demonstrated: Demonstrated | None, now: PhaseValues) -> StepStats:
        """`DenseGradients.step` for any network, by autograd."""
        self._optimiser.zero_grad(set_to_none=True)
        critic = None
        if self.values is not None and self._device.type == "cuda":  # a graph is recorded in one thread
            self._add_critic_gradient(self.values, batch)
        elif self.values is not None:
            critic = self._beside.submit(self._add_critic_gradient, self.values, batch)
        with torch.set_grad_enabled(not now.critic_only):
            features = self._features(batch.inputs)
            log_pi = torch.log_softmax(self.network.policy_head(features), dim=-1)
            log_ratio = log_pi.gather(-1, batch.actions.unsqueeze(-1)).squeeze(-1) - batch.log_mu
            bonus = ppo.entropy(log_pi)
        losses: list[Tensor] = []
        named: dict[str, Tensor] = {}
        if isinstance(self.network, ValuedActor):
            losses.append(self._critic_loss(self.network.value_head(features).squeeze(-1), batch.returns))
        if not now.critic_only:
            weight = now.entropy * self.settings.entropy_coefficient
            gain = ppo.clipped_surrogate(log_ratio.exp(), batch.advantage, self.settings.clip)
            losses.append(-gain.mean() - weight * bonus.mean())
            if demonstrated is not None:
                logits = self.network.policy_head(self._features(demonstrated.inputs))
                named["imitation_loss"] = cloning_loss(
                    logits, demonstrated.actions, probabilities=demonstrated.probabilities
                )
                losses.append(now.imitation * named["imitation_loss"])
            if batch.teacher is not None:
                named["kickstarting"] = kickstarting_loss(log_pi, batch.teacher)
                losses.append(now.kickstarting * named["kickstarting"])
        if losses:
            torch.stack(losses).sum().backward()
        if critic is not None:
            critic.result()
        norm = torch.nn.utils.clip_grad_norm_(self._parameters(), self.settings.max_gradient_norm)
        return StepStats(
            log_ratio.detach(), bonus.detach(), norm, {name: loss.detach() for name, loss in named.items()}
        )

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

    def _add_critic_gradient(self, critic: Values, batch: Minibatch) -> None:
        """Compute the gradient of the separate value network."""
        self._critic_loss(self._own_value(critic, batch.inputs), batch.returns).backward()

    def _critic_loss(self, values: Tensor, returns: Tensor) -> Tensor:
        return self.settings.value_coefficient * ppo.value_loss(values, returns)

    def _features(self, inputs: Tensor) -> Tensor:
        """Inputs of the policy's heads, in the heads' precision, which may differ from that of the layers below."""
        with autocast(self.settings.precision, self._device):
            features: Tensor = self.network.trunk(inputs)
        return features.to(self.network.policy_head.weight.dtype)

    def _parameters(self) -> list[torch.nn.Parameter]:
        return [*self.network.parameters(), *(() if self.values is None else self.values.parameters())]

    def _value(self, inputs: Tensor) -> Tensor:
        """V(s), [...], of inputs of the policy's trunk [..., size]."""
        if self._dense is not None:
            return self._dense.value(inputs)
        if self.values is not None:
            return self._own_value(self.values, inputs)
        assert isinstance(self.network, ValuedActor)
        values: Tensor = self.network.value_head(self._features(inputs)).squeeze(-1)
        return values

    def _own_value(self, critic: Values, inputs: Tensor) -> Tensor:
        with autocast(self.settings.precision, self._device):
            features = critic.features(inputs)
        values: Tensor = critic.head(features.to(critic.head.weight.dtype)).squeeze(-1)
        return values

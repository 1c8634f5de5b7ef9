"""The PPO learner: policy, value network, optimiser, and one update on the newest live play."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.networks import Actor, ActorCritic, ValuedActor, Values
from ....pretrain.cloning import cloning_loss
from ....pretrain.rows import Rows
from ...experience.sequences import Sequences
from ...metrics import Diagnosis
from ..bootstrap import final_values
from ..precision import autocast
from ..running_scale import RunningScale
from ..states import Parts, copied_states, load_states
from ..teaching import teaching_loss
from . import losses as ppo
from .settings import PpoSettings

PATIENCE = 1.5
"""An update ends early once an epoch's KL is this many times `target_kl`, as in Spinning Up."""


class PpoLearner:
    """Learns the policy's network in place, and V(s) in a network of its own, or by the value head of a `ValuedActor`.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    Two networks share no weight, so each step computes the gradient of V in a thread beside that of the policy.
    """

    def __init__(
        self, network: Actor | ActorCritic, values: Values | None, settings: PpoSettings, device: torch.device
    ) -> None:
        """values: None for a `ValuedActor`, and only for it."""
        if (values is None) != isinstance(network, ValuedActor):
            raise ValueError("a network of values is needed beside a policy without a value head, and only there")
        self.settings = self._given = settings
        self.network = network.to(device)
        self.values = None if values is None else values.to(device)
        self._device = device
        self._scale = RunningScale(network)
        self._optimiser = torch.optim.Adam(
            self._parameters(), lr=settings.learning_rate, eps=settings.epsilon, foreach=True
        )
        # MKL would otherwise give that thread as many threads as there are cores.
        threads = (torch.get_num_threads(),)
        self._beside = ThreadPoolExecutor(1, "critic", initializer=torch.set_num_threads, initargs=threads)

    def at_rate(self, decisions_per_second: float | None) -> None:
        """Keep the horizon in seconds in an environment with this decision rate."""
        self.settings = self._given.at_rate(decisions_per_second)

    def update(
        self,
        played: Sequences,
        shuffle: np.random.Generator,
        *,
        learning_rate: float = 1.0,
        entropy: float = 1.0,
        critic_only: bool = False,
        imitation: float = 0.0,
        teaching: float = 0.0,
        demonstrated: Rows | None = None,
    ) -> Diagnosis:
        """Take up to `epochs` passes over the sequences.

        learning_rate and entropy multiply those of the settings. critic_only learns only V. imitation is the weight of
        the cloning loss on random decisions of `demonstrated`, drawn anew for each step; teaching that of imitating the
        teacher that was asked during play.
        """
        n, k = played.actions.shape
        with self._scale.learning_from(played):
            rows = self._tensor(played.observations).flatten(2)
            with torch.no_grad():
                values = self._value(rows)
                estimates = ppo.advantages(
                    self._tensor(played.rewards),
                    self._tensor(played.terminated),
                    self._tensor(played.truncated),
                    values,
                    final_values(played, self._value, self._device),
                    self.settings.gamma,
                    self.settings.gae_lambda,
                )
            returns = (estimates + values[:, :-1]).flatten()
            advantage = ((estimates - estimates.mean()) / (estimates.std() + 1e-8)).flatten()
            observations, actions = rows[:, :-1].flatten(0, 1), self._tensor(played.actions).flatten()
            mu = self._tensor(played.behaviour_probabilities).flatten(0, 1)
            teacher = None
            if teaching and played.teacher is not None:
                teacher = self._tensor(played.teacher).flatten(0, 1)
            log_mu = mu.gather(-1, actions.unsqueeze(-1)).squeeze(-1).log()

            self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * learning_rate
            seen: list[dict[str, Tensor]] = []
            epochs = 0
            for _ in range(self.settings.epochs):
                epoch = []
                for part in self._minibatches(n * k, shuffle):
                    imitated = None
                    if imitation and demonstrated is not None:
                        chosen = shuffle.integers(len(demonstrated), size=self.settings.imitation_minibatch)
                        imitated = demonstrated[chosen]
                    numbers = self._step(
                        observations.index_select(0, part),  # rows as wholes, unlike observations[part]
                        actions[part],
                        log_mu[part],
                        advantage[part],
                        returns[part],
                        entropy * self.settings.entropy_coefficient,
                        critic_only,
                        imitation,
                        imitated,
                        teaching,
                        None if teacher is None else teacher[part],
                    )
                    epoch.append(numbers)
                seen += epoch
                epochs += 1
                if float(torch.stack([one["kl"] for one in epoch]).mean()) > PATIENCE * self.settings.target_kl:
                    break
        scalars = {name: float(torch.stack([one[name] for one in seen]).mean()) for name in seen[0]}
        error = (returns - values[:, :-1].flatten()).square().mean()
        scalars["value"] = float(values[:, :-1].mean())
        scalars["value_error"] = float(error.sqrt())
        scalars["explained_variance"] = 1.0 - float(error / returns.var().clamp_min(1e-12))
        return Diagnosis(scalars | {"epochs": float(epochs)}, {})

    def get_state(self) -> dict[str, Any]:
        """Copies of all weights, of the optimiser's memory, and of the statistics."""
        return copied_states(self._parts) | {"seen": self._scale.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        load_states(self._parts, state)
        self._scale.set_state(state["seen"])

    def _step(
        self,
        observations: Tensor,
        actions: Tensor,
        log_mu: Tensor,
        advantage: Tensor,
        returns: Tensor,
        entropy_weight: float,
        critic_only: bool,
        imitation: float,
        imitated: Rows | None,
        teaching: float,
        teacher: Tensor | None,
    ) -> dict[str, Tensor]:
        self._optimiser.zero_grad(set_to_none=True)
        critic = None
        if self.values is not None:
            critic = self._beside.submit(self._add_critic_gradient, self.values, observations, returns)
        with torch.set_grad_enabled(not critic_only):
            features = self._features(observations)
            log_pi = torch.log_softmax(self.network.policy_head(features), dim=-1)
            log_ratio = log_pi.gather(-1, actions.unsqueeze(-1)).squeeze(-1) - log_mu
            ratio, bonus = log_ratio.exp(), ppo.entropy(log_pi).mean()
        losses: list[Tensor] = []
        more: dict[str, Tensor] = {}
        if isinstance(self.network, ValuedActor):
            losses.append(self._critic_loss(self.network.value_head(features).squeeze(-1), returns))
        if not critic_only:
            losses.append(-ppo.clipped_surrogate(ratio, advantage, self.settings.clip).mean() - entropy_weight * bonus)
            if imitated is not None:
                more["imitation_loss"] = self._imitation_loss(imitated)
                losses.append(imitation * more["imitation_loss"])
            if teacher is not None:
                more["teaching"] = teaching_loss(log_pi, teacher)
                losses.append(teaching * more["teaching"])
        if losses:
            torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
        if critic is not None:
            critic.result()
        norm = torch.nn.utils.clip_grad_norm_(self._parameters(), self.settings.max_gradient_norm)
        self._optimiser.step()
        with torch.no_grad():
            return {
                "entropy": bonus.detach(),
                "kl": ppo.kl_estimate(log_ratio),
                "clipped_share": ((ratio - 1.0).abs() > self.settings.clip).float().mean(),
                "gradient_norm": norm,
                **{name: number.detach() for name, number in more.items()},
            }

    def _add_critic_gradient(self, critic: Values, observations: Tensor, returns: Tensor) -> None:
        """Give the weights of V's own network their gradient."""
        self._critic_loss(self._own_value(critic, observations), returns).backward()  # type: ignore[no-untyped-call]

    def _critic_loss(self, values: Tensor, returns: Tensor) -> Tensor:
        return self.settings.value_coefficient * ppo.value_loss(values, returns)

    def _imitation_loss(self, rows: Rows) -> Tensor:
        """Cross-entropy of the policy with the demonstrated probabilities, or with the actions without them."""
        logits = self.network.policy_head(self._features(self._tensor(rows.observations)))
        probabilities = None if rows.probabilities is None else self._tensor(rows.probabilities)
        return cloning_loss(logits, self._tensor(rows.actions), probabilities=probabilities)

    def _features(self, observations: Tensor) -> Tensor:
        """Inputs of the policy's heads, which are float32 whatever the precision of the layers below."""
        with autocast(self.settings.precision, self._device):
            return self.network.features(observations).float()

    def _minibatches(self, count: int, shuffle: np.random.Generator) -> Iterator[Tensor]:
        """Indices of all steps in random order, `minibatch` at a time."""
        yield from torch.split(self._tensor(shuffle.permutation(count)), self.settings.minibatch)

    @property
    def _parts(self) -> Parts:
        own: Parts = {} if self.values is None else {"values": self.values}
        return {"network": self.network, **own, "optimiser": self._optimiser}

    def _parameters(self) -> list[torch.nn.Parameter]:
        return [*self.network.parameters(), *(() if self.values is None else self.values.parameters())]

    def _value(self, observations: Tensor) -> Tensor:
        """V(s), [...], of raw observations [..., size]."""
        if self.values is not None:
            return self._own_value(self.values, observations)
        assert isinstance(self.network, ValuedActor)
        values: Tensor = self.network.value_head(self._features(observations)).squeeze(-1)
        return values

    def _own_value(self, critic: Values, observations: Tensor) -> Tensor:
        with autocast(self.settings.precision, self._device):
            features = critic.features(self.network.layer_input(observations))
        values: Tensor = critic.head(features.float()).squeeze(-1)
        return values

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)

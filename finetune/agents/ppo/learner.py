"""The PPO learner: a policy, a network of values beside it, an optimiser, and an update on what was just played."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....common.errors import BadInput
from ....policies.networks import HIDDEN, Actor, ActorCritic, Values
from ....policies.scaling import RunningStatistics
from ...experience.sequences import Sequences
from ..acer.learner import Diagnosis
from ..acer.losses import time_scaled_discount
from ..precision import in_precision, require_precision
from . import losses as ppo

PATIENCE = 1.5
"""An update ends early once an epoch's KL is this many times `target_kl`, as in Spinning Up."""


@dataclass(frozen=True)
class PpoSettings:
    """Settings of PPO.

    gamma is the discount at `gamma_rate` decisions a second; an environment with another rate gets the same horizon in
    seconds (`at_rate`). trace is λ of the advantages, clip ε of the surrogate. An update is up to `epochs` passes over
    what was played, in random minibatches, and ends early where an epoch's KL from the policy that played is too far
    over target_kl. hidden: widths of the values, and of a new policy. Adam's epsilon, the coefficients, the norm and
    the clip are those of "The 37 implementation details of PPO" (Huang et al. 2022); learning_rate and minibatch are
    larger and epochs fewer, for speed: with 3e-4 and 4096 QWOP's runners stay behind from the first minutes on.
    precision is that of the hidden layers while learning: bfloat16 is about twice as fast on a CPU or GPU that has it
    in hardware, and slower on one that has not.
    """

    gamma: float = 0.985
    gamma_rate: float = 10.0
    trace: float = 0.95
    clip: float = 0.2
    epochs: int = 3
    minibatch: int = 2048
    target_kl: float = 0.02
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.01
    learning_rate: float = 8e-4
    epsilon: float = 1e-5
    max_gradient_norm: float = 0.5
    hidden: tuple[int, ...] = HIDDEN
    precision: str = "float32"

    def __post_init__(self) -> None:
        for name in ("epochs", "minibatch"):
            if getattr(self, name) < 1:
                raise BadInput(f"algorithm.{name}={getattr(self, name)}: expected at least 1")
        require_precision(self.precision)

    def at_rate(self, decisions_per_second: float | None) -> "PpoSettings":
        """The same horizon for an environment of this decision rate; None, an unknown rate, changes nothing."""
        if decisions_per_second is None:
            return self
        gamma = time_scaled_discount(self.gamma, self.gamma_rate, decisions_per_second)
        return replace(self, gamma=gamma, gamma_rate=decisions_per_second)


class PpoLearner:
    """Learns the network in place, and V(s) in one of its own, which only checkpoints keep.

    A network whose scaler has no statistics yet gets them from what is played, all of it so far; statistics that it
    brings stay as they are.
    """

    def __init__(
        self, network: Actor | ActorCritic, settings: PpoSettings, device: torch.device, generator: torch.Generator
    ) -> None:
        self.settings = self._given = settings
        self.network = network.to(device)
        self.values = Values(network.observation_size, settings.hidden, generator).to(device)
        self._device = device
        self._seen = None if network.scaler.fitted else RunningStatistics(network.observation_size)
        self._optimiser = torch.optim.Adam(self._parameters(), lr=settings.learning_rate, eps=settings.epsilon)

    def at_rate(self, decisions_per_second: float | None) -> None:
        """The environment has this decision rate from now on: the same horizon in seconds."""
        self.settings = self._given.at_rate(decisions_per_second)

    def update(
        self,
        played: Sequences,
        shuffle: np.random.Generator,
        *,
        learning_rate: float = 1.0,
        entropy: float = 1.0,
        critic_only: bool = False,
    ) -> Diagnosis:
        """Up to `epochs` passes over what was played.

        learning_rate and entropy multiply those of the settings. critic_only learns V alone.
        """
        n, k = played.actions.shape
        if self._seen is not None:
            self._seen.add(played.observations[:, :-1].reshape(n * k, -1))
            self._seen.put_into(self.network.scaler)
        rows = self._tensor(played.observations).flatten(2)
        with torch.no_grad():
            values = self._value(rows)
            estimates = ppo.advantages(
                self._tensor(played.rewards),
                self._tensor(played.terminated),
                self._tensor(played.truncated),
                values,
                self._final_values(played),
                self.settings.gamma,
                self.settings.trace,
            )
        returns = (estimates + values[:, :-1]).flatten()
        advantage = ((estimates - estimates.mean()) / (estimates.std() + 1e-8)).flatten()
        observations, actions = rows[:, :-1].flatten(0, 1), self._tensor(played.actions).flatten()
        mu = self._tensor(played.behaviour_probabilities).flatten(0, 1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        log_mu = mu.log()

        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * learning_rate
        seen: list[dict[str, Tensor]] = []
        epochs = 0
        for _ in range(self.settings.epochs):
            epoch = []
            for part in self._minibatches(n * k, shuffle):
                numbers = self._step(
                    observations[part],
                    actions[part],
                    log_mu[part],
                    advantage[part],
                    returns[part],
                    entropy * self.settings.entropy_coefficient,
                    critic_only,
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
        return copy.deepcopy(
            {
                "network": self.network.state_dict(),
                "values": self.values.state_dict(),
                "optimiser": self._optimiser.state_dict(),
                "seen": None if self._seen is None else self._seen.get_state(),
            }
        )

    def set_state(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.values.load_state_dict(state["values"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._seen = None
        if state["seen"] is not None:
            self._seen = RunningStatistics(self.network.observation_size)
            self._seen.set_state(state["seen"])

    def _step(
        self,
        observations: Tensor,
        actions: Tensor,
        log_mu: Tensor,
        advantage: Tensor,
        returns: Tensor,
        entropy_weight: float,
        critic_only: bool,
    ) -> dict[str, Tensor]:
        loss = self.settings.value_coefficient * ppo.value_loss(self._value(observations), returns)
        with torch.set_grad_enabled(not critic_only):
            with in_precision(self.settings.precision, self._device):
                features = self.network.features(observations)
            log_pi = torch.log_softmax(self.network.policy_head(features.float()), dim=-1)
            log_ratio = log_pi.gather(-1, actions.unsqueeze(-1)).squeeze(-1) - log_mu
            ratio, bonus = log_ratio.exp(), ppo.entropy(log_pi).mean()
        if not critic_only:
            surrogate = ppo.clipped_surrogate(ratio, advantage, self.settings.clip).mean()
            loss = loss - surrogate - entropy_weight * bonus
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self._parameters(), self.settings.max_gradient_norm)
        self._optimiser.step()
        with torch.no_grad():
            return {
                "entropy": bonus.detach(),
                "kl": ppo.kl_estimate(log_ratio),
                "clipped_share": ((ratio - 1.0).abs() > self.settings.clip).float().mean(),
                "gradient_norm": norm,
            }

    def _minibatches(self, count: int, shuffle: np.random.Generator) -> Iterator[Tensor]:
        """Indices of all steps in random order, `minibatch` at a time."""
        yield from torch.split(self._tensor(shuffle.permutation(count)), self.settings.minibatch)

    def _parameters(self) -> list[torch.nn.Parameter]:
        return [*self.network.parameters(), *self.values.parameters()]

    def _value(self, observations: Tensor) -> Tensor:
        with in_precision(self.settings.precision, self._device):
            features = self.values.features(self.network.scaler(observations))
        values: Tensor = self.values.head(features.float()).squeeze(-1)
        return values

    def _final_values(self, played: Sequences) -> Tensor:
        """V of the observations that time limits stopped at, at their steps; float32 [n, k], 0 elsewhere."""
        final_values = torch.zeros(played.actions.shape, device=self._device)
        if len(played.finals.observations):
            where = self._tensor(played.finals.sequence), self._tensor(played.finals.step)
            final_values[where] = self._value(self._tensor(played.finals.observations).flatten(1))
        return final_values

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)

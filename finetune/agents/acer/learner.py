"""The ACER learner: a network, its average, an optimiser, and one update on a batch of sequences."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....common.errors import BadInput
from ....policies.networks import ActorCritic
from ...experience.sequences import SOURCES, Sequences
from ..optimisers import RMSpropTF
from ..precision import in_precision, require_precision
from . import losses as acer
from .lstd import lstd

TRUST_REGIONS = ("probabilities", "logits")


@dataclass(frozen=True)
class AcerSettings:
    """Settings of ACER; the defaults are those of stable-baselines, which the published system used, but for four.

    gamma is the discount at `gamma_rate` decisions a second, the rate of the published recordings; an environment with
    another rate gets the same horizon in seconds (`at_rate`). truncation is c, delta the size of the trust region,
    trust_region where it lives: in the logits (in stable-baselines the probabilities, in which demonstrated actions
    that are all but impossible to the policy make gradients a thousand times too large), alpha the memory of the
    average network, q_coefficient the weight of the critic's loss, entropy_coefficient the weight of the entropy
    (stable-baselines: 0.01, but inert there). learning_rate (7e-4 for batches of 20 steps), decay and epsilon belong to
    RMSProp. reward_scale multiplies every reward, so that Q stays of the size that a network learns quickly
    (published: 1). precision is that of the network's hidden layers while learning: bfloat16 is about twice as fast on
    a CPU or GPU that has it in hardware, and slower on one that has not.
    """

    gamma: float = 0.99
    gamma_rate: float = 9.0
    truncation: float = 10.0
    delta: float = 1.0
    trust_region: str = "logits"
    alpha: float = 0.99
    q_coefficient: float = 0.5
    entropy_coefficient: float = 1e-4
    learning_rate: float = 2e-3
    decay: float = 0.99
    epsilon: float = 1e-5
    max_gradient_norm: float = 10.0
    reward_scale: float = 0.1
    precision: str = "float32"

    def __post_init__(self) -> None:
        if self.trust_region not in TRUST_REGIONS:
            raise BadInput(f"algorithm.trust_region={self.trust_region}: expected {' or '.join(TRUST_REGIONS)}")
        require_precision(self.precision)

    def at_rate(self, decisions_per_second: float | None) -> "AcerSettings":
        """The same horizon for an environment of this decision rate; None, an unknown rate, changes nothing."""
        if decisions_per_second is None:
            return self
        gamma = acer.time_scaled_discount(self.gamma, self.gamma_rate, decisions_per_second)
        return replace(self, gamma=gamma, gamma_rate=decisions_per_second)


@dataclass(frozen=True)
class Diagnosis:
    """What one update saw: losses of the whole batch, and importance weights of each source that was in it."""

    scalars: dict[str, float]
    by_source: dict[str, dict[str, float]]


class AcerLearner:
    """Learns the network in place.

    The average network starts as a copy; the statistics of observation scaling are part of both and never move.
    """

    def __init__(self, network: ActorCritic, settings: AcerSettings, device: torch.device) -> None:
        self.settings = self._given = settings
        self.network = network.to(device)
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self._device = device
        self._optimiser = RMSpropTF(self.network.parameters(), settings.learning_rate, settings.decay, settings.epsilon)

    def at_rate(self, decisions_per_second: float | None) -> None:
        """The environment has this decision rate from now on: the same horizon in seconds."""
        self.settings = self._given.at_rate(decisions_per_second)

    def probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """The current π(·|s), float32 [n, A], of observations [n, *shape]."""
        rows = observations.reshape(-1, self.network.observation_size)
        with torch.inference_mode():
            logits, _ = self.network(torch.from_numpy(rows).to(self._device))
            return torch.softmax(logits, dim=-1).cpu().numpy()

    def update(
        self,
        batch: Sequences,
        *,
        learning_rate: float = 1.0,
        imitation: float = 0.0,
        entropy: float = 1.0,
        critic_only: bool = False,
        diagnose: bool = False,
    ) -> Diagnosis | None:
        """One step on all steps of the batch.

        learning_rate and entropy multiply those of the settings. imitation is the weight of the cross-entropy of
        demonstrated actions. critic_only moves the Q head alone and leaves the policy as it is.
        """
        n, k = batch.actions.shape
        actions = self._tensor(batch.actions)
        mu = self._tensor(batch.behaviour_probabilities)
        observations = self._tensor(batch.observations).flatten(0, 1).flatten(1)

        logits, q = (output.view(n, k + 1, -1) for output in self._outputs(self.network, observations))
        probabilities = torch.softmax(logits, dim=-1)
        with torch.no_grad():
            values = (probabilities * q).sum(-1)
            pi, q_now = probabilities[:, :-1].detach(), q[:, :-1].detach()
            index = actions.unsqueeze(-1)
            rho = acer.importance_weights(pi, mu).gather(-1, index).squeeze(-1)
            q_ret = acer.retrace(
                self._tensor(batch.rewards) * self.settings.reward_scale,
                self._tensor(batch.terminated),
                self._tensor(batch.truncated),
                q_now.gather(-1, index).squeeze(-1),
                values,
                self._final_values(batch),
                rho,
                self.settings.gamma,
            )
        loss = self.settings.q_coefficient * acer.critic_loss(q[:, :-1].gather(-1, index).squeeze(-1), q_ret)
        if not critic_only:
            with torch.no_grad():
                average_logits, _ = self._outputs(self.average, observations.view(n, k + 1, -1)[:, :-1].flatten(0, 1))
                pi_average = torch.softmax(average_logits, dim=-1).view(n, k, -1)
                g = acer.policy_gradient(pi, mu, actions, q_now, values[:, :-1], q_ret, self.settings.truncation)
                g += entropy * self.settings.entropy_coefficient * acer.entropy_gradient(pi)
                in_logits = self.settings.trust_region == "logits"
                if in_logits:
                    g, direction = acer.logit_gradient(pi, g), acer.kl_logit_gradient(pi, pi_average)
                else:
                    direction = acer.kl_gradient(pi, pi_average)
                z = acer.trust_region(g, direction, self.settings.delta)
            # The gradient of this sum is (∂φ/∂θ)ᵀ(−z*/N).
            phi = logits if in_logits else probabilities
            loss = loss - (z * phi[:, :-1]).sum() / (n * k)
            if imitation:
                shown = self._tensor(batch.source == SOURCES.index("demonstrations"))
                cross_entropy = -torch.log_softmax(logits[:, :-1], dim=-1).gather(-1, index).squeeze(-1)
                loss = loss + imitation * (cross_entropy * shown.unsqueeze(-1)).mean()

        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if critic_only:
            for name, parameter in self.network.named_parameters():
                if not name.startswith("q_head."):
                    parameter.grad = None
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.max_gradient_norm)
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * learning_rate
        self._optimiser.step()
        acer.update_average(self.average, self.network, self.settings.alpha)
        if not diagnose:
            return None
        with torch.no_grad():
            scalars = {
                "q_error": (q_ret - q_now.gather(-1, index).squeeze(-1)).square().mean().sqrt(),
                "value": values[:, :-1].mean(),
                "entropy": -(pi * torch.log(pi + acer.EPSILON)).sum(-1).mean(),
                "gradient_norm": norm,
            }
            if not critic_only:
                scalars["kl_to_average"] = (pi_average * torch.log((pi_average + 1e-8) / (pi + 1e-8))).sum(-1).mean()
                scalars["trust_region_active"] = (z != g).any(-1).float().mean()
        weights = dict(self._weights(batch, rho))
        return Diagnosis({name: float(value) for name, value in scalars.items()}, weights)

    @torch.no_grad()
    def fit_values(self, played: Sequences) -> None:
        """Set the Q head to the values of the policy as it is, the same for every action, from its own live play.

        A critic that starts from nothing sends a good policy astray before it has learned what the policy is worth. The
        hidden layers and the policy keep their bits.
        """
        n, k = played.actions.shape
        features = self._features(played.observations).view(n, k + 1, -1)
        following = features[:, 1:].clone()
        following[self._tensor(played.terminated)] = 0.0
        if len(played.finals.observations):
            stopped = self._tensor(played.finals.sequence), self._tensor(played.finals.step)
            following[stopped] = self._features(played.finals.observations)
        rewards = self._tensor(played.rewards) * self.settings.reward_scale
        w = lstd(features[:, :-1].flatten(0, 1), following.flatten(0, 1), rewards.flatten(), self.settings.gamma)
        for network in (self.network, self.average):
            network.q_head.weight.copy_(w[:-1].expand_as(network.q_head.weight))
            network.q_head.bias.fill_(float(w[-1]))

    def get_state(self) -> dict[str, Any]:
        """Copies of all weights and of the optimiser's memory."""
        return copy.deepcopy(
            {
                "network": self.network.state_dict(),
                "average": self.average.state_dict(),
                "optimiser": self._optimiser.state_dict(),
            }
        )

    def set_state(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.average.load_state_dict(state["average"])
        self._optimiser.load_state_dict(state["optimiser"])

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def _outputs(self, network: ActorCritic, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits and Q values, both [rows, A]; the heads in float32 whatever the precision of the trunk."""
        with in_precision(self.settings.precision, self._device):
            features = network.features(observations)
        return network.policy_head(features.float()), network.q_head(features.float())

    def _features(self, observations: NDArray[np.float32]) -> Tensor:
        """What the heads see, and a 1 for their bias: [rows, width + 1]."""
        rows = self._tensor(observations).reshape(-1, self.network.observation_size)
        features = self.network.features(rows)
        return torch.cat([features, torch.ones_like(features[:, :1])], dim=1)

    def _final_values(self, batch: Sequences) -> Tensor:
        """V of the observations that time limits stopped at, at their steps; float32 [n, k], 0 elsewhere."""
        final_values = torch.zeros(batch.actions.shape, device=self._device)
        if len(batch.finals.observations):
            logits, q = self._outputs(self.network, self._tensor(batch.finals.observations).flatten(1))
            value = (torch.softmax(logits, dim=-1) * q).sum(-1)
            final_values[self._tensor(batch.finals.sequence), self._tensor(batch.finals.step)] = value
        return final_values

    def _weights(self, batch: Sequences, rho: Tensor) -> Iterator[tuple[str, dict[str, float]]]:
        lengths = acer.trace_lengths(rho, self._tensor(batch.terminated | batch.truncated))
        for source, name in enumerate(SOURCES):
            mine = self._tensor(batch.source == source)
            if bool(mine.any()):
                yield (
                    name,
                    {
                        "importance_weight": float(rho[mine].mean()),
                        "truncated_share": float((rho[mine] > self.settings.truncation).float().mean()),
                        "trace_length": float(lengths[mine].mean()),
                    },
                )

"""The V-trace learner: network, optimiser, and one update on a batch of unrolls."""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ....policies.recurrent import RecurrentActorCritic
from ....policies.scaling import ObservationScaler, RunningStatistics
from ...experience.sequences import Sequences
from ...metrics import Diagnosis
from ..entropy import entropy as entropy_of
from .losses import policy_loss, value_loss, vtrace
from .settings import VtraceSettings
from .unroll import unroll


class VtraceLearner:
    """Learns the policy's network, with its values, in place.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    They move after an update, except for the first live play.
    """

    def __init__(self, network: RecurrentActorCritic, settings: VtraceSettings, device: torch.device) -> None:
        self.settings = self._given = settings
        self.network = network.to(device)
        self._device = device
        self._seen = None if network.scaler.fitted else RunningStatistics(network.observation_size)
        self._optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=settings.epsilon)

    def at_rate(self, decisions_per_second: float | None) -> None:
        """Keep the horizon in seconds in an environment with this decision rate."""
        self.settings = self._given.at_rate(decisions_per_second)

    def update(
        self, played: Sequences, *, learning_rate: float = 1.0, entropy: float = 1.0, critic_only: bool = False
    ) -> Diagnosis:
        """Take one step on the sequences.

        learning_rate and entropy multiply those of the settings. critic_only learns only the value head.
        """
        settings = self.settings
        first = not self.network.scaler.fitted
        if first:
            self._standardise(played)
        rewards, terminated, truncated, actions, mu = (
            torch.from_numpy(array).to(self._device)
            for array in (
                played.rewards, played.terminated, played.truncated, played.actions, played.behaviour_probabilities
            )
        )  # fmt: skip
        found = unroll(self.network, played, self._device, critic_only=critic_only)
        log_policy = torch.log_softmax(found.logits, dim=-1)
        log_pi, log_mu = _of(log_policy, actions), _of(mu, actions).log()
        rho = (log_pi.detach() - log_mu).exp()
        targets, advantages = vtrace(
            rewards, terminated, truncated, found.values, found.final_values, rho,
            settings.gamma, settings.rho_bar, settings.c_bar,
        )  # fmt: skip
        errors = value_loss(found.values[:, :-1], targets)
        bonus = entropy_of(log_policy).mean()
        loss = settings.value_coefficient * errors
        if not critic_only:
            loss = loss + policy_loss(log_pi, advantages) - entropy * settings.entropy_coefficient * bonus
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), settings.max_gradient_norm)
        self._optimiser.param_groups[0]["lr"] = settings.learning_rate * learning_rate
        self._optimiser.step()
        if not first:
            self._standardise(played)
        return Diagnosis(
            {
                "entropy": bonus.item(),
                "rho": rho.mean().item(),
                "rho_above_limit": (rho > settings.rho_bar).float().mean().item(),
                "value": found.values[:, :-1].mean().item(),
                "value_error": errors.sqrt().item(),
                "gradient_norm": norm.item(),
            },
            {},
        )

    def get_state(self) -> dict[str, Any]:
        """Copies of all weights, of the optimiser's memory, and of the statistics."""
        return copy.deepcopy(
            {
                "network": self.network.state_dict(),
                "optimiser": self._optimiser.state_dict(),
                "seen": None if self._seen is None else self._seen.get_state(),
            }
        )

    def set_state(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._seen = None
        if state["seen"] is not None:
            self._seen = RunningStatistics(self.network.observation_size)
            self._seen.set_state(state["seen"])

    def _standardise(self, played: Sequences) -> None:
        """Add the observations to the running statistics, if there are any, and scale by these from now on."""
        if self._seen is not None:
            self._seen.add(played.observations[:, :-1].reshape(np.prod(played.actions.shape), -1))
            assert isinstance(self.network.scaler, ObservationScaler)  # the only one that can lack statistics
            self._seen.put_into(self.network.scaler)


def _of(rows: Tensor, actions: Tensor) -> Tensor:
    """The entries of the actions, [n, k], of rows [n, k, A]."""
    return rows.gather(-1, actions.unsqueeze(-1)).squeeze(-1)

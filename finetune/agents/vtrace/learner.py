"""The V-trace learner: network, optimiser, and one update on a batch of unrolls."""

from typing import Any

import torch

from ....policies.recurrent import RecurrentActorCritic
from ...experience.sequences import Sequences
from ...metrics import Diagnosis, mean_figures
from ..optimisers import descend
from ..running_scale import RunningScale
from ..states import Parts, copied_states, load_states
from .objective import actor_critic
from .settings import VtraceSettings
from .unroll import unroll


class VtraceLearner:
    """Learns the policy's network, with its values, in place.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    """

    def __init__(self, network: RecurrentActorCritic, settings: VtraceSettings, device: torch.device) -> None:
        self.settings = self._given = settings
        self.network = network.to(device)
        self._device = device
        self._scale = RunningScale(network)
        self._optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=settings.epsilon)
        self._parts: Parts = {"network": self.network, "optimiser": self._optimiser}

    def at_rate(self, decisions_per_second: float | None) -> None:
        """Keep the horizon in seconds in an environment with this decision rate."""
        self.settings = self._given.at_rate(decisions_per_second)

    def update(
        self,
        played: Sequences,
        *,
        learning_rate: float = 1.0,
        entropy: float = 1.0,
        critic_only: bool = False,
        teaching: float = 0.0,
    ) -> Diagnosis:
        """Take `passes` steps on the sequences.

        learning_rate and entropy multiply those of the settings. critic_only learns only the value head.
        teaching: weight λ of imitating the teacher that was asked during play.
        """
        with self._scale.learning_from(played):
            passes = range(self.settings.passes)
            steps = [self._step(played, learning_rate, entropy, critic_only, teaching) for _ in passes]
        return Diagnosis(mean_figures(steps), {})

    def get_state(self) -> dict[str, Any]:
        """Copies of all weights, of the optimiser's memory, and of the statistics."""
        return copied_states(self._parts) | {"seen": self._scale.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        load_states(self._parts, state)
        self._scale.set_state(state["seen"])

    def _step(
        self, played: Sequences, learning_rate: float, entropy: float, critic_only: bool, teaching: float
    ) -> dict[str, float]:
        settings = self.settings
        found = unroll(self.network, played, self._device, critic_only=critic_only)
        loss, scalars = actor_critic(
            played, found, settings, entropy=entropy, critic_only=critic_only, teaching=teaching
        )
        rate = settings.learning_rate * learning_rate
        norm = descend(self._optimiser, loss, rate, settings.max_gradient_norm)
        return scalars | {"gradient_norm": norm.item()}

"""The V-trace learner: network, optimiser, and one update on a batch of unrolls."""

import torch

from ....policies.recurrent import RecurrentActorCritic
from ...experience.sequences import Sequences
from ...metrics import Diagnosis, mean_figures
from ...schedules.phase import PhaseValues
from ..learner import LiveLearner
from ..optimisers import descend
from ..running_scale import RunningScale
from .objective import actor_critic
from .settings import VtraceSettings
from .unroll import unroll


class VtraceLearner(LiveLearner[RecurrentActorCritic, VtraceSettings]):
    """Learns the policy's network, with its values, in place.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    """

    def __init__(self, network: RecurrentActorCritic, settings: VtraceSettings, device: torch.device) -> None:
        super().__init__(network, settings, device)
        self._scale = RunningScale(network)
        self._optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=settings.epsilon)

    @property
    def parts(self) -> dict[str, object]:
        return {"network": self.network, "optimiser": self._optimiser, "seen": self._scale}

    def update(self, played: Sequences, now: PhaseValues) -> Diagnosis:
        """Take `passes` steps on the sequences."""
        with self._scale.learning_from(played):
            steps = [self._step(played, now) for _ in range(self.settings.passes)]
        return Diagnosis(mean_figures(steps), {})

    def _step(self, played: Sequences, now: PhaseValues) -> dict[str, float]:
        settings = self.settings
        found = unroll(self.network, played, self._device, critic_only=now.critic_only)
        loss, scalars = actor_critic(played, found, settings, now)
        rate = settings.learning_rate * now.learning_rate
        norm = descend(self._optimiser, loss, rate, settings.max_gradient_norm)
        return scalars | {"gradient_norm": norm.item()}

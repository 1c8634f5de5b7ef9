"""The two-timescale learner: network, auxiliary networks, optimiser, and one update on a batch of unrolls."""

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.two_timescale import TwoTimescaleActorCritic
from ...experience.sequences import Sequences
from ...metrics import Diagnosis, mean_figures
from ..optimisers import descend
from ..running_scale import RunningScale
from ..states import Parts, copied_states, load_states
from ..vtrace.objective import actor_critic
from . import losses as ftw
from .auxiliary import AuxiliaryNetworks
from .reward_stores import RewardStores
from .settings import FtwSettings
from .unroll import Unroll, unroll

SHAPES = ("hidden", "memory", "latent", "prediction_capacity")
"""Settings that cannot change once a learner is made."""


class FtwLearner:
    """Learns the policy's network, with its values, in place, and the networks of the auxiliary tasks.

        L = L_π + c_V·L_V − c_H·H + β₁·KL(Q‖P) + β₂·KL(P‖N(0, 0.1²)) + c_PC·L_PC + c_RP·L_RP

    The settings may change at any time (`tune`); the network's period follows them. generator draws the observations
    of reward prediction, and the first weights of the auxiliary networks.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    """

    def __init__(
        self,
        network: TwoTimescaleActorCritic,
        settings: FtwSettings,
        device: torch.device,
        generator: np.random.Generator,
    ) -> None:
        self.settings = self.given = settings
        self.network = network.to(device)
        self._device = device
        self._generator = generator
        self._rate: float | None = None
        for_weights = torch.Generator().manual_seed(int(generator.integers(2**31)))
        self.auxiliary = AuxiliaryNetworks(network, for_weights).to(device)
        self._stores = RewardStores(settings.prediction_capacity, generator)
        self._scale = RunningScale(network)
        parameters = [*network.parameters(), *self.auxiliary.parameters()]
        self._optimiser = torch.optim.Adam(parameters, lr=settings.learning_rate, eps=settings.epsilon)
        self._parts: Parts = {"network": self.network, "auxiliary": self.auxiliary, "optimiser": self._optimiser}
        network.set_period(settings.period)

    def at_rate(self, decisions_per_second: float | None) -> None:
        """Keep the horizon in seconds in an environment with this decision rate."""
        self._rate = decisions_per_second
        self.settings = self.given.at_rate(decisions_per_second)

    def tune(self, settings: FtwSettings) -> None:
        """Learn by these settings from now on; ValueError for other sizes of networks or stores."""
        changed = [name for name in SHAPES if getattr(settings, name) != getattr(self.given, name)]
        if changed:
            raise ValueError(f"{', '.join(changed)}: cannot change once a learner is made")
        self.given = settings
        self.at_rate(self._rate)
        self.network.set_period(settings.period)

    def update(
        self,
        played: Sequences,
        *,
        signals: NDArray[np.float32] | None = None,
        learning_rate: float = 1.0,
        entropy: float = 1.0,
        critic_only: bool = False,
        teaching: float = 0.0,
    ) -> Diagnosis:
        """Take `passes` steps on the sequences.

        signals: rewards that are predicted, [n, k], where most of `played.rewards` are not zero; by default these.
        learning_rate and entropy multiply those of the settings. critic_only learns only the value head.
        teaching: weight λ of imitating the teacher that was asked during play.
        """
        with self._scale.learning_from(played):
            self._stores.add(played, played.rewards if signals is None else signals)
            passes = range(self.settings.passes)
            steps = [self._step(played, learning_rate, entropy, critic_only, teaching) for _ in passes]
        return Diagnosis(mean_figures(steps), {})

    def get_state(self) -> dict[str, Any]:
        """Copies of everything but the settings: weights, the optimiser's memory, statistics, stores, generator."""
        others = {
            "seen": self._scale.get_state(),
            "stores": self._stores.get_state(),
            "generator": self._generator.bit_generator.state,
        }
        return copied_states(self._parts) | copy.deepcopy(others)

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue where `get_state` was called, by this learner's own settings."""
        load_states(self._parts, state)
        self._scale.set_state(state["seen"])
        self._stores.set_state(state["stores"])
        self._generator.bit_generator.state = state["generator"]

    def _step(
        self, played: Sequences, learning_rate: float, entropy: float, critic_only: bool, teaching: float
    ) -> dict[str, float]:
        settings = self.settings
        found = unroll(
            self.network, played, self._device, slow_gradient=settings.slow_gradient, critic_only=critic_only
        )
        loss, scalars = actor_critic(
            played, found, settings, entropy=entropy, critic_only=critic_only, teaching=teaching
        )
        if not critic_only:
            terms = self._terms(played, found)
            scalars |= {name: term.item() for name, (_, term) in terms.items()}
            for weight, term in terms.values():
                loss = loss + weight * term
        rate = settings.learning_rate * learning_rate
        norm = descend(self._optimiser, loss, rate, settings.max_gradient_norm)
        return scalars | {"gradient_norm": norm.item()}

    def _terms(self, played: Sequences, found: Unroll) -> dict[str, tuple[float, Tensor]]:
        """The losses beside those of V-trace: weight and value of each. What has no weight is left out."""
        settings = self.settings
        terms = {
            "posterior_kl": (settings.posterior_kl, ftw.posterior_loss(found.posterior, found.prior)),
            "prior_kl": (settings.prior_kl, ftw.prior_loss(found.prior, found.ticked)),
        }
        if settings.feature_control:
            terms["feature_control"] = (settings.feature_control, self._control(played, found.latents))
        if settings.reward_prediction and len(self._stores):
            terms["reward_prediction"] = (settings.reward_prediction, self._prediction())
        return terms

    def _control(self, played: Sequences, latents: Tensor) -> Tensor:
        control = self.auxiliary.control
        observations = torch.from_numpy(played.observations).to(self._device).flatten(2)
        actions = torch.from_numpy(played.actions).to(self._device)
        over = torch.from_numpy(played.terminated | played.truncated).to(self._device)
        q = control(latents)
        rewards = control.rewards(observations, self.network.scaler)
        targets = ftw.control_targets(rewards, over, q.detach().amax(2), self.settings.control_gamma)
        return ftw.control_loss(q[:, :-1], actions, targets, over)

    def _prediction(self) -> Tensor:
        observations, rewards = self._stores.sample(self.settings.prediction_batch)
        rows = torch.from_numpy(observations).to(self._device).flatten(2)
        classes = ftw.reward_classes(torch.from_numpy(rewards).to(self._device))
        return ftw.reward_prediction_loss(self.auxiliary.prediction(self.network.encode(rows)), classes)

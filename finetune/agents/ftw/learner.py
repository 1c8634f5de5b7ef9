"""The two-timescale learner: networks, optimiser and one update on a batch of unrolls, and the agent made of them."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....policies.state import State
from ....policies.two_timescale import CoreOutput, Gaussian, Percept, TwoTimescaleActorCritic
from ...experience.sequences import Sequences
from ...metrics import UpdateStats
from ...schedules.phase import PhaseValues
from ..agent import LiveAgent, Makes
from ..learner import Part
from ..unroll import Stopped, unroll_network
from ..vtrace.learner import Unroll, UnrollLearner, actor_critic, network_of, outputs
from ..vtrace.settings import VtraceLoopSettings
from . import losses as ftw
from .auxiliary import AuxiliaryNetworks
from .reward_stores import RewardStores
from .settings import FtwSettings

if TYPE_CHECKING:
    from ...run import Run

CONTROL_GAMMA = 0.9
"""Discount of feature control per decision, at any decision rate (UNREAL, Jaderberg et al. 2017)."""

CAPACITY = 800
"""Capacity for observations that precede a reward, and for as many that do not."""

PREDICTIONS = 32
"""Reward predictions in an update, half of them of rewards and half of none."""


class FtwLearner(UnrollLearner[TwoTimescaleActorCritic, FtwSettings]):
    """Trains the policy's network, including its value head, in place, and the networks of the auxiliary tasks.

        L = L_π + c_V·L_V − c_H·H + β₁·KL(Q‖P) + β₂·KL(P‖N(0, 0.1²)) + c_PC·L_PC + c_RP·L_RP

    generator samples the observations for reward prediction and the initial weights of the auxiliary networks.
    """

    def __init__(
        self,
        network: TwoTimescaleActorCritic,
        settings: FtwSettings,
        device: torch.device,
        generator: np.random.Generator,
    ) -> None:
        network.set_period(settings.period)
        for_weights = torch.Generator().manual_seed(int(generator.integers(2**31)))
        self.auxiliary = AuxiliaryNetworks(network, for_weights).to(device)
        super().__init__(network, settings, device, [*self.auxiliary.parameters()])
        self._generator = generator
        self._stores = RewardStores(CAPACITY, generator)

    @property
    def parts(self) -> dict[str, Part]:
        return {
            **super().parts,
            "auxiliary": self.auxiliary,
            "stores": self._stores,
            "generator": self._generator,
        }

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        """Take `passes` steps on the sequences. Reward prediction uses `played.signals` if present."""
        self._stores.add(played, played.rewards if played.signals is None else played.signals)
        return super().update(played, now)

    def loss(self, played: Sequences, now: PhaseValues) -> tuple[Tensor, dict[str, float]]:
        found = unroll(
            self.network, played, self._device, slow_gradient=self.settings.slow_gradient, critic_only=now.critic_only
        )
        loss, scalars = actor_critic(played, found.policy, self.settings, now)
        if not now.critic_only:
            terms = self._terms(played, found)
            scalars |= {name: term.item() for name, (_, term) in terms.items()}
            for weight, term in terms.values():
                loss = loss + weight * term
        return loss, scalars

    def _terms(self, played: Sequences, found: "TwoTimescaleUnroll") -> dict[str, tuple[float, Tensor]]:
        """The losses in addition to those of V-trace: weight and value of each. Losses with zero weight are omitted."""
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
        targets = ftw.control_targets(rewards, over, q.detach().amax(2), CONTROL_GAMMA)
        return ftw.control_loss(q[:, :-1], actions, targets, over)

    def _prediction(self) -> Tensor:
        observations, rewards = self._stores.sample(PREDICTIONS)
        rows = torch.from_numpy(observations).to(self._device).flatten(2)
        classes = ftw.reward_classes(torch.from_numpy(rewards).to(self._device))
        return ftw.reward_prediction_loss(self.auxiliary.prediction(self.network.encode(rows)), classes)


class TwoTimescaleUnroll(NamedTuple):
    """policy: input of the V-trace losses. latents [n, k + 1, latent], including the last state. posterior, prior:
    [n, k, latent]. ticked: bool [n, k]."""

    policy: Unroll
    latents: Tensor
    posterior: Gaussian
    prior: Gaussian
    ticked: Tensor


def unroll(
    network: TwoTimescaleActorCritic,
    played: Sequences,
    device: torch.device,
    *,
    slow_gradient: float = 1.0,
    critic_only: bool = False,
) -> TwoTimescaleUnroll:
    """Run the network over the sequences; see `unroll_network`.

    slow_gradient multiplies gradients from the fast core into the slow one. With critic_only, gradients of the values
    reach only the value head.
    """

    def core(features: tuple[Tensor, ...], state: State) -> tuple[CoreOutput, State]:
        return network.core(Percept(*features), state, slow_gradient)

    steps, stopped, last, state = unroll_network(network, network.perceive, core, played, device)
    latents = torch.stack([output.latent for output in steps], dim=1)
    ends = [Stopped(at, rows, output.latent) for at, rows, output in stopped]
    return TwoTimescaleUnroll(
        policy=outputs(network, latents, last.latent, ends, state, played, critic_only=critic_only),
        latents=torch.cat([latents, last.latent.unsqueeze(1)], dim=1),
        posterior=_stacked([output.posterior for output in steps]),
        prior=_stacked([output.prior for output in steps]),
        ticked=torch.stack([output.ticked for output in steps], dim=1),
    )


def _stacked(gaussians: list[Gaussian]) -> Gaussian:
    return Gaussian(*(torch.stack(parts, dim=1) for parts in zip(*gaussians, strict=True)))


def new_network(settings: FtwSettings) -> Makes[TwoTimescaleActorCritic]:
    """The untrained network of these settings."""
    return lambda observation, actions, generator: TwoTimescaleActorCritic(
        observation, actions, settings.hidden, settings.memory, settings.latent, settings.period, generator
    )


def new_learner(network: TwoTimescaleActorCritic, settings: FtwSettings, seed: int, device: torch.device) -> FtwLearner:
    """Make a standalone learner."""
    return FtwLearner(network, settings, device, np.random.default_rng(seed))


def build(run: "Run[FtwSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place."""
    network = network_of(run, TwoTimescaleActorCritic, "ftw")
    return LiveAgent(FtwLearner(network, run.algorithm, run.device, run.for_agent), run.log.metrics)

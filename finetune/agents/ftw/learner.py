"""The two-timescale agent: networks of the auxiliary tasks, observations to predict rewards from, and the learner."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from ....envs.spec import Observations, ObservationSpec
from ....policies.devices import Undisturbed
from ....policies.encoders import MLP, orthogonal_linear
from ....policies.networks import SCALED_LIMIT
from ....policies.q_networks import dueling
from ....policies.recurrent import CoreOutput, TwoTimescaleActorCritic
from ...experience.sequences import Sequences
from ...log import UpdateStats
from ...replay.memory import Memory
from ...schedules.phase import PhaseValues
from ..agent import LiveAgent, Resumable
from ..vtrace.learner import Unroll, UnrollLearner, actor_critic, live_network, unroll
from ..vtrace.settings import VtraceLoopSettings
from . import losses as ftw
from .settings import FtwSettings

if TYPE_CHECKING:
    from ...run import Run

CELL = 4
"""Height and width of a picture's cell, in pixels (UNREAL, Jaderberg et al. 2017)."""

WINDOW = 3
"""Observations that a reward is predicted from."""

SHARE = 8
"""Largest fraction of a store filled from one iteration, so that it spans several."""

CONTROL_GAMMA = 0.9
"""Discount of feature control per decision, at any decision rate (UNREAL, Jaderberg et al. 2017)."""

CAPACITY = 800
"""Capacity for observations that precede a reward, and for as many that do not."""

PREDICTIONS = 32
"""Reward predictions in an update, half of them of rewards and half of none."""


class Control(nn.Module):
    """Dueling Q values for changing each cell of the observation.

    In a vector each number is a cell. In pictures cells are 4 × 4 pixels in the middle of the newest frame: 20 × 20 of
    84 × 84 pixels, as in UNREAL, whose deconvolution is a linear layer here.
    """

    def __init__(
        self, observation: ObservationSpec, latent: int, width: int, actions: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self._observation, cells = observation, observation.size
        if observation.is_image:
            height, across = (observation.shape[axis] for axis in observation.axes[1:])
            self.cells = (2 * ((height - CELL) // (2 * CELL)), 2 * ((across - CELL) // (2 * CELL)))
            cells = self.cells[0] * self.cells[1]
        self.shape = (actions, cells)
        self.layers = MLP(latent, (width,), nn.ReLU, generator)
        self.value = orthogonal_linear(width, cells, 0.01, generator)
        self.advantage = orthogonal_linear(width, actions * cells, 0.01, generator)

    def rewards(self, observations: Tensor, scale: Callable[[Tensor], Tensor]) -> Tensor:
        """Pseudo-rewards [n, k, C] of raw observations in rows, [n, k + 1, size]; scale: the policy's scaler."""
        if not self._observation.is_image:
            return ftw.changes(scale(observations).clamp(-SCALED_LIMIT, SCALED_LIMIT))
        frame, leading = self._observation.frame, observations.shape[:-1]
        channels, height, width = frame.axes
        newest = observations.reshape(*leading, self._observation.stack, -1)[..., -1, :]
        order = 0, *(1 + axis for axis in (height, width, *channels))
        pictures = scale(newest).reshape(-1, *frame.shape).permute(order)
        colours = pictures.reshape(*leading, *pictures.shape[1:3], frame.channels)
        return ftw.changes_of_cells(colours, CELL, self.cells)

    def forward(self, latents: Tensor) -> Tensor:
        """Q(s, ·), [..., A, C], of latents [..., latent]."""
        features = self.layers(latents)
        values, advantages = self.value(features), self.advantage(features).unflatten(-1, self.shape)
        return dueling(values.unsqueeze(-2), advantages)


class AuxiliaryNetworks(nn.Module, metaclass=Undisturbed):
    """The networks of both tasks, untrained, for a policy's network. prediction: logits of a reward's class, [m, 3], of
    the features of the observations before it, side by side."""

    def __init__(self, network: TwoTimescaleActorCritic, generator: torch.Generator) -> None:
        super().__init__()
        self.control = Control(network.observation, network.latent, network.memory, network.actions, generator)
        layers = MLP(WINDOW * network.trunk.width, (network.memory,), nn.ReLU, generator)
        self.prediction = nn.Sequential(*layers, orthogonal_linear(network.memory, 3, 0.01, generator))


class Windows(NamedTuple):
    """observations [m, 3, *shape]: three consecutive ones of an episode. rewards float32 [m]: of the action after
    them."""

    observations: Observations
    rewards: NDArray[np.float32]


class WindowMemory(Memory[Windows]):
    """The newest `capacity` windows."""

    def __init__(self, capacity: int, observation: ObservationSpec) -> None:
        super().__init__({"rewards": np.zeros(capacity, np.float32)}, WINDOW, observation)

    def sample(self, n: int, generator: np.random.Generator) -> Windows:
        return Windows(**self._rows(generator.integers(len(self), size=n)))


class RewardStores(Resumable):
    """The newest windows, in a memory for rewarding and one for unrewarding steps; a batch takes half from each.

    The caller saves the generator.
    """

    def __init__(self, capacity: int, observation: ObservationSpec, generator: np.random.Generator) -> None:
        self._most, self._generator, self._shape = -(-capacity // SHARE), generator, observation.shape
        self.none, self.some = (WindowMemory(capacity, observation) for _ in range(2))

    def __len__(self) -> int:
        """Number of windows of the rarer kind."""
        return min(len(self.none), len(self.some))

    def add(self, played: Sequences, signals: NDArray[np.float32]) -> None:
        """Add windows of live play; signals, [n, k], are the rewards to predict."""
        over = played.terminated | played.truncated
        within = np.ones(over.shape, dtype=np.bool_)
        within[:, : WINDOW - 1] = False
        for before in range(1, WINDOW):
            within[:, before:] &= ~over[:, :-before]
        for memory, mask in ((self.none, signals == 0), (self.some, signals != 0)):
            row, step = (within & mask).nonzero()
            if len(row) > self._most:
                subset = self._generator.choice(len(row), self._most, replace=False)
                row, step = row[subset], step[subset]
            if len(row):
                steps = step[:, None] + np.arange(1 - WINDOW, 1)
                observations = played.observations[row[:, None], steps].reshape(*steps.shape, *self._shape)
                memory.push(Windows(observations, signals[row, step]))

    def sample(self, count: int) -> Windows:
        """Sample count // 2 windows of each kind, with replacement; neither memory may be empty."""
        halves = [one.sample(count // 2, self._generator) for one in (self.none, self.some)]
        return Windows(*map(np.concatenate, zip(*halves, strict=True)))


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
        self.generator = generator
        self.stores = RewardStores(CAPACITY, network.observation, generator)

    def _learn(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        """Take `passes` steps on the sequences. Reward prediction uses `played.signals` if present."""
        self.stores.add(played, played.rewards if played.signals is None else played.signals)
        return super()._learn(played, now)

    def loss(self, played: Sequences, now: PhaseValues) -> tuple[Tensor, dict[str, float]]:
        settings, critic_only = self.settings, now.critic_only
        unrolled = unroll(self.network, played, self._device, critic_only, slow_gradient=settings.slow_gradient)
        loss, scalars = actor_critic(played, unrolled, settings, now)
        if not critic_only:
            terms = self._terms(played, unrolled)
            scalars |= {name: term.item() for name, (_, term) in terms.items()}
            for weight, term in terms.values():
                loss = loss + weight * term
        return loss, scalars

    def _terms(self, played: Sequences, unrolled: Unroll) -> dict[str, tuple[float, Tensor]]:
        """The losses in addition to those of V-trace: weight and value of each. Losses with zero weight are omitted."""
        settings = self.settings
        core: CoreOutput = tree_map(lambda *steps: torch.stack(steps, dim=1), *unrolled.outputs)
        terms = {
            "posterior_kl": (settings.posterior_kl, ftw.posterior_loss(core.posterior, core.prior)),
            "prior_kl": (settings.prior_kl, ftw.prior_loss(core.prior, core.ticked)),
        }
        if settings.feature_control:
            terms["feature_control"] = (settings.feature_control, self._control(played, unrolled.features))
        if settings.reward_prediction and len(self.stores):
            terms["reward_prediction"] = (settings.reward_prediction, self._prediction())
        return terms

    def _control(self, sequences: Sequences, latents: Tensor) -> Tensor:
        control = self.auxiliary.control
        observations = torch.from_numpy(sequences.observations).to(self._device).flatten(2)
        actions = torch.from_numpy(sequences.actions).to(self._device)
        over = torch.from_numpy(sequences.terminated | sequences.truncated).to(self._device)
        q = control(latents)
        rewards = control.rewards(observations, self.network.scaler)
        targets = ftw.control_targets(rewards, over, q.detach().amax(2), CONTROL_GAMMA)
        return ftw.control_loss(q[:, :-1], actions, targets, over)

    def _prediction(self) -> Tensor:
        observations, rewards = self.stores.sample(PREDICTIONS)
        rows = torch.from_numpy(observations).to(self._device).flatten(2)
        classes = ftw.reward_classes(torch.from_numpy(rewards).to(self._device))
        features = self.network.encode(rows).flatten(1)
        return ftw.reward_prediction_loss(self.auxiliary.prediction(features), classes)


new_network = TwoTimescaleActorCritic.untrained


def new_learner(network: TwoTimescaleActorCritic, settings: FtwSettings, seed: int, device: torch.device) -> FtwLearner:
    """Make a standalone learner."""
    return FtwLearner(network, settings, device, np.random.default_rng(seed))


def build(run: "Run[FtwSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place."""
    network = live_network(run, TwoTimescaleActorCritic)
    return LiveAgent(FtwLearner(network, run.algorithm, run.device, run.for_agent), run.log)

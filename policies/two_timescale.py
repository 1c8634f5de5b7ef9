"""The recurrent core of the For The Win agent (Jaderberg et al. 2019), with two time scales."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..envs.spec import ObservationSpec
from .devices import WEIGHTS
from .encoders import MLP, orthogonal_linear, trunk_for
from .networks import LayeredNetwork, bounded
from .noise import absorb, digest, standard_normal
from .recurrent import lstm_cell
from .sizes import HIDDEN, LATENT, MEMORY, PERIOD
from .state import State
from .tanh import Tanh

PRIOR_STD = 0.1
"""Standard deviation of untrained distributions of z."""

_SMALLEST_STD = 1e-6


class Gaussian(NamedTuple):
    """A normal distribution of z with a diagonal covariance: mean and std, [..., latent] each."""

    mean: Tensor
    std: Tensor


class CoreOutput(NamedTuple):
    """A decision's latent z [n, latent], the posterior Q that it was drawn from, the prior P, and whether the slow core
    ticked, bool [n]."""

    latent: Tensor
    posterior: Gaussian
    prior: Gaussian
    ticked: Tensor


class Percept(NamedTuple):
    """Inputs of the cores from an observation: features [n, width], and a digest for the noise, int64 [n]."""

    features: Tensor
    digest: Tensor


class TwoTimescaleState(NamedTuple):
    """The state of n episodes; all zero at their start.

    fast, fast_cell, slow, slow_cell: h and c of the two cores, [n, memory]. latent: z_{t−1}, [n, latent]. fed: a_{t−1},
    one-hot, and r_{t−1}, [n, actions + 1]. decisions: made so far, int64 [n]. key: of the noise, int64 [n].
    """

    fast: Tensor
    fast_cell: Tensor
    slow: Tensor
    slow_cell: Tensor
    latent: Tensor
    fed: Tensor
    decisions: Tensor
    key: Tensor


class TwoTimescaleActorCritic(LayeredNetwork):
    """Two LSTMs, of which the slow one gives a latent z its prior and the fast one its posterior; heads that read z.

        slow core, at decisions 0, τ, 2τ, … of an episode:  hᵖ_t = LSTM_p(h^q_{t−1}; hᵖ_{t−1}), else hᵖ_t = hᵖ_{t−1}
        prior:                                              P_t = N(μᵖ, σᵖ²) of hᵖ_t
        fast core:   h^q_t = LSTM_q([x_t, a_{t−1}, r_{t−1}, hᵖ_t, μᵖ_t, σᵖ_t, z_{t−1}]; h^q_{t−1})
        posterior:   z_t ~ Q_t = N(μ^q, σ^q²) of h^q_t

    x_t are tanh layers over the observation, as in `RecurrentActorCritic`. It acts by the posterior; the prior is
    learned from. With period = τ = 1 there is one time scale. a_{t−1} and r_{t−1} come in through `feed`; rewards are
    compressed to sign(r)·log(1 + |r|), because those of an environment may have any scale.

    z_t = μ^q + σ^q·ε_t, where ε_t is a hash of everything observed in the episode (`noise`), so that an unroll draws
    the z of play. Weights are orthogonal as in `RecurrentActorCritic`; a mean has gain ½, which makes it about as large
    as the noise at first. σ = 0.1·softplus(u)/softplus(0) + 10⁻⁶.
    """

    architecture = "two-timescale-actor-critic"
    judging = ("value_head",)
    described = ("hidden", "memory", "latent", "period")
    period: Tensor

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        memory: int = MEMORY,
        latent: int = LATENT,
        period: int = PERIOD,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(observation, actions, hidden)
        self.memory, self.latent = memory, latent
        # A buffer, so that copies for live play follow it, but not a weight: agents that copy weights keep their own.
        self.register_buffer("period", torch.tensor(period), persistent=False)
        self.trunk = trunk_for(self.observation, self.hidden, Tanh, generator)
        self.slow_core = lstm_cell(memory, memory, generator)
        self.prior = _GaussianHead(memory, latent, generator)
        self.fast_core = lstm_cell(self.trunk.width + actions + 1 + memory + 3 * latent, memory, generator)
        self.posterior = _GaussianHead(memory, latent, generator)
        self.policy_head = _head(latent, memory, actions, 0.01, generator)
        self.value_head = _head(latent, memory, 1, 1.0, generator)

    def initial_state(self, n: int) -> State:
        device = self.prior.mean.weight.device

        def zeros(*sizes: int, dtype: torch.dtype = WEIGHTS) -> Tensor:
            return torch.zeros(n, *sizes, dtype=dtype, device=device)

        return TwoTimescaleState(
            fast=zeros(self.memory),
            fast_cell=zeros(self.memory),
            slow=zeros(self.memory),
            slow_cell=zeros(self.memory),
            latent=zeros(self.latent),
            fed=zeros(self.actions + 1),
            decisions=zeros(dtype=torch.int64),
            key=zeros(dtype=torch.int64),
        )

    def step(self, observations: Tensor, state: State) -> tuple[Tensor, State]:
        output, state = self.think(observations, state)
        return self.policy_head(output.latent), state

    def think(self, observations: Tensor, state: State) -> tuple[CoreOutput, State]:
        """The output for observations [n, ...], and the following state; see `core`."""
        return self.core(self.perceive(observations), state)

    def perceive(self, observations: Tensor) -> Percept:
        """Inputs of `core` that need no state, of observations [n, ...]."""
        rows = observations.flatten(1)
        return Percept(self.encode(rows), digest(rows))

    def core(self, seen: Percept, state: State, slow_gradient: float = 1.0) -> tuple[CoreOutput, State]:
        """The output, and the following state.

        slow_gradient multiplies the gradients that the fast core passes into the slow one.
        """
        before = TwoTimescaleState(*state)
        ticked = before.decisions % self.period == 0
        slow, slow_cell = before.slow, before.slow_cell
        if ticked.any():
            after = self.slow_core(before.fast, (slow, slow_cell))
            slow, slow_cell = (
                torch.where(ticked.unsqueeze(-1), new, old) for new, old in zip(after, (slow, slow_cell), strict=True)
            )
        prior = self.prior(slow)
        guidance = scale_gradient(torch.cat([slow, *prior], dim=-1), slow_gradient)
        inputs = torch.cat([seen.features, before.fed, guidance, before.latent], dim=-1)
        fast, fast_cell = self.fast_core(inputs, (before.fast, before.fast_cell))
        posterior = self.posterior(fast)
        key = absorb(before.key, seen.digest)
        latent = posterior.mean + posterior.std * standard_normal(key, self.latent)
        state = TwoTimescaleState(
            fast, fast_cell, slow, slow_cell, latent, torch.zeros_like(before.fed), before.decisions + 1, key
        )
        return CoreOutput(latent, posterior, prior, ticked), state

    def encode(self, rows: Tensor) -> Tensor:
        """Features, [..., width], of raw observations [..., observation_size]."""
        features: Tensor = self.trunk(bounded(self.layer_input(rows), self.observation))
        return features

    def feed(self, state: State, actions: Tensor, rewards: Tensor) -> State:
        fed = torch.zeros_like(TwoTimescaleState(*state).fed)
        fed.scatter_(-1, actions.unsqueeze(-1), 1.0)
        fed[:, -1] = rewards.sign() * rewards.abs().log1p()
        return TwoTimescaleState(*state)._replace(fed=fed)

    def set_period(self, period: int) -> None:
        """Change τ; episodes under way tick at its multiples from now on."""
        self.period.fill_(period)


def scale_gradient(numbers: Tensor, factor: float) -> Tensor:
    """The same numbers, with gradients times a factor."""
    apply: Callable[[Tensor, float], Tensor] = _ScaledGradient.apply  # typed by some versions of PyTorch alone
    return apply(numbers, factor)


class _ScaledGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, numbers: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return numbers.view_as(numbers)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0] * ctx.factor, None


class _GaussianHead(nn.Module):
    """A diagonal Gaussian from features [..., inputs]."""

    def __init__(self, inputs: int, size: int, generator: torch.Generator | None) -> None:
        super().__init__()
        self.mean = orthogonal_linear(inputs, size, 0.5, generator)
        self.spread = orthogonal_linear(inputs, size, 0.01, generator)

    def forward(self, features: Tensor) -> Gaussian:
        std = (PRIOR_STD / math.log(2)) * nn.functional.softplus(self.spread(features)) + _SMALLEST_STD
        return Gaussian(self.mean(features), std)


def _head(inputs: int, width: int, outputs: int, gain: float, generator: torch.Generator | None) -> nn.Sequential:
    layers = MLP(inputs, (width,), Tanh, generator)
    return nn.Sequential(*layers, orthogonal_linear(width, outputs, gain, generator))

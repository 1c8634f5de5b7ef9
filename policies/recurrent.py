"""Recurrent networks: policies with a memory, of one time scale (IMPALA) and of two (For The Win)."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ..envs.spec import ObservationSpec
from .dense_layers import Tanh
from .devices import WEIGHTS, in_float64
from .encoders import MLP, orthogonal_linear
from .external_memory import HEADS, WORD, ExternalMemory, Heads, Slots
from .networks import Network, State, bounded
from .sizes import HIDDEN, LATENT, MEMORY, PERIOD

PRIOR_STD = 0.1
"""Standard deviation of untrained distributions of z."""

_SMALLEST_STD = 1e-6


_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_FIRST, _SECOND = 0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64
"""Odd constants of SplitMix64 (Steele et al. 2014), as signed numbers."""


class RecurrentNetwork(Network):
    """Base class of policies with a memory: tanh layers over the observation, cores, and heads for π and V(s).

    A decision is `perceive`, which needs no state, then `think`. Weights are orthogonal, with gain √2 in the layers, 1
    in LSTMs and the value head, 0.01 in the policy head; biases are zero, in an LSTM's forget gate 1. Scaled
    observations are clipped to ±`SCALED_LIMIT`.
    """

    judging = ("value_head",)
    policy_head: nn.Module
    value_head: nn.Module

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int],
        memory: int,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__(observation, actions, hidden)
        self.memory = memory
        self.trunk = MLP(self.observation, self.hidden, Tanh, generator)

    def encode(self, rows: Tensor) -> Tensor:
        """Outputs of the layers, [..., width], of raw observations [..., observation.size]."""
        features: Tensor = self.trunk(bounded(self.layer_input(rows), self.observation))
        return features

    def perceive(self, observations: Tensor) -> tuple[Tensor, ...]:
        """Inputs of `think` that need no state, [n, ...] each, of observations [n, ...]."""
        return (self.encode(observations.flatten(1)),)

    def think(self, percept: tuple[Tensor, ...], state: State) -> tuple[Tensor, Any, State]:
        """Inputs of the heads, [n, width], what else a learner needs, and the following state."""
        raise NotImplementedError

    def step(self, observations: Tensor, state: State) -> tuple[Tensor, State]:
        features, _, state = self.think(self.perceive(observations), state)
        return self.policy_head(features), state


class RecurrentActorCritic(RecurrentNetwork):
    """One LSTM, whose output the heads read, as in IMPALA (Espeholt et al. 2018).

    The state is the LSTM's output h and cell c, [n, memory] each, zero at the start of an episode.
    """

    architecture = "recurrent-actor-critic"
    described = ("hidden", "memory")

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        memory: int = MEMORY,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(observation, actions, hidden, memory, generator)
        self.core = lstm_cell(self.trunk.width, memory, generator)
        self.policy_head = orthogonal_linear(memory, actions, 0.01, generator)
        self.value_head = orthogonal_linear(memory, 1, 1.0, generator)

    def initial_state(self, n: int) -> State:
        zeros = torch.zeros(n, self.memory, dtype=WEIGHTS, device=self.core.weight_hh.device)
        return zeros, zeros.clone()

    def think(self, percept: tuple[Tensor, ...], state: State) -> tuple[Tensor, None, State]:
        after: State = self.core(percept[0], state)
        return after[0], None, after


def lstm_cell(inputs: int, units: int, generator: torch.Generator | None) -> nn.LSTMCell:
    """An LSTM with orthogonal weights of gain 1, and biases of zero, in the forget gate 1."""
    cell = nn.LSTMCell(inputs, units, dtype=WEIGHTS)
    for weight in (cell.weight_ih, cell.weight_hh):
        nn.init.orthogonal_(weight, 1.0, generator)
    nn.init.zeros_(cell.bias_hh)
    nn.init.zeros_(cell.bias_ih)
    with torch.no_grad():
        cell.bias_ih[units : 2 * units] = 1.0  # PyTorch's order of the gates: input, forget, cell, output
    return cell


class Gaussian(NamedTuple):
    """A normal distribution of z with a diagonal covariance: mean and std, [..., latent] each."""

    mean: Tensor
    std: Tensor


class CoreOutput(NamedTuple):
    """The posterior Q of a decision's latent, which is drawn from it, the prior P, and whether the slow core ticked,
    bool [n]."""

    posterior: Gaussian
    prior: Gaussian
    ticked: Tensor


class TwoTimescaleState(NamedTuple):
    """The state of n episodes, without that of an external memory, which follows it; all zero at their start.

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


OWN, SHARED = len(TwoTimescaleState._fields), len(Slots._fields)


class TwoTimescaleActorCritic(RecurrentNetwork):
    """Two LSTMs, of which the slow one gives a latent z its prior and the fast one its posterior; heads that read z.

        slow core, at decisions 0, τ, 2τ, … of an episode:  hᵖ_t = LSTM_p(h^q_{t−1}; hᵖ_{t−1}), else hᵖ_t = hᵖ_{t−1}
        prior:                                              P_t = N(μᵖ, σᵖ²) of hᵖ_t
        fast core:   h^q_t = LSTM_q([x_t, a_{t−1}, r_{t−1}, hᵖ_t, μᵖ_t, σᵖ_t, z_{t−1}]; h^q_{t−1})
        posterior:   z_t ~ Q_t = N(μ^q, σ^q²) of h^q_t

    x_t are the tanh layers' outputs. It acts by the posterior; the prior is learned from. With period = τ = 1 there is
    one time scale. With `memory_slots`, both cores write and read one `ExternalMemory`, the slow one at its ticks; what
    a core has read is part of its next input, and of its Gaussian's. a_{t−1} and r_{t−1} come in through `feed`;
    rewards are compressed to sign(r)·log(1 + |r|), because those of an environment may have any scale.

    z_t = μ^q + σ^q·ε_t, where ε_t is a hash of everything observed in the episode (`digest`), so that an unroll draws
    the z of play. A Gaussian's mean has gain ½, which makes it about as large as the noise at first.
    σ = 0.1·softplus(u)/softplus(0) + 10⁻⁶.
    """

    architecture = "two-timescale-actor-critic"
    described = ("hidden", "memory", "latent", "period", "memory_slots")
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
        memory_slots: int = 0,
    ) -> None:
        """memory_slots: those of the external memory; 0: none."""
        super().__init__(observation, actions, hidden, memory, generator)
        self.latent, self.memory_slots = latent, memory_slots
        # A buffer, so that copies for live play follow it, but not a weight: agents that copy weights keep their own.
        self.register_buffer("period", torch.tensor(period), persistent=False)
        read = HEADS * WORD if memory_slots else 0
        self.slow_core = lstm_cell(memory + read, memory, generator)
        self.prior = _GaussianHead(memory + read, latent, generator)
        inputs = self.trunk.width + actions + 1 + memory + read + 3 * latent
        self.fast_core = lstm_cell(inputs + read, memory, generator)
        self.posterior = _GaussianHead(memory + read, latent, generator)
        self.policy_head = _head(latent, memory, actions, 0.01, generator)
        self.value_head = _head(latent, memory, 1, 1.0, generator)
        self.slow_memory, self.fast_memory = (
            ExternalMemory(memory, memory_slots, WORD, HEADS, generator) if memory_slots else None for _ in range(2)
        )

    def initial_state(self, n: int) -> State:
        device, sizes = self.prior.mean.weight.device, (*[self.memory] * 4, self.latent, self.actions + 1)
        numbers = (torch.zeros(n, size, dtype=WEIGHTS, device=device) for size in sizes)
        counts = torch.zeros(2, n, dtype=torch.int64, device=device)
        state = TwoTimescaleState(*numbers, *counts)
        if self.slow_memory is None or self.fast_memory is None:
            return state
        heads = (*self.slow_memory.initial_heads(n), *self.fast_memory.initial_heads(n))
        return (*state, *self.fast_memory.initial_slots(n), *heads)

    def perceive(self, observations: Tensor) -> tuple[Tensor, ...]:
        """Features, [n, width], and a digest for the noise, int64 [n]."""
        return *super().perceive(observations), digest(observations.flatten(1))

    def think(
        self, percept: tuple[Tensor, ...], state: State, slow_gradient: float = 1.0
    ) -> tuple[Tensor, CoreOutput, State]:
        """z, the output with it, and the following state.

        slow_gradient multiplies the gradients that the fast core passes into the slow one.
        """
        features, observed = percept
        before, (slots, slow_heads, fast_heads) = TwoTimescaleState(*state[:OWN]), _split(state[OWN:])
        ticked = before.decisions % self.period == 0
        slow: State = (before.slow, before.slow_cell)
        if ticked.any():
            after = _recur(self.slow_core, self.slow_memory, before.fast, slow, slots, slow_heads)
            slow, slots, slow_heads = (
                tuple(torch.where(_over(ticked, old), new, old) for new, old in zip(*pair, strict=True))
                for pair in zip(after, (slow, slots, slow_heads), strict=True)
            )
        summary = _with_reads(slow[0], slow_heads)
        prior = self.prior(summary)
        guidance = scale_gradient(torch.cat([summary, *prior], dim=-1), slow_gradient)
        inputs = torch.cat([features, before.fed, guidance, before.latent], dim=-1)
        fast: State = (before.fast, before.fast_cell)
        fast, slots, fast_heads = _recur(self.fast_core, self.fast_memory, inputs, fast, slots, fast_heads)
        posterior = self.posterior(_with_reads(fast[0], fast_heads))
        key = absorb(before.key, observed)
        latent = posterior.mean + posterior.std * standard_normal(key, self.latent)
        own = (*fast, *slow, latent, torch.zeros_like(before.fed), before.decisions + 1, key)
        return latent, CoreOutput(posterior, prior, ticked), (*own, *slots, *slow_heads, *fast_heads)

    def feed(self, state: State, actions: Tensor, rewards: Tensor) -> State:
        own = TwoTimescaleState(*state[:OWN])
        fed = torch.zeros_like(own.fed)
        fed.scatter_(-1, actions.unsqueeze(-1), 1.0)
        fed[:, -1] = rewards.sign() * rewards.abs().log1p()
        return (*own._replace(fed=fed), *state[OWN:])

    def set_period(self, period: int) -> None:
        """Change τ; episodes under way tick at its multiples from now on."""
        self.period.fill_(period)


def _split(remembered: State) -> tuple[State, State, State]:
    """Slots of an external memory, and the heads of the slow and the fast core; empty without one."""
    return remembered[:SHARED], remembered[SHARED : SHARED + 2], remembered[SHARED + 2 :]


def _recur(
    core: nn.LSTMCell, memory: ExternalMemory | None, inputs: Tensor, before: State, slots: State, heads: State
) -> tuple[State, State, State]:
    """A core's h and c, the slots and its heads after a step. It sees what it read last, then writes and reads."""
    after: State = core(_with_reads(inputs, heads), before)
    if memory is None:
        return after, slots, heads
    return after, *memory(after[0], Slots(*slots), Heads(*heads))


def _with_reads(numbers: Tensor, heads: State) -> Tensor:
    """The numbers, followed by what the heads have read, if there are any."""
    return torch.cat([numbers, heads[1]], dim=-1) if heads else numbers


def _over(rows: Tensor, part: Tensor) -> Tensor:
    """A mask of rows, [n], for a part of any shape [n, ...]."""
    return rows.view(-1, *[1] * (part.ndim - 1))


def scale_gradient(numbers: Tensor, factor: float) -> Tensor:
    """The same numbers, with gradients times a factor."""
    constant = numbers.detach()
    return constant + factor * (numbers - constant)


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


def digest(observations: Tensor) -> Tensor:
    """Hashes, int64 [n], of observations [n, size] float32 or uint8: of every bit and of their order.

    An unroll needs the noise of play, in any batch. A generator cannot provide it, because the rows of a batch would
    share its state; a hash of all observations of an episode can (counter-based random numbers, Salmon et al. 2011).
    """
    words = _words(observations)
    places = torch.arange(1, words.shape[-1] + 1, device=words.device)
    return (words * (_mixed(places * _GOLDEN) | 1)).sum(-1)


def absorb(keys: Tensor, digests: Tensor) -> Tensor:
    """The keys, int64 [n], of episodes after another observation each, given by its digest, int64 [n]."""
    return _mixed((keys ^ digests) + _GOLDEN)


def standard_normal(keys: Tensor, size: int) -> Tensor:
    """Independent standard normal numbers, float32 [n, size]: those of the keys, int64 [n]."""
    counters = torch.arange(1, size + 1, device=keys.device) * _GOLDEN
    bits = _shifted(_mixed(keys.unsqueeze(-1) + counters), 11)
    numbers: Tensor = torch.special.ndtri((in_float64(bits) + 0.5) * 2.0**-53)
    return numbers.float().to(keys.device)


def _words(observations: Tensor) -> Tensor:
    """The bits of observations as int64 [n, words]."""
    if observations.dtype == torch.uint8:
        return pad(observations, (0, -observations.shape[-1] % 8)).contiguous().view(torch.int64)
    return observations.contiguous().view(torch.int32).to(torch.int64)


def _mixed(numbers: Tensor) -> Tensor:
    numbers = (numbers ^ _shifted(numbers, 30)) * _FIRST
    numbers = (numbers ^ _shifted(numbers, 27)) * _SECOND
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Tensor, places: int) -> Tensor:
    """Logical right shift (that of signed numbers is arithmetic)."""
    shifted: Tensor = (numbers >> places) & (2 ** (64 - places) - 1)
    return shifted

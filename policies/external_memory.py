"""A differentiable memory that several cores read and write (DNC, Graves et al. 2016, "Hybrid computing using a neural
network with dynamic external memory").

N slots of W numbers; a core has R read heads and one write head. Symbols are the paper's: k keys, β their strengths, f
free gates, gᵃ and gʷ gates of allocation and writing, e and v what is erased and written, π read modes; u usage, w
weights of slots, p precedence, L links in the order of writing. Everything is zero at the start of an episode.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from .devices import WEIGHTS
from .encoders import orthogonal_linear

WORD, HEADS = 32, 4
"""Numbers in a slot, and read heads of a core."""

_SMALL = 1e-6


class Slots(NamedTuple):
    """The memory that all cores share: slots M [n, N, W], usage u [n, N], the last weights of writing wʷ [n, N],
    precedence p [n, N], and links L [n, N, N]: L[i, j] is near 1 where slot i was written right after slot j."""

    words: Tensor
    usage: Tensor
    write_weights: Tensor
    precedence: Tensor
    links: Tensor


class Heads(NamedTuple):
    """A core's own: the last weights of its read heads wʳ, [n, R, N], and what they read, [n, R·W]."""

    weights: Tensor
    reads: Tensor


class Interface(NamedTuple):
    """A core's demands on the memory: read keys [n, R, W] and strengths [n, R], write key [n, 1, W] and strength
    [n, 1], erase and write vectors [n, W], free gates [n, R], gates of allocation and writing [n, 1], read modes
    [n, R, 3]."""

    read_keys: Tensor
    read_strengths: Tensor
    write_key: Tensor
    write_strength: Tensor
    erase: Tensor
    write: Tensor
    free: Tensor
    allocation_gate: Tensor
    write_gate: Tensor
    modes: Tensor


def content_weights(words: Tensor, keys: Tensor, strengths: Tensor) -> Tensor:
    """C(M, k, β)[i] = softmax_i(β·cos(M[i], k)), [n, K, N], of slots [n, N, W], keys [n, K, W], strengths [n, K]."""
    norms = _norms(keys).unsqueeze(-1) * _norms(words).unsqueeze(-2)
    cosines = keys @ words.transpose(-1, -2) / (norms + _SMALL)
    return torch.softmax(strengths.unsqueeze(-1) * cosines, dim=-1)


def allocation(usage: Tensor) -> Tensor:
    """a[φ_j] = (1 − u[φ_j])·Π_{i<j} u[φ_i], φ the slots by rising usage, [n, N]; no gradient passes the order."""
    order = usage.detach().argsort(dim=-1, stable=True)
    rising = usage.gather(-1, order)
    before = torch.cat([torch.ones_like(rising[:, :1]), rising[:, :-1].cumprod(-1)], dim=-1)
    return torch.zeros_like(usage).scatter(-1, order, (1 - rising) * before)


def write(slots: Slots, heads: Heads, interface: Interface) -> Slots:
    """The slots after a core has written.

    ψ = Π_r (1 − f_r·wʳ_r),   u ← (u + wʷ − u∘wʷ)∘ψ,   wʷ ← gʷ·(gᵃ·a + (1 − gᵃ)·C(M, kʷ, βʷ))
    M ← M∘(1 − wʷ eᵀ) + wʷ vᵀ,   L[i, j] ← (1 − wʷ[i] − wʷ[j])·L[i, j] + wʷ[i]·p[j],   p ← (1 − Σ wʷ)·p + wʷ
    """
    retention = (1 - interface.free.unsqueeze(-1) * heads.weights).prod(dim=1)
    usage = (slots.usage + slots.write_weights - slots.usage * slots.write_weights) * retention
    by_content = content_weights(slots.words, interface.write_key, interface.write_strength).squeeze(1)
    gate = interface.allocation_gate
    w = interface.write_gate * (gate * allocation(usage) + (1 - gate) * by_content)
    one, other = w.unsqueeze(-1), w.unsqueeze(-2)
    words = slots.words * (1 - one * interface.erase.unsqueeze(1)) + one * interface.write.unsqueeze(1)
    links = (1 - one - other) * slots.links + one * slots.precedence.unsqueeze(-2)
    links = links * (1 - torch.eye(links.shape[-1], dtype=links.dtype, device=links.device))
    precedence = (1 - w.sum(-1, keepdim=True)) * slots.precedence + w
    return Slots(words, usage, w, precedence, links)


def read(slots: Slots, heads: Heads, interface: Interface) -> Heads:
    """wʳ ← π₁·Lᵀwʳ + π₂·C(M, kʳ, βʳ) + π₃·L wʳ, and r = Mᵀwʳ: backwards in the order of writing, by content, and
    forwards."""
    backward, forward = heads.weights @ slots.links, heads.weights @ slots.links.transpose(-1, -2)
    content = content_weights(slots.words, interface.read_keys, interface.read_strengths)
    first, second, third = interface.modes.unsqueeze(-1).unbind(-2)
    weights = first * backward + second * content + third * forward
    return Heads(weights, (weights @ slots.words).flatten(1))


class ExternalMemory(nn.Module):
    """A core's access to the memory, by an interface from its output h.

    What was read comes in through the core alone: words are as bounded as h is.
    """

    def __init__(self, units: int, slots: int, word: int, heads: int, generator: torch.Generator | None) -> None:
        super().__init__()
        self._slots, self._word, self._heads = slots, word, heads
        self._sizes = (heads * word, heads, word, 1, word, word, heads, 1, 1, 3 * heads)
        self.interface = orthogonal_linear(units, sum(self._sizes), 1.0, generator)

    def initial_slots(self, n: int) -> Slots:
        """An empty memory for n episodes."""
        size, word = self._slots, self._word
        return Slots(*map(self._zeros, ((n, size, word), (n, size), (n, size), (n, size), (n, size, size))))

    def initial_heads(self, n: int) -> Heads:
        return Heads(self._zeros((n, self._heads, self._slots)), self._zeros((n, self._heads * self._word)))

    def forward(self, output: Tensor, slots: Slots, heads: Heads) -> tuple[Slots, Heads]:
        """The memory and the heads after a core of this output, [n, units], has written and read."""
        interface = self.interface_of(output)
        slots = write(slots, heads, interface)
        return slots, read(slots, heads, interface)

    def interface_of(self, output: Tensor) -> Interface:
        """β = 1 + softplus; e, f, gᵃ and gʷ by the logistic function; π by softmax."""
        parts = self.interface(output).split(self._sizes, dim=-1)
        read_keys, read_strengths, write_key, write_strength, erase, vector, *gates, modes = parts
        free, allocate, gate = map(torch.sigmoid, gates)
        return Interface(
            read_keys.view(-1, self._heads, self._word), 1 + softplus(read_strengths), write_key.unsqueeze(1),
            1 + softplus(write_strength), torch.sigmoid(erase), vector, free, allocate, gate,
            torch.softmax(modes.view(-1, self._heads, 3), dim=-1),
        )  # fmt: skip

    def _zeros(self, shape: tuple[int, ...]) -> Tensor:
        return torch.zeros(shape, dtype=WEIGHTS, device=self.interface.weight.device)


def _norms(words: Tensor) -> Tensor:
    """Lengths of the last axis; the gradient of an empty slot's is 0."""
    return (words.square().sum(-1) + _SMALL**2).sqrt()

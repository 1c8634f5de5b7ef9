"""Standard normal noise computed from observations, so that an unroll reproduces the noise of play.

A policy with a random latent needs the same noise in play and in every later unroll, in any batch. A generator
cannot provide it, because the rows of a batch would share its state; a hash of all observations of an episode can
(counter-based random numbers, Salmon et al. 2011; the mixing function is that of SplitMix64, Steele et al. 2014).
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from .devices import in_float64

_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_FIRST, _SECOND = 0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64
"""Odd constants of SplitMix64, as signed numbers."""


def digest(observations: Tensor) -> Tensor:
    """Hashes, int64 [n], of observations [n, size] float32 or uint8: of every bit and of their order."""
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

"""Noise that is a hash of what was observed."""

import numpy as np
import pytest
import torch
from qwop.policies.recurrent import absorb, digest, standard_normal


def keys_of(*observations: torch.Tensor) -> torch.Tensor:
    keys = torch.zeros(len(observations[0]), dtype=torch.int64)
    for one in observations:
        keys = absorb(keys, digest(one))
    return keys


def test_the_numbers_are_standard_normal_and_independent() -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = standard_normal(keys_of(torch.randn(4000, 5, generator=generator)), 16).double()
    assert numbers.dtype == torch.float64
    assert numbers.mean(0).abs().max() < 0.08
    assert (numbers.std(0) - 1).abs().max() < 0.06
    assert (numbers.abs() > 1.96).double().mean().item() == pytest.approx(0.05, abs=0.005)
    covariance = torch.from_numpy(np.corrcoef(numbers.T.numpy()))
    assert (covariance - torch.eye(16)).abs().max() < 0.08
    following = numbers[1:] * numbers[:-1]
    assert following.mean(0).abs().max() < 0.08


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_a_key_depends_on_each_number_and_on_their_order(dtype: torch.dtype) -> None:
    seen = (torch.arange(2 * 11).reshape(2, 11) * 7 % 50).to(dtype)
    base = keys_of(seen)
    for place in range(11):
        other = seen.clone()
        other[0, place] += 1
        assert keys_of(other)[0] != base[0]
        assert keys_of(other)[1] == base[1]
    assert keys_of(seen.flip(1))[0] != base[0]
    assert keys_of(seen, seen + 1)[0] != keys_of(seen + 1, seen)[0]
    assert keys_of(seen, seen)[0] != base[0]


def test_rows_do_not_know_each_other() -> None:
    seen = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    together = standard_normal(keys_of(seen), 3)
    for row in range(5):
        assert torch.equal(standard_normal(keys_of(seen[row : row + 1]), 3)[0], together[row])


def test_the_mixing_is_that_of_splitmix64() -> None:
    """Without bits set, the numbers of key 0 are those of a SplitMix64 whose seed is 0; its first three words."""
    words = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    uniforms = torch.tensor([((word >> 11) + 0.5) * 2.0**-53 for word in words], dtype=torch.float64)
    numbers = standard_normal(torch.zeros(1, dtype=torch.int64), 3)[0]
    torch.testing.assert_close(torch.special.ndtr(numbers.double()), uniforms, rtol=1e-6, atol=1e-7)

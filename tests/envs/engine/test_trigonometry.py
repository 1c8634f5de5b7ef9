"""Sine and cosine: the original's, to the bit, on every machine."""

import hashlib
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.envs.engine.kernels import trigonometry
from qwop.envs.engine.kernels.lanes import EIGHT_LANES, FOUR_LANES, ONE_LANE, load, store
from qwop.envs.engine.kernels.trigonometry import sine_and_cosine

RECORDED = np.load(Path(__file__).parents[1] / "recorded_games.npz")["sine_cosine"].tobytes()
"""Digest of the original's values at 4,001 arguments."""

ORIGINAL_TABLE = "17173ddfc81eee03cdfacdeaceeab32521591d9df73099f2fe5adfcf669f9c79"
"""Digest of the 110 rows that the original has."""

SPECIAL = [
    0.0, -0.0, 5e-324, 1e-300, 2.0**-27, 0.126, math.nextafter(0.126, 0), 1 / 128, 1.5 / 128, 0.85546875,
    math.nextafter(0.85546875, 0), math.pi / 2, math.pi, 2.4262638092041016, math.nextafter(2.4262638092041016, 0), 1e7,
    # π/2 less these is nearest to another 1/128 than what the original makes of it for the cosine
    *(float.fromhex(x) for x in ("0x1.111fb54442d18p+0", "0x1.011fb54442d18p+0", "0x1.fe3f6a8885a31p-1")),
]  # fmt: skip


@numba.njit
def _calculate(lanes: Any, x: Any, out: Any) -> None:
    for place in range(0, len(x), len(lanes)):
        sine, cosine = sine_and_cosine(load(x, place, lanes))
        store(out[0], place, sine)
        store(out[1], place, cosine)


def calculated(x: Any, lanes: tuple[int, ...] = FOUR_LANES) -> NDArray[np.float64]:
    """Sines and cosines, [2, n]."""
    numbers = np.asarray(x, dtype=np.float64)
    padded = np.concatenate([numbers, np.zeros(-len(numbers) % len(lanes))])
    out = np.empty((2, len(padded)))
    _calculate(lanes, padded, out)
    return out[:, : len(numbers)]


def of_the_c_library(x: Any) -> NDArray[np.float64]:
    numbers = np.asarray(x).tolist()
    return np.array([[math.sin(number) for number in numbers], [math.cos(number) for number in numbers]])


def digest(values: NDArray[np.float64]) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(values.T).tobytes()).digest()


def assert_same_bits(one: NDArray[np.float64], two: NDArray[np.float64]) -> None:
    np.testing.assert_array_equal(one.view(np.int64), two.view(np.int64))


@pytest.mark.parametrize("lanes", [ONE_LANE, FOUR_LANES, EIGHT_LANES])
def test_recorded_values_come_out_to_the_bit(lanes: tuple[int, ...]) -> None:
    assert digest(calculated(np.linspace(-20, 20, 4001), lanes)) == RECORDED


def test_the_table_is_the_originals() -> None:
    assert hashlib.sha256(trigonometry._TABLE[:110].tobytes()).hexdigest() == ORIGINAL_TABLE


def test_the_table_holds_sines_and_cosines_to_a_hundred_bits() -> None:
    for k in range(0, 128, 9):
        terms = [(-1) ** (n // 2) * Fraction(k, 128) ** n / math.factorial(n) for n in range(30)]
        for exact, column in ((sum(terms[1::2]), 0), (sum(terms[::2]), 2)):
            high, low = trigonometry._TABLE[k, column : column + 2].tolist()
            assert high == float(exact)
            assert abs(exact - Fraction(high) - Fraction(low)) < Fraction(1, 2**100)


@pytest.mark.skipif(
    digest(of_the_c_library(np.linspace(-20, 20, 4001))) != RECORDED,
    reason="this C library's sine and cosine have other last bits than the original's",
)
@pytest.mark.parametrize("most", [0.13, 0.86, 2.5, 7.0, 50.0, 1e4, 1e8])
def test_the_c_library_agrees_to_the_bit(most: float) -> None:
    x = np.random.default_rng(0).uniform(-most, most, 60_000)
    assert_same_bits(calculated(x), of_the_c_library(x))
    assert_same_bits(calculated(SPECIAL), of_the_c_library(SPECIAL))


@given(st.lists(st.floats(-1e8, 1e8), min_size=1, max_size=16))
@settings(deadline=None, max_examples=300)
def test_every_lane_is_as_if_alone_and_near_the_truth(x: list[float]) -> None:
    together = calculated(x)
    assert_same_bits(together, calculated(x, ONE_LANE))
    assert_same_bits(together, calculated(x, EIGHT_LANES))
    np.testing.assert_allclose(together, of_the_c_library(x), rtol=3e-16, atol=0)


@given(st.floats(0, 1e8))
@settings(deadline=None, max_examples=200)
def test_the_sine_is_odd_and_the_cosine_even(x: float) -> None:
    (sine, cosine), (negative_sine, same_cosine) = calculated([x]).T[0], calculated([-x]).T[0]
    assert negative_sine == -sine
    assert math.copysign(1, negative_sine) == -math.copysign(1, sine)
    assert same_cosine == cosine


def test_special_arguments_are_the_same_in_every_lane() -> None:
    for turn in range(8):
        x = np.roll(SPECIAL, turn)
        assert_same_bits(calculated(x), calculated(x, ONE_LANE))

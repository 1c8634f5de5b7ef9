"""Operations on lanes, fused operations, sines and cosines: to the bit, on every machine."""

import hashlib
import math
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.envs.engine.kernels import trigonometry
from qwop.envs.engine.kernels.lanes import (
    EIGHT_LANES,
    FOUR_LANES,
    ONE_LANE,
    any_of,
    bit,
    bits_of,
    fused,
    joined,
    load,
    look_up,
    select,
    split,
    spread,
    square_root,
    store,
    with_sign_of,
)
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
        sine, cosine = sine_and_cosine(lanes, load(x, place, lanes))
        store(out[0], place, sine)
        store(out[1], place, cosine)


def calculated(x: Any, lanes: tuple[float, ...] = FOUR_LANES) -> NDArray[np.float64]:
    """Sines and cosines, [2, n], by fdlibm where the lanes are floating-point zeros."""
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


@pytest.mark.skipif(
    digest(of_the_c_library(np.linspace(-20, 20, 4001))) != RECORDED,
    reason="this C library's sine and cosine have other last bits than the original's",
)
def test_the_c_library_agrees_to_the_bit() -> None:
    draws = [np.random.default_rng(0).uniform(-most, most, 20_000) for most in (0.13, 0.86, 2.5, 7.0, 50.0, 1e4, 1e8)]
    x = np.concatenate([*draws, SPECIAL])
    assert_same_bits(calculated(x), of_the_c_library(x))


@given(st.lists(st.one_of(st.floats(-1e8, 1e8), st.sampled_from(SPECIAL)), min_size=1, max_size=16))
@settings(deadline=None, max_examples=300)
def test_every_lane_is_as_if_alone_and_near_the_truth(x: list[float]) -> None:
    together = calculated(x)
    assert_same_bits(together, calculated(x, ONE_LANE))
    assert_same_bits(together, calculated(x, EIGHT_LANES))
    np.testing.assert_allclose(together, of_the_c_library(x), rtol=3e-16, atol=0)


OF_V8 = "8dc88c609925bd1619afa05bf1972323ae678845018506880915d1945fb1ee16"
"""Digest of Math.sin and Math.cos of `ARGUMENTS` in V8 11.3, which computes them by fdlibm."""


def _arguments() -> NDArray[np.float64]:
    """Plain ones, the borders of the library's cases, and numbers with the high word of a multiple of π/2."""
    random = np.random.default_rng(20210219)
    multiples = np.arange(1, 64) * (math.pi / 2)
    words = multiples.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)
    close = (words[:, None] + random.integers(2**32, size=(len(words), 20), dtype=np.uint64)).view(np.float64).ravel()
    borders = np.array([0.0, 2.0**-28, 0.3, 0.78125, math.pi / 4, 3 * math.pi / 4, math.pi / 2])
    near = np.concatenate([np.nextafter(borders, -np.inf), borders, np.nextafter(borders, np.inf), multiples])
    positive = np.concatenate([random.uniform(0, 7, 4000), random.uniform(0, 500, 1000), close, near])
    return np.concatenate([positive, -positive])


ARGUMENTS = _arguments()


FDLIBM = (0.0,) * 4


@pytest.mark.parametrize("lanes", [FDLIBM, FDLIBM[:1]], ids=len)
def test_every_value_of_fdlibm_is_v8s(lanes: tuple[float, ...]) -> None:
    assert hashlib.sha256(calculated(ARGUMENTS, lanes).copy().tobytes()).hexdigest() == OF_V8


RESULTS = 25
TABLE = np.arange(512.0).reshape(128, 4)
ANY_NUMBERS = st.one_of(st.floats(-1e9, 1e9), st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-310, 1e300, -1e300]))


@numba.njit(error_model="numpy")
def _calculate_lanes(lanes: Any, x: Any, out: Any, masks: Any) -> None:
    """Everything that there is, of the numbers at 0, `width` and 2 · `width`."""
    width = len(lanes)
    a, b, c = load(x, 0, lanes), load(x, width, lanes), load(x, 2 * width, lanes)
    first, second = split(joined(a, b))
    sum_of_both = joined(a, b) + joined(b, c)
    third, fourth = split(sum_of_both)
    row = look_up(TABLE, abs(c) + 52776558133248.0)  # the last bits are 128 · |c|, rounded
    results = (
        a + b, a - b, a * b, a / b, -a, abs(a), min(a, b), max(a, b), 2.0 * a, a - 0.5, 1 - a,
        select(a < b, a, b), select((a <= b) & (b <= c), 1.0, 0.0), select((a > b) | (b >= c), c, -1.0),
        select((a == b) ^ (b != c), a, 7.0), fused(a, b, c), square_root(abs(a)), with_sign_of(a, b),
        first + third, second - fourth, spread(lanes, 3.0) + a, row[0], row[1], row[2] + row[3],
        select(bit(a, 0), 1.0, 0.0),
    )  # fmt: skip
    for place, result in enumerate(results):
        store(out, place * width, result)
    masks[0] = bits_of(a < b)
    masks[1] = any_of(a < b)


def calculated_lanes(lanes: tuple[int, ...], a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    out, masks = np.empty(RESULTS * len(lanes)), np.empty(2, dtype=np.int64)
    _calculate_lanes(lanes, np.concatenate([a, b, c]), out, masks)
    return out.reshape(RESULTS, len(lanes)), masks


@given(st.lists(st.tuples(ANY_NUMBERS, ANY_NUMBERS, ANY_NUMBERS), min_size=8, max_size=8))
@settings(deadline=None, max_examples=300)
def test_every_operation_rounds_each_lane_as_alone(numbers: list[tuple[float, float, float]]) -> None:
    columns = np.array(numbers).T
    for lanes in (FOUR_LANES, EIGHT_LANES):
        together, (bits, anywhere) = calculated_lanes(lanes, *columns[:, : len(lanes)])
        for lane in range(len(lanes)):
            alone, (bit_alone, _) = calculated_lanes(ONE_LANE, *columns[:, lane : lane + 1])
            np.testing.assert_array_equal(together[:, lane], alone[:, 0])
            assert bits >> lane & 1 == bit_alone
        assert anywhere == (bits != 0)


def test_operations_are_pythons() -> None:
    a, b, c = 3.7, -0.3, 0.25
    results, _ = calculated_lanes(ONE_LANE, [a], [b], [c])
    expected = [
        a + b, a - b, a * b, a / b, -a, abs(a), min(a, b), max(a, b), 2 * a, a - 0.5, 1 - a,
        b, 0.0, c, a, math.nan, math.sqrt(a), -a, a + (a + b), b - (b + c), 3 + a, 128.0, 129.0, 130.0 + 131.0,
        float(np.float64(a).view(np.int64) & 1),
    ]  # fmt: skip
    expected[15] = results[15, 0]  # Python below 3.13 has no fused operation
    np.testing.assert_array_equal(results[:, 0], expected)
    results, _ = calculated_lanes(ONE_LANE, [1 + 2.0**-30], [1 - 2.0**-30], [-1.0])
    assert results[15, 0] == -(2.0**-60)

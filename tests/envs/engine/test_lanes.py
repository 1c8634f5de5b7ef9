"""Lanes: what is done to many numbers at once is what is done to each."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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

RESULTS = 25
TABLE = np.arange(512.0).reshape(128, 4)
NUMBERS = st.one_of(st.floats(-1e9, 1e9), st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-310, 1e300, -1e300]))


@numba.njit(error_model="numpy")
def _calculate(lanes: Any, x: Any, out: Any, masks: Any) -> None:
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


def calculated(lanes: tuple[int, ...], a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    out, masks = np.empty(RESULTS * len(lanes)), np.empty(2, dtype=np.int64)
    _calculate(lanes, np.concatenate([a, b, c]), out, masks)
    return out.reshape(RESULTS, len(lanes)), masks


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=8, max_size=8))
@settings(deadline=None, max_examples=300)
def test_every_operation_rounds_each_lane_as_alone(numbers: list[tuple[float, float, float]]) -> None:
    columns = np.array(numbers).T
    for lanes in (FOUR_LANES, EIGHT_LANES):
        together, (bits, anywhere) = calculated(lanes, *columns[:, : len(lanes)])
        for lane in range(len(lanes)):
            alone, (bit_alone, _) = calculated(ONE_LANE, *columns[:, lane : lane + 1])
            np.testing.assert_array_equal(together[:, lane], alone[:, 0])
            assert bits >> lane & 1 == bit_alone
        assert anywhere == (bits != 0)


def test_operations_are_pythons() -> None:
    a, b, c = 3.7, -0.3, 0.25
    results, _ = calculated(ONE_LANE, [a], [b], [c])
    expected = [
        a + b, a - b, a * b, a / b, -a, abs(a), min(a, b), max(a, b), 2 * a, a - 0.5, 1 - a,
        b, 0.0, c, a, math.nan, math.sqrt(a), -a, a + (a + b), b - (b + c), 3 + a, 128.0, 129.0, 130.0 + 131.0,
        float(np.float64(a).view(np.int64) & 1),
    ]  # fmt: skip
    expected[15] = results[15, 0]  # Python below 3.13 has no fused operation; see the next test
    np.testing.assert_array_equal(results[:, 0], expected)


@pytest.mark.parametrize("lanes", [ONE_LANE, FOUR_LANES, EIGHT_LANES])
def test_a_fused_operation_rounds_once(lanes: tuple[int, ...]) -> None:
    a, b = 1 + 2.0**-30, 1 - 2.0**-30
    results, _ = calculated(lanes, *(np.full(len(lanes), number) for number in (a, b, -1.0)))
    assert a * b - 1.0 == 0.0
    assert (results[15] == -(2.0**-60)).all()

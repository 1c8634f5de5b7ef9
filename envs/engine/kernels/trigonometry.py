"""Sine and cosine as the original computes them, to the last bit, on every machine.

The original's are those of the GNU C library (IBM's Accurate Mathematical Library) on a processor that fuses
multiplications and additions. They are within 0.55 units of the last place, so not always the nearest double: equality
to the bit needs the same table, the same polynomials and the same roundings. Around k/128, with r the rest,

    sin(k/128 + r) = sin(k/128) cos(r) + cos(k/128) sin(r),

with short polynomials for sin(r) and cos(r).
"""

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from . import fdlibm
from .compiled import OPTIONS, inlined
from .lanes import any_of, bit, fused, look_up, select, with_sign_of

_SMALL = 0.126  # below, a polynomial alone gives the sine
_NEAR = 0.85546875  # up to here the argument needs no reduction
_MIDDLE = float.fromhex("0x1.368fdp1")  # up to here π/2 − |x| reduces it; about 2.4263
_TO_128TH = float.fromhex("0x1.8p45")  # added to a number, leaves it rounded to a multiple of 1/128
_TO_WHOLE = float.fromhex("0x1.8p52")
_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
# π/2 in two parts, and in four short ones whose products with whole numbers are exact.
_HALF_PI, _HALF_PI_REST = float.fromhex("0x1.921fb54442d18p0"), float.fromhex("0x1.1a62633145c07p-54")
_HALF_PI_1, _HALF_PI_2 = float.fromhex("0x1.921fb58p0"), float.fromhex("-0x1.dde973cp-27")
_HALF_PI_3, _HALF_PI_4 = float.fromhex("-0x1.cb3b398p-55"), float.fromhex("-0x1.d747f23e32ed7p-83")
# sin x ≈ x + S1 x³ + … for small x
_S1, _S2, _S3, _S4, _S5 = (
    float.fromhex(number)
    for number in (
        "-0x1.5555555555555p-3", "0x1.1111111110ecep-7", "-0x1.a01a019db08b8p-13",
        "0x1.71de27b9a7ed9p-19", "-0x1.addffc2fcdf59p-26",
    )
)  # fmt: skip
# sin r ≈ r + R3 r³ + R5 r⁵, 1 − cos r ≈ C2 r² + C4 r⁴ + C6 r⁶ for |r| ≤ 1/256
_R3, _R5 = -1.66666666666664880952546298448555e-01, 8.33333214285722277379541354343671e-03
_C2, _C4 = 4.99999999999999999999950396842453e-01, -4.16666666666664434524222570944589e-02
_C6 = 1.38888874007937613028114285595617e-03

# Where the low part of an entry in the original's table is not the nearest double, in units of its last place.
_OFF = {
    (2, 1): -1, (10, 1): -1, (23, 1): -39, (26, 3): 1, (27, 1): -1, (33, 1): -1, (34, 1): -1, (36, 1): 1, (40, 1): -2,
    (44, 3): -1, (70, 3): 1, (75, 1): -1, (75, 3): 2, (79, 3): 1, (85, 1): -1, (90, 1): -2, (94, 1): 1, (107, 1): 1,
}  # fmt: skip


def _table() -> NDArray[np.float64]:
    """sin(k/128) and cos(k/128), each a double and the double nearest to what that leaves; float64 [128, 4]."""
    bits = 200
    one = 1 << bits
    step_sine, step_cosine = _sine_and_cosine_of_step(bits)
    sine, cosine = 0, one
    rows = np.empty((128, 4))
    for k in range(128):
        for column, exact in ((0, sine), (2, cosine)):
            high = exact / one
            numerator, denominator = high.as_integer_ratio()
            low = (exact * denominator - numerator * one) / (one * denominator)
            low += _OFF.get((k, column + 1), 0) * np.spacing(abs(low))
            rows[k, column : column + 2] = high, low
        sine, cosine = (
            (sine * step_cosine + cosine * step_sine) >> bits,
            (cosine * step_cosine - sine * step_sine) >> bits,
        )
    return rows


def _sine_and_cosine_of_step(bits: int) -> tuple[int, int]:
    """sin(1/128) and cos(1/128) in units of 2^-bits, by Taylor's series."""
    sums = [0, 0]
    term, n = 1 << bits, 0
    while term:
        sums[n % 2] += term if n % 4 < 2 else -term
        n += 1
        term = (term >> 7) // n
    return sums[1], sums[0]


_TABLE = _table()


@inlined
def _reduced(x):
    """x less the nearest multiple n of π/2 as a sum of two numbers, and a number whose last two bits are n's."""
    shifted = fused(x, _TWO_OVER_PI, _TO_WHOLE)
    n = shifted - _TO_WHOLE
    rest = fused(-n, _HALF_PI_2, fused(-n, _HALF_PI_1, x))
    high = fused(-n, _HALF_PI_3, rest)
    low = fused(-n, _HALF_PI_3, rest - high)
    higher = fused(-n, _HALF_PI_4, high)
    low += fused(-n, _HALF_PI_4, high - higher)
    return higher, low, shifted


@inlined
def _small_sine(a, da):
    square = a * a
    series = fused(square, fused(square, fused(square, fused(square, _S5, _S4), _S3), _S2), _S1)
    return a + fused(square, fused(series, a, -(0.5 * da)), da)


@inlined
def _table_sine(a, da, rounded, row):
    """sin(a + da); `rounded`, |a| to the nearest 1/128, plus _TO_128TH."""
    sin_k, sin_rest, cos_k, cos_rest = row
    da = select(a < 0.0, -da, da)
    r = abs(a) - (rounded - _TO_128TH)
    square = r * r
    s = r + fused(r * square, fused(square, _R5, _R3), da)
    c = fused(r, da, square * fused(square, fused(square, _C6, _C4), _C2))
    correction = fused(s, cos_k, fused(-c, sin_k, fused(s, cos_rest, sin_rest)))
    return with_sign_of(sin_k + correction, a)


@inlined
def _table_cosine(a, da, rounded, row):
    """cos(a + da); `rounded`, |a| to the nearest 1/128, plus _TO_128TH."""
    sin_k, sin_rest, cos_k, cos_rest = row
    da = select(a < 0.0, -da, da)
    r = abs(a) - (rounded - _TO_128TH) + da
    square = r * r
    s = fused(r * square, fused(square, _R5, _R3), r)
    c = square * fused(square, fused(square, _C6, _C4), _C2)
    correction = fused(-s, sin_k, fused(-c, cos_k, fused(-s, sin_rest, cos_rest)))
    return cos_k + correction


@inlined
def gnu_sine_and_cosine(x):
    """sin x and cos x, of a number or of lanes of them; |x| < 10⁸."""
    size = abs(x)
    near = size < _NEAR
    from_half_pi = _HALF_PI - size
    a = select(near, x, from_half_pi + _HALF_PI_REST)
    da = select(near, 0.0, (from_half_pi - a) + _HALF_PI_REST)
    # The original does not normalise π/2 − |x| where it takes the cosine of it.
    b = select(near, x, from_half_pi)
    db = select(near, 0.0, _HALF_PI_REST)
    swapped = size >= _NEAR
    sine_negative = swapped & (x < 0.0)
    cosine_negative = swapped & near  # nowhere
    far = size >= _MIDDLE
    if any_of(far):
        reduced, rest, quadrant = _reduced(x)
        a, da = select(far, reduced, a), select(far, rest, da)
        b, db = select(far, reduced, b), select(far, rest, db)
        odd, back = bit(quadrant, 0), bit(quadrant, 1)
        swapped = select(far, odd, swapped)
        sine_negative = select(far, back, sine_negative)
        cosine_negative = far & (back ^ odd)

    rounded = abs(a) + _TO_128TH
    row = look_up(_TABLE, rounded)
    sine = _table_sine(a, da, rounded, row)
    small = abs(a) < _SMALL
    if any_of(small):
        sine = select(small, with_sign_of(_small_sine(a, da), a), sine)
    rounded_b = abs(b) + _TO_128TH
    cosine = _table_cosine(b, db, rounded_b, row)
    other_row = rounded_b != rounded
    if any_of(other_row):
        cosine = select(other_row, _table_cosine(b, db, rounded_b, look_up(_TABLE, rounded_b)), cosine)

    sine, cosine = select(swapped, cosine, sine), select(swapped, sine, cosine)
    return select(sine_negative, -sine, sine), select(cosine_negative, -cosine, cosine)


def sine_and_cosine(lanes, x):
    """Compute sin x and cos x by the library of the browser that is simulated, of a number or of lanes of them.

    Chromium has computed them by the C library's algorithm since 2023, and by fdlibm's before. The two differ in the
    last bit of some arguments, so a game recorded in an older browser replays exactly only with the latter. The type of
    `lanes`, a tuple of zeros (see `lanes`), names the library: integer zeros stand for today's, floating-point zeros
    for fdlibm. The compiler makes the choice, so it costs nothing at run time.
    """
    raise NotImplementedError("sine_and_cosine is for kernels; math.sin and math.cos are for Python")


_INLINED: Any = {**OPTIONS, "forceinline": True}


@overload(sine_and_cosine, jit_options=_INLINED)
def _sine_and_cosine(lanes, x):
    chosen = fdlibm.sine_and_cosine if isinstance(lanes.dtype, types.Float) else gnu_sine_and_cosine
    return lambda lanes, x: chosen(x)

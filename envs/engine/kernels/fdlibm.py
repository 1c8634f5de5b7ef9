"""Sine and cosine as Chrome computed them until 2023, to the last bit: those of Sun's library fdlibm 5.3.

The published recordings were made in such a browser. Two short polynomials serve |x| ≤ π/4; anything larger is
reduced by a multiple of π/2 first, in as many parts as the cancellation calls for.
"""

from .compiled import inlined, kernel
from .lanes import any_of, bit, masked, select, with_sign_of

_HIGH_WORD = 0xFFFFFFFF00000000
_EXPONENT = 0x7FF0000000000000

_QUARTER_PI = float.fromhex("0x1.921fcp-1")  # the original compares high words alone: up to and including π/4's
_THREE_QUARTERS_PI = float.fromhex("0x1.2d97cp1")
_HALF_PI = float.fromhex("0x1.921fb54442d18p0")
_SHORT_OF_0_3 = float.fromhex("0x1.33333p-2")
_PAST_0_78125 = float.fromhex("0x1.90001p-1")
_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
_TO_WHOLE = float.fromhex("0x1.8p52")
# π/2 in three parts of 33 bits, and what each leaves.
_PART_1, _REST_1 = float.fromhex("0x1.921fb544p0"), float.fromhex("0x1.0b4611a626331p-34")
_PART_2, _REST_2 = float.fromhex("0x1.0b4611a6p-34"), float.fromhex("0x1.3198a2e037073p-69")
_PART_3, _REST_3 = float.fromhex("0x1.3198a2ep-69"), float.fromhex("0x1.b839a252049c1p-104")

_S1, _S2, _S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
_S4, _S5, _S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
_C1, _C2, _C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
_C4, _C5, _C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


@inlined
def _reduced(x):
    """Return x − nπ/2 for the nearest n as a sum of two numbers, and a number with n's last two bits; |n| < 2²⁰."""
    size = abs(x)
    # n = ⌊size · 2/π + 1/2⌋; where size < 3π/4 it is 1.
    quotient = size * _TWO_OVER_PI + 0.5
    shifted = quotient + _TO_WHOLE
    n = shifted - _TO_WHOLE
    above = n > quotient
    shifted = select(above, shifted - 1.0, shifted)
    n = select(above, n - 1.0, n)
    first = size < _THREE_QUARTERS_PI
    shifted = select(first, _TO_WHOLE + 1.0, shifted)
    n = select(first, 1.0, n)
    r = size - n * _PART_1
    w = n * _REST_1
    high = r - w
    # More parts only where the argument has the high word of n · π/2, or n is large.
    at_multiple = (masked(size, _HIGH_WORD) == masked(n * _HALF_PI, _HIGH_WORD)) | (n > 31.0)
    scale = masked(size, _EXPONENT)
    closer = at_multiple & ((abs(high) < scale * 2.0**-16) | first)
    if any_of(closer):
        rest = r - n * _PART_2
        left = n * _REST_2 - ((r - rest) - n * _PART_2)
        # For n = 1 the original leaves the rounding of the second part out.
        left = select(first, _REST_2, left)
        r, w = select(closer, rest, r), select(closer, left, w)
        high = r - w
        closest = closer & (abs(high) < scale * 2.0**-49) & (n > 1.0)
        if any_of(closest):
            rest = r - n * _PART_3
            left = n * _REST_3 - ((r - rest) - n * _PART_3)
            r, w = select(closest, rest, r), select(closest, left, w)
            high = r - w
    low = (r - high) - w
    return high, low, shifted


@inlined
def _kernel_sine(x, y, exact):
    """sin(x + y) for |x| ≤ π/4; `exact`: y is 0."""
    z = x * x
    v = z * x
    r = _S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))
    return select(exact, with_sign_of(x + v * (_S1 + z * r), x), x - ((z * (0.5 * y - v * r) - y) - v * _S1))


@inlined
def _kernel_cosine(x, y):
    """cos(x + y) for |x| ≤ π/4."""
    z = x * x
    r = z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6)))))
    size = abs(x)
    quarter = select(size >= _PAST_0_78125, 0.28125, masked(size, _HIGH_WORD) * 0.25)
    large = (1.0 - quarter) - ((0.5 * z - quarter) - (z * r - x * y))
    return select(size < _SHORT_OF_0_3, 1.0 - (0.5 * z - (z * r - x * y)), large)


@kernel  # inlined, it would take minutes to compile
def sine_and_cosine(x):
    """sin x and cos x, of a number or of lanes of them; |x| < 8 · 10⁵."""
    near = abs(x) < _QUARTER_PI
    high, low, shifted = _reduced(x)
    negative = x < 0.0
    a = select(near, x, select(negative, -high, high))
    da = select(near, 0.0, select(negative, -low, low))
    sine, cosine = _kernel_sine(a, da, near), _kernel_cosine(a, da)
    # n of −x is −n: its last bit is the same, and its last but one the other where the last is set.
    odd = bit(shifted, 0) & (abs(x) >= _QUARTER_PI)
    back = bit(shifted, 1) & (abs(x) >= _QUARTER_PI)
    back_sine = back ^ (odd & negative)
    sine, cosine = select(odd, cosine, sine), select(odd, sine, cosine)
    return select(back_sine, -sine, sine), select(back_sine ^ odd, -cosine, cosine)

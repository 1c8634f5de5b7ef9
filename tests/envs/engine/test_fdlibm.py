"""fdlibm's sine and cosine, to the bit, against V8's of before 2023."""

import hashlib
import math
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.envs.engine.kernels.lanes import load, store
from qwop.envs.engine.kernels.libraries import sine_and_cosine

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


@numba.njit
def _calculate(lanes: Any, x: Any, out: Any) -> None:
    for place in range(0, len(x), len(lanes)):
        sine, cosine = sine_and_cosine(lanes, load(x, place, lanes))
        store(out[0], place, sine)
        store(out[1], place, cosine)


def calculated(x: NDArray[np.float64], trigonometry: str, width: int = 4) -> NDArray[np.float64]:
    padded = np.concatenate([x, np.zeros(-len(x) % width)])
    out = np.empty((2, len(padded)))
    _calculate((0 if trigonometry == "current" else 0.0,) * width, padded, out)
    return out[:, : len(x)].copy()


@pytest.mark.parametrize("width", [1, 4])
def test_every_value_is_v8s(width: int) -> None:
    assert hashlib.sha256(calculated(ARGUMENTS, "fdlibm", width).tobytes()).hexdigest() == OF_V8


def test_the_signs_of_zero_are_kept() -> None:
    sine, cosine = calculated(np.array([0.0, -0.0]), "fdlibm")
    assert np.signbit(sine).tolist() == [False, True]
    assert cosine.tolist() == [1.0, 1.0]


def test_it_differs_from_todays_in_the_last_bit_of_some() -> None:
    then, now = calculated(ARGUMENTS, "fdlibm"), calculated(ARGUMENTS, "current")
    differing = (then != now).mean()
    assert 0.01 < differing < 0.1
    np.testing.assert_allclose(then, now, rtol=0, atol=2.3e-16)


def test_kernels_alone_call_it() -> None:
    with pytest.raises(NotImplementedError, match="kernels"):
        sine_and_cosine((0,), 1.0)

"""Kernels of the engine take indices as they are; other functions of numba's still count negative ones from the end."""

import numba
import numpy as np
import pytest
from numba.core import errors
from qwop.envs.engine import linking
from qwop.envs.engine.indices import not_negative

NUMBERS = np.array([1.0, 2.0, 3.0])


def taken(numbers, place):
    return numbers[place]


def put(numbers, place):
    numbers[place] = 4.0


@pytest.mark.parametrize("function", [taken, put])
def test_the_sign_of_an_index_is_not_looked_at(function):
    kinds = numba.typeof(NUMBERS), numba.int32
    usual = numba.njit(function)
    usual.compile(kinds)
    kernel = numba.njit(function, pipeline_class=linking.Whole)
    kernel.compile(kinds)
    later = numba.njit(function)
    later.compile(kinds)
    signs = [_looks_at_signs(dispatcher) for dispatcher in (usual, kernel, later)]
    assert signs == [True, False, True]


def _looks_at_signs(dispatcher):
    return "icmp slt" in str(dispatcher.inspect_llvm(dispatcher.signatures[0]))


def test_a_kernel_that_another_one_calls_leaves_it_at_that():
    with not_negative():
        with not_negative():
            pass
        kernel = numba.njit(taken)
        kernel(NUMBERS, 1)
    assert not _looks_at_signs(kernel)


def test_kernels_read_and_write_where_they_are_told():
    numbers = NUMBERS.copy()
    with not_negative():
        assert [numba.njit(taken)(numbers, place) for place in range(3)] == [1.0, 2.0, 3.0]
        numba.njit(put)(numbers, 1)
    assert numbers.tolist() == [1.0, 4.0, 3.0]


def test_numba_counts_from_the_end_after_an_error():
    with pytest.raises(errors.TypingError), not_negative():
        numba.njit(taken)(NUMBERS, "one")
    assert numba.njit(taken)(NUMBERS, -1) == 3.0

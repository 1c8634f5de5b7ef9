"""The learners' compiled functions, until their losses are PyTorch's."""

import numba

kernel = numba.njit(nogil=True, error_model="numpy", cache=True)
"""Decorator of a function that Python calls. Functions that only kernels call are parts of them, and need none."""

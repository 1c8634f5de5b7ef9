"""The learners' compiled functions, kept on disk, because compiling takes seconds at the start of every run."""

from pathlib import Path

from ..common.kernel_cache import KernelGroup, on_disk

kernel = on_disk(KernelGroup("learners", (Path(__file__).parent,)), nogil=True, error_model="numpy")
"""Decorator of a function that Python calls. Functions that only kernels call are parts of them, and need none."""

"""Comparison of runs: rows of several seeds, their figures with intervals, learning curves and a page."""

from ..common.lazy import make_callable

make_callable(__name__, "qwop.compare.main:compare")

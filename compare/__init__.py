"""Comparison of runs: rows of several seeds, their figures with intervals, learning curves and a page.

The package can be called, as `qwop.compare` is also the name of its function.
"""

import sys
from types import ModuleType
from typing import Any


class _Compare(ModuleType):
    def __call__(self, *rows: Any, **settings: Any) -> Any:
        from .main import compare

        return compare(*rows, **settings)


sys.modules[__name__].__class__ = _Compare

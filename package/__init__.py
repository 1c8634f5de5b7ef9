"""From recorded games of QWOP to a runner: record, clone, fine-tune with demonstrations in replay, evaluate."""

from importlib.metadata import version

__version__ = version("qwop")

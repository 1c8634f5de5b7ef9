"""The end of what gave a result: a failure there is a note, because the result is there already."""

import sys
from collections.abc import Callable

from .checks import LONGEST_REASON, printable, quoted

_noted: set[str] = set()
"""Notes that were printed; many games of one environment fail alike."""


def close_after_use(close: Callable[[], object], name: str) -> None:
    """Close something that was used; if that fails, print a note that names it, once."""
    try:
        close()
    except Exception as error:
        why = f"{type(error).__name__}: {quoted(str(error).strip().partition(chr(10))[0], LONGEST_REASON)}"
        note = printable(f"note: {name}: closing it failed ({why}); nothing that was finished is lost")
        if note not in _noted:
            _noted.add(note)
            print(note, file=sys.stderr)

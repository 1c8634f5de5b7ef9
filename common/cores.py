"""The processor's cores."""

import os
import threading

_of_thread = threading.local()


def cores() -> int:
    """Return the number of cores that this thread may use: all those of the process, or as many as `use_cores` set."""
    mine: int | None = getattr(_of_thread, "number", None)
    if mine is not None:
        return mine
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_cores(number: int) -> None:
    """Set the number of cores that this thread may use from now on."""
    _of_thread.number = number

"""Ctrl-C while a program still imports, before there is anything to finish."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

EXIT_INTERRUPTED = 130


@contextmanager
def ends_at_once(program: str) -> Iterator[None]:
    """Context manager: Ctrl-C ends the program within, with one line and exit code 130.

    An exception would not do: what is being imported may turn it into one of its own.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> NoReturn:
        sys.stdout.flush()
        os.write(2, f"\n{program}: interrupted\n".encode())
        os._exit(EXIT_INTERRUPTED)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

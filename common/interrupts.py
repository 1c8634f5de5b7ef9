"""Signals that end a program: while it still imports, and in the middle of work that must reach a good place first."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

EXIT_INTERRUPTED = 130

ENDING = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]
"""Signals that end a program: Ctrl-C, a request to end, and the closing of its terminal."""


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


@contextmanager
def quiet_end() -> Iterator[None]:
    """Context manager around all of a program: Ctrl-C again, while it says that it was interrupted or leaves, ends it
    without a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    finally:
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL)


class Deferred:
    """Context manager: a signal that would raise waits until `deliver`. A second one raises at once, unless `patient`.

    Within `at_once`, the first one raises at once, too. Signals that are ignored, or that end the process, are left
    alone; so are all of them outside the main thread.
    """

    def __init__(self, *, patient: bool = False) -> None:
        self._patient = patient
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._received: int | None = None
        self._at_once = False

    @property
    def received(self) -> bool:
        """True once a signal has arrived."""
        return self._received is not None

    def __enter__(self) -> "Deferred":
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in ENDING}
            self._handlers = {number: one for number, one in handlers.items() if callable(one)}
            for number in self._handlers:
                signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def deliver(self) -> None:
        """Raise what the first signal's own handler raises, if one has arrived."""
        if self._received is not None:
            self._handlers[self._received](self._received, None)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Context manager: signals raise at once within."""
        self.deliver()
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first, self._received = self._received is None, number
        if self._at_once or not (first or self._patient):
            self._handlers[number](number, frame)

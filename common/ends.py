"""The ends of commands: errors that a person can mend, signals and lost output, as one line and an exit code."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, NoReturn

from .errors import LONGEST_REASON, BadInput, printable, quoted

EXIT_BAD_INPUT, EXIT_CLOSED = 2, 141
"""Exit codes: an error that a person can mend, and an output that nobody reads (`| head -1`), as by SIGPIPE."""

EXIT_SIGNAL = 128
"""Exit code of a program ended by a signal, minus the signal's number: 130 for Ctrl-C."""

CLOSED = "standard output was closed by what reads it"

ENDING = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]
"""Signals that end a program: Ctrl-C, a request to end, and the closing of its terminal."""

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
"""Errors of a disk that accepts no more data: full, over a quota or file-size limit, or now read-only."""


@contextmanager
def one_line_end(program: str) -> Iterator[None]:
    """Context manager: end the program with one line on stderr and an exit code, for errors that the user can fix and
    for signals. What was printed is written, or the line says that it cannot be. Failures of a disk in other threads
    are not reported: the thread that writes through them raises them."""
    report, threading.excepthook = threading.excepthook, _report_failure
    try:
        with ending_signals() as signals:
            try:
                yield
            except Exception as error:
                # Some libraries raise an error of their own when a signal arrives.
                if signals:
                    raise KeyboardInterrupt(signals[-1]) from error
                raise
    except BadInput as error:
        _end(program, printable(str(error)))
    except BrokenPipeError:
        _end(program, CLOSED, EXIT_CLOSED)
    except OSError as error:
        if error.filename is None and error.errno == errno.ENOENT:
            _end(program, "the working folder is gone; go into one that is there")
        if error.filename is None and error.errno not in NO_ROOM:
            raise
        where = f"{printable(os.fsdecode(error.filename))}: " if error.filename else ""
        _end(program, f"{where}{error.strerror}; what was finished is kept: make room or permit it, and go on")
    except Exception as error:
        if not lacks_memory(error):
            raise
        reason = quoted(str(error).splitlines()[0] if str(error) else "not enough memory", LONGEST_REASON)
        advice = "what was finished is kept: give smaller settings, or more memory, and go on"
        _end(program, f"out of memory ({reason}); {advice}")
    except KeyboardInterrupt as interruption:
        _end(f"\n{program}", "interrupted", EXIT_SIGNAL + (*interruption.args, signal.SIGINT)[0])
    finally:
        threading.excepthook = report
        _flush_or_end(program)


def _end(program: str, message: str, code: int = EXIT_BAD_INPUT) -> NoReturn:
    print(f"{program}: {message}", file=sys.stderr)
    sys.exit(code)


def _flush_or_end(program: str) -> None:
    """Write what was printed; where that is not possible, drop it, which Python would try again, and end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            _end(program, CLOSED, EXIT_CLOSED)
        _end(program, f"standard output cannot be written ({error.strerror})")


def _report_failure(failure: threading.ExceptHookArgs) -> None:
    if not isinstance(failure.exc_value, OSError):
        threading.__excepthook__(failure)


def lacks_memory(error: BaseException) -> bool:
    """True for the errors with which Python, NumPy and PyTorch say that there is not enough memory."""
    by_pytorch = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and by_pytorch)


@contextmanager
def ending_signals() -> Iterator[list[int]]:
    """SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt with their number within, unless they are ignored (nohup).

    Yields the signals received so far, also by an outer context. Only for the main thread.
    """
    before = _replaced(_interrupt, lambda handler: handler in (signal.SIG_DFL, signal.default_int_handler))
    if before:
        _arrivals.clear()
    try:
        yield _arrivals
    finally:
        _restore(before)


_arrivals: list[int] = []


def _interrupt(number: int, frame: FrameType | None) -> None:
    _arrivals.append(number)
    raise KeyboardInterrupt(number)


def _replaced(handler: Any, replaces: Callable[[Any], bool]) -> dict[int, Any]:
    """Set the handler of the signals that end a program, in place of those that it replaces, which are returned. Only
    the main thread has handlers."""
    main = threading.current_thread() is threading.main_thread()
    before = {number: old for number in ENDING if main and replaces(old := signal.getsignal(number))}
    for number in before:
        signal.signal(number, handler)
    return before


def _restore(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


class Deferred:
    """Context manager: a signal that would raise waits until `deliver`. A second one raises at once, unless `patient`.

    Within `at_once`, the first one raises at once, too. Signals that are ignored, or that end the process, are left
    alone; so are all of them outside the main thread.
    """

    def __init__(self, *, patient: bool = False) -> None:
        self._patient, self._at_once = patient, False
        self._handlers: dict[int, Any] = {}
        self._signal: int | None = None

    @property
    def pending(self) -> bool:
        """True once a signal has arrived."""
        return self._signal is not None

    def __enter__(self) -> "Deferred":
        self._handlers = _replaced(self._handle, callable)
        return self

    def __exit__(self, *_: object) -> None:
        _restore(self._handlers)

    def deliver(self) -> None:
        """Raise what the first signal's own handler raises, if one has arrived."""
        if self._signal is not None:
            self._handlers[self._signal](self._signal, None)

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
        first, self._signal = self._signal is None, number
        if self._at_once or not (first or self._patient):
            self._handlers[number](number, frame)


@cache  # many games of one environment fail alike
def _note(text: str) -> None:
    print(text, file=sys.stderr)


def close_after_use(close: Callable[[], object], name: str) -> None:
    """Close something that was used; if that fails, print a note that names it, once."""
    try:
        close()
    except Exception as error:
        why = f"{type(error).__name__}: {quoted(str(error).strip().partition(chr(10))[0], LONGEST_REASON)}"
        _note(printable(f"note: {name}: closing it failed ({why}); nothing that was finished is lost"))

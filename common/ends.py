"""The ends of commands: errors that a person can mend, and signals, as one line on stderr and an exit code."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from .checks import LONGEST_REASON, printable, quoted
from .errors import BadInput
from .interrupts import ENDING, EXIT_INTERRUPTED
from .output import OutputLost

EXIT_BAD_INPUT = 2
EXIT_SIGNAL = 128
"""Exit code of a program ended by a signal, minus the signal's number."""

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
"""Errors of a disk that accepts no more data: full, over a quota or file-size limit, or now read-only."""

GONE = {errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO, errno.ESTALE, errno.ENODEV}
"""Errors of a place that existed before: permissions lost, a folder moved away, a drive that failed."""

FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
"""Errors of a place that may not be entered, read or written."""

IN_THE_WAY = {errno.EEXIST, errno.ENOTEMPTY}
"""Errors of a name that something else has: a file where a folder is made."""

IMPOSSIBLE = {errno.ENAMETOOLONG, errno.ELOOP}
"""Errors of names that no file can have."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: handled like Ctrl-C, with another exit code."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def one_line_end(program: str) -> Iterator[None]:
    """Context manager: end the program with one line on stderr and an exit code, for errors that the user can fix and
    for signals."""
    try:
        with _quiet_threads(), ending_signals() as received:
            try:
                yield
            except Exception as error:
                # Some libraries raise an error of their own when a signal arrives.
                if received:
                    raise _interruption(received[-1]) from error
                raise
    except BadInput as error:
        _end(program, printable(str(error)))
    except OutputLost as lost:
        _end(program, lost, lost.code)
    except OSError as error:
        where = f"{printable(os.fsdecode(error.filename))}: " if error.filename else ""
        if error.errno in IMPOSSIBLE:
            _end(program, f"{where}{error.strerror}; give another name")
        if error.errno not in NO_ROOM and not (error.errno in GONE | IN_THE_WAY and error.filename):
            raise
        remedies = (
            (FORBIDDEN, "permit it"),
            (NO_ROOM, "make room"),
            (IN_THE_WAY, "move it away"),
            (GONE, "bring it back"),
        )
        advice = next(remedy for errors, remedy in remedies if error.errno in errors)
        _end(program, f"{where}{error.strerror}; what was finished is kept: {advice} and go on")
    except Exception as error:
        if not lacks_memory(error):
            raise
        found = quoted(str(error).splitlines()[0] if str(error) else "not enough memory", LONGEST_REASON)
        advice = "what was finished is kept: give smaller settings, or more memory, and go on"
        _end(program, f"out of memory ({found}); {advice}")
    except KeyboardInterrupt as interruption:
        code = EXIT_SIGNAL + interruption.number if isinstance(interruption, Terminated) else EXIT_INTERRUPTED
        _end(f"\n{program}", "interrupted", code)


def _end(program: str, said: object, code: int = EXIT_BAD_INPUT) -> NoReturn:
    print(f"{program}: {said}", file=sys.stderr)
    sys.exit(code)


def lacks_memory(error: BaseException) -> bool:
    """True for the errors with which Python, NumPy and PyTorch say that there is not enough memory."""
    by_pytorch = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and by_pytorch)


class _Interrupt:
    """A handler that keeps the signals' numbers."""

    def __init__(self, received: list[int]) -> None:
        self.received = received

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.received.append(number)
        raise _interruption(number)


@contextmanager
def ending_signals() -> Iterator[list[int]]:
    """SIGINT raises KeyboardInterrupt within, SIGTERM and SIGHUP `Terminated`, unless they are ignored (nohup).

    Yields the signals received so far; an inner context yields those of the outer one. Only for the main thread.
    """
    handlers = [signal.getsignal(number) for number in ENDING]
    received: list[int] = next((outer.received for outer in handlers if isinstance(outer, _Interrupt)), [])
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    usual = {**dict.fromkeys(ENDING, signal.SIG_DFL), signal.SIGINT: signal.default_int_handler}
    before = {number: handler for number, handler in usual.items() if signal.getsignal(number) is handler}
    for number in before:
        signal.signal(number, _Interrupt(received))
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interruption(number: int) -> KeyboardInterrupt:
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated(number)


@contextmanager
def _quiet_threads() -> Iterator[None]:
    """Do not report disk failures in other threads: the thread that writes through them raises them."""
    before = threading.excepthook

    def report(failure: threading.ExceptHookArgs) -> None:
        error = failure.exc_value
        if not isinstance(error, OutputLost) and not (isinstance(error, OSError) and error.errno in NO_ROOM | GONE):
            before(failure)

    threading.excepthook = report
    try:
        yield
    finally:
        threading.excepthook = before

"""Standard output that cannot be written: full, or closed by what reads it (`| head -1`)."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, NoReturn

EXIT_FULL, EXIT_CLOSED = 2, 141
"""Exit codes: as for other errors that a person can mend, and that of a program ended by SIGPIPE."""


class OutputLost(Exception):
    """Standard output cannot be written. No OSError, which libraries would handle in ways of their own."""

    def __init__(self, error: OSError) -> None:
        closed = isinstance(error, BrokenPipeError)
        said = "was closed by what reads it" if closed else f"cannot be written ({error.strerror})"
        super().__init__(f"standard output {said}")
        self.code = EXIT_CLOSED if closed else EXIT_FULL


class _Told:
    """A text stream whose errors are `OutputLost`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with _telling():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with _telling():
            self._stream.flush()


@contextmanager
def lost_output_ends(program: str) -> Iterator[None]:
    """Context manager around all of a program: it ends with one line and an exit code if its output cannot be written.

    The exit code of a program that has failed in another way stays.
    """
    if sys.stdout is None:  # closed before it began: nothing is printed
        yield
        return
    output = sys.stdout
    try:
        with redirect_stdout(_Told(output)):
            try:
                yield
            except SystemExit as ended:
                if ended.code not in (0, None):
                    _flush_or_drop(output)
                    raise
                sys.stdout.flush()
                raise
            sys.stdout.flush()
    except OutputLost as lost:
        _end(program, output, lost)


def _end(program: str, output: Any, lost: OutputLost) -> NoReturn:
    _flush_or_drop(output)
    print(f"{program}: {lost}", file=sys.stderr)
    sys.exit(lost.code)


def _flush_or_drop(output: Any) -> None:
    """Write what is still to be written, or let Python drop it, which would tell of it at its end."""
    try:
        output.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output.fileno())
        os.close(nowhere)


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputLost(error) from None

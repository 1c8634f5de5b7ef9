"""The ends of a program: one line on stderr, and an exit code."""

import errno
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from qwop.common.ends import Deferred, close_after_use, ending_signals, one_line_end
from qwop.common.errors import BadInput


class NpMemoryError(MemoryError):
    """As NumPy's."""


class OutOfMemoryError(RuntimeError):
    """As PyTorch's."""


def end_of(work: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    """The exit code of work within the context, and what it says on stderr."""
    code: object = 0
    try:
        with one_line_end("qwop-walk"):
            work()
    except SystemExit as end:
        code = end.code
    return code, capsys.readouterr().err


@pytest.fixture(autouse=True)
def usual_signals() -> Iterator[None]:
    """The handlers of a command in the foreground: a shell's background jobs inherit an ignored SIGINT."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def failing(error: BaseException) -> Callable[[], object]:
    def fail() -> None:
        raise error

    return fail


KEPT = "what was finished is kept: "
MEMORY = f"{KEPT}give smaller settings, or more memory, and go on"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BadInput("out=x: a\nb"), "out=x: a\\nb"),
        (OSError(errno.ENOSPC, "full"), f"full; {KEPT}make room or permit it, and go on"),
        (OSError(errno.EACCES, "denied", "a\x1b"), f"a\\x1b: denied; {KEPT}make room or permit it, and go on"),
        (MemoryError(), f"out of memory (not enough memory); {MEMORY}"),
        (NpMemoryError("Unable to allocate\n1 TB"), f"out of memory (Unable to allocate); {MEMORY}"),
        (OutOfMemoryError("CUDA out of memory"), f"out of memory (CUDA out of memory); {MEMORY}"),
        (RuntimeError("can't allocate memory"), f"out of memory (can't allocate memory); {MEMORY}"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_person_can_mend_is_one_line_and_exit_code_2(
    error: Exception, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert end_of(failing(error), capsys) == (2, f"qwop-walk: {message}\n")


@pytest.mark.parametrize("error", [ZeroDivisionError(), RuntimeError("shapes"), OSError(errno.EBADF, "descriptor")])
def test_a_mistake_in_the_program_keeps_its_traceback(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(type(error)):
        end_of(failing(error), capsys)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("library", [False, True], ids=["as it is", "as a library's error"])
def test_a_signal_is_an_interruption(
    number: signal.Signals, code: int, library: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        try:
            with ending_signals():
                os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            if library:
                raise ValueError("could not determine the shape")  # noqa: B904
            raise

    before = signal.getsignal(signal.SIGTERM)
    assert end_of(interrupted, capsys) == (code, "\nqwop-walk: interrupted\n")
    assert signal.getsignal(signal.SIGTERM) is before
    with pytest.raises(ValueError, match="its own"):  # the signal is forgotten
        end_of(failing(ValueError("its own")), capsys)


def test_a_signal_that_is_ignored_stays_so(capsys: pytest.CaptureFixture[str]) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert end_of(lambda: os.kill(os.getpid(), signal.SIGHUP), capsys) == (0, "")


def test_a_disk_s_failure_in_another_thread_is_left_to_who_writes(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        thread = threading.Thread(target=lambda: Path("nowhere/file").write_text("1"))
        thread.start()
        thread.join()

    assert end_of(work, capsys) == (0, "")


def presses(times: int, patient: bool, at_once: bool) -> list[int]:
    """Number of presses of Ctrl-C before it was heard, at the latest where signals are delivered."""
    before: list[int] = []
    with suppress(KeyboardInterrupt), ending_signals(), Deferred(patient=patient) as signals:
        with signals.at_once() if at_once else nullcontext():
            for number in range(times):
                before.append(number)
                os.kill(os.getpid(), signal.SIGINT)
        assert signals.pending == (times > 0)
        signals.deliver()
        before.append(times)
    return before


@pytest.mark.parametrize(
    ("times", "patient", "at_once", "counts"),
    [
        (0, False, False, [0]),
        (1, False, False, [0]),
        (3, False, False, [0, 1]),
        (3, True, False, [0, 1, 2]),
        (3, False, True, [0]),
        (3, True, True, [0]),
    ],
)
def test_a_deferred_signal_waits_for_a_good_place_and_an_impatient_second_one_does_not(
    times: int, patient: bool, at_once: bool, counts: list[int]
) -> None:
    assert presses(times, patient, at_once) == counts


def test_a_failure_once_there_is_a_result_is_a_note_and_a_signal_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    close = failing(OSError(5, "Input/output error"))
    for _ in range(2):
        close_after_use(close, "some thing")
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert output.err.startswith("note: some thing: closing it failed (OSError: [Errno 5] Input/output error); nothing")

    with pytest.raises(KeyboardInterrupt):
        close_after_use(failing(KeyboardInterrupt()), "another thing")

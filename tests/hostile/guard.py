"""A child process in which a file is read: limited, watched, and judged by how it ends."""

import contextlib
import io
import os
import platform
import re
import resource
import select
import signal
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwop.common.errors import BadInput

MEMORY = 1_000_000_000
"""Bytes that a child may have resident, with all that it inherits."""

SECONDS = 20
"""Of computing, per file."""

FORBIDDEN = (
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
    "socket.connect", "socket.bind", "pickle.find_class", "ctypes.dlopen", "webbrowser.open",
)  # fmt: skip
"""Events of the interpreter that no reading of a file may cause."""

OURS = [Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "purelib", "platlib")]
OURS += [Path(sys.prefix).resolve(), Path(__file__).resolve().parents[2], *map(Path, sys.path[1:])]

READ, REFUSED = "read", "refused"

platform.processor()  # starts a program once, and libraries that are imported in a child ask for it


@dataclass(frozen=True)
class Ended:
    """End of a child: READ, REFUSED, or what went wrong; the last of its words; its time and peak memory."""

    how: str
    said: str
    seconds: float
    megabytes: float

    @property
    def well(self) -> bool:
        return self.how in (READ, REFUSED)


def run_guarded(work: Callable[[], Any], named: Path, out: Path) -> Ended:
    """Fork, do the work there, and judge it. A BadInput has to name `named` and be one line; only `out` may be written.

    A command (which raises SystemExit) is judged by its exit code and its one line on stderr.
    """
    receive, send = os.pipe()
    began = time.monotonic()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(receive)
        os._exit(_child(work, named, out, send))
    os.close(send)
    said, late = _listen(receive, began + 3 * SECONDS)
    if late:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    spent, megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000
    how, _, line = said.partition("\n")
    if late:
        how = "hangs"
    elif os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        how = "takes too long" if number in (signal.SIGXCPU, signal.SIGKILL) else f"dies of signal {number}"
    elif not how:
        how = "ends without a word"
    elif megabytes * 1e6 > MEMORY:
        how = f"takes {megabytes:.0f} MB"
    return Ended(how, line[-2000:], spent, megabytes)


def _listen(receive: int, until: float) -> tuple[str, bool]:
    said = b""
    with os.fdopen(receive, "rb", buffering=0) as pipe:
        while (left := until - time.monotonic()) > 0:
            if select.select([pipe], [], [], left)[0]:
                piece = pipe.read(65536)
                if not piece:
                    return said.decode(errors="replace"), False
                said += piece
    return said.decode(errors="replace"), True


def _child(work: Callable[[], Any], named: Path, out: Path, send: int) -> int:
    errors = io.StringIO()
    virtual = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (virtual + MEMORY - resident,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch = _Watch(out)
    sys.addaudithook(watch)
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            work()
        how, line = READ, ""
    except BadInput as error:
        how, line = _judge_line(str(error), named)
    except SystemExit as error:
        text = errors.getvalue()
        how, line = (READ, "") if not error.code else _judge_exit(error.code, text, named)
    except BaseException:
        how, line = "ends in a traceback", traceback.format_exc()
    watch.off = True
    if watch.seen:
        how, line = f"does what it must not: {watch.seen[0]}", "\n".join(watch.seen) + "\n" + line
    with contextlib.suppress(OSError):
        os.write(send, f"{how}\n{line}".encode(errors="replace")[:60_000])
    return 0


def _judge_exit(code: Any, text: str, named: Path) -> tuple[str, str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if code != 2 or not lines:
        return f"ends with exit code {code}", text
    # Libraries warn on stderr; the program's own word is the last.
    return _judge_line(lines[-1], named) if lines[-1].startswith("qwop-") else ("says more than a line", text)


def _judge_line(line: str, named: Path) -> tuple[str, str]:
    if "\n" in line or re.search(r"[\x00-\x1f\x7f\x9b]", line):
        return "its message is no line", line
    if str(named) not in line:
        return "its message does not name the file", line
    return REFUSED, line


class _Watch:
    """An audit hook: notes programs started, connections, pickles, foreign modules, and files opened for writing."""

    def __init__(self, out: Path) -> None:
        self.seen: list[str] = []
        self.off = False
        self._out = out.resolve()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.off:
            return
        if event in FORBIDDEN and not _of_a_library(event, arguments):
            self.seen.append(f"{event} {arguments!r}"[:300])
        elif event == "import" and str(arguments[0]).startswith("canary"):
            self.seen.append(f"import {arguments[0]}")
        elif event == "exec" and (name := getattr(arguments[0], "co_filename", "")).startswith("/"):
            if not any(Path(name).is_relative_to(place) for place in OURS):
                self.seen.append(f"exec {name}")
        elif event == "open" and self._writes(arguments):
            self.seen.append(f"writes {arguments[0]!r}")

    def _writes(self, arguments: tuple[Any, ...]) -> bool:
        path, mode, flags = arguments
        writing = (
            any(sign in mode for sign in "wax+") if isinstance(mode, str) else bool(flags & (os.O_WRONLY | os.O_RDWR))
        )
        if not writing or not isinstance(path, str | bytes | os.PathLike):
            return False
        place = Path(os.fsdecode(path)).absolute()
        return not place.is_relative_to(self._out) and str(place) != os.devnull and "__pycache__" not in place.parts


def _of_a_library(event: str, arguments: tuple[Any, ...]) -> bool:
    """True for libraries that are opened when they are first used."""
    if event == "ctypes.dlopen":
        name = arguments[0]
        return name is None or any(Path(str(name)).is_relative_to(place) for place in OURS) or "/" not in str(name)
    return False

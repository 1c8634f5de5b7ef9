"""Commands run in forked children of one process that has imported everything, so that each costs a second, not five.

The process itself never starts a thread: a fork has none of its parent's.
"""

import functools
import importlib
import os
import platform
import resource
import signal
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

# Before NumPy is imported, which starts the threads of its linear algebra.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

MEMORY, SECONDS = 2_000_000_000, 30
"""More bytes than it inherits, and seconds of computing, that a guarded child may use."""

FORBIDDEN = (
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
    "socket.connect", "socket.bind", "pickle.find_class", "webbrowser.open",
)  # fmt: skip
"""Events of the interpreter that no reading of a file may cause."""

CANARY = "canary"
"""A module that nothing may import."""

OURS = [*map(Path, (*sysconfig.get_paths().values(), sys.prefix, *sys.path[1:])), Path(__file__).parents[2]]
"""Where code may come from."""

Call = Callable[[], None]

FORK = get_context("fork")


@dataclass(frozen=True)
class End:
    """End of a child: its exit code (minus the signal's number if one ended it), its output, and seconds it ran."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def lines(self) -> list[str]:
        """The lines on stderr, without empty ones and notes."""
        return [line for line in self.err.splitlines() if line and not line.startswith("note: ")]

    def require_one_line(self, program: str = "qwop-") -> str:
        """The one line of a refused command, which says its name; AssertionError for any other end."""
        assert self.code == 2, self
        assert len(self.lines) == 1, self
        assert self.lines[0].startswith(program), self
        assert self.lines[0].isprintable(), self
        return self.lines[0]


class Child:
    """A call that runs in a fork, in `folder`. prepare: called first in the child, before its time begins.

    out: the file to which it prints.
    """

    def __init__(self, call: Call, folder: Path, prepare: Call = lambda: None) -> None:
        self.out, self._err = TemporaryFile(), TemporaryFile()  # noqa: SIM115
        begun, begin = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=self._run, args=(call, folder, prepare, begin))
        self._process.start()
        begin.close()
        begun.poll(None)  # ends as the child does, too
        self._since = time.monotonic()

    def send(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self._process.is_alive():
            os.kill(self._process.pid or 0, number)

    def ended_within(self, seconds: float) -> bool:
        """Wait for the end, for at most so many seconds since the start; False if it still runs."""
        self._process.join(max(self._since + seconds - time.monotonic(), 0.0))
        return not self._process.is_alive()

    def wait(self, seconds: float = 120.0) -> End:
        """Wait for the end; AssertionError, and the child is killed, if it takes longer."""
        late = not self.ended_within(seconds)
        self.send(signal.SIGKILL)
        self._process.join()
        took, printed = time.monotonic() - self._since, []
        for file in (self.out, self._err):
            with file:
                file.seek(0)
                printed.append(file.read().decode(errors="replace"))
        end = End(self._process.exitcode or 0, *printed, took)
        assert not late, f"still running after {seconds} s: {end}"
        return end

    def _run(self, call: Call, folder: Path, prepare: Call, begin: Connection) -> None:
        """In the child: make the call as a console script would."""
        os.dup2(self.out.fileno(), 1)
        os.dup2(self._err.fileno(), 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores
        os.chdir(folder)
        prepare()
        begin.send_bytes(b"1")
        call()


def run(words: Sequence[str], folder: Path, prepare: Call = lambda: None, then: Sequence[str] = ()) -> End:
    """Run a command to its end, and another one after one that worked: a fork costs as much as either."""
    return Child(command(words, then), folder, prepare).wait()


def command(*lines: Sequence[str]) -> Call:
    """The call of a command with its words, or of one after the other; empty lines are none."""

    def call() -> None:
        for name, *words in filter(None, lines):
            main = main_of(name)
            sys.argv = [main.program, *words]
            main()

    return call


def guarded(out: Path) -> Call:
    """What makes a child limited and watched: whatever is forbidden, such as a file opened for writing elsewhere than
    in `out`, is a line on stderr that begins with 'forbidden'."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if (
            event in FORBIDDEN
            or (event == "import" and str(arguments[0]).startswith(CANARY))
            or (event == "exec" and _is_foreign(getattr(arguments[0], "co_filename", "")))
            or (event == "open" and _writes_elsewhere(out, *arguments))
        ):
            os.write(2, f"forbidden: {event} {arguments!r}\n"[:300].encode(errors="replace"))

    def prepare() -> None:
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.addaudithook(hook)

    return prepare


def _is_foreign(file: str) -> bool:
    return file.startswith("/") and not any(Path(file).is_relative_to(place) for place in OURS)


def _writes_elsewhere(out: Path, path: Any, mode: Any, flags: int) -> bool:
    writes = any(sign in mode for sign in "wax+") if isinstance(mode, str) else flags & (os.O_WRONLY | os.O_RDWR)
    if not writes or not isinstance(path, str | bytes | os.PathLike):
        return False
    place = Path(os.fsdecode(path)).absolute()
    return not place.is_relative_to(out) and str(place) != os.devnull and "__pycache__" not in place.parts


def preload() -> None:
    """Import what the commands import and load the engine; checks that no thread was started."""
    import numpy as np
    import pyarrow.parquet  # noqa: F401
    import torch
    import torch._dynamo  # imported by the first optimiser
    import torch.utils.tensorboard
    from qwop.commands import COMMANDS
    from qwop.common.run_folder import command_line
    from qwop.datasets.main import VERBS
    from qwop.envs import replay
    from qwop.envs.pictures.player import player
    from qwop.finetune.replay.transition_memory import SumTree
    from qwop.recorder import policy_source  # noqa: F401

    for program in COMMANDS.values():
        assert program.settings
        importlib.import_module(str(program.run_place).partition(":")[0])
    for verb in VERBS:
        main_of(verb)
    importlib.import_module("qwop.finetune.main")
    torch.set_num_threads(1)
    platform.processor()  # starts a program once, and libraries ask for it
    command_line("qwop-finetune", main_of("finetune").read(["schedule=kurodo"]).words)
    player([])
    replay(np.full(30, 5, np.uint8))
    tree = SumTree(4)
    tree.set(np.arange(4), np.ones(4))
    tree.find(np.ones(1))
    threads = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    # Arrow's allocator cleans up in a thread, and forks correctly.
    assert len(threads) - threads.count("jemalloc_bg_thd") == 1, f"children would lack some threads: {threads}"


@functools.cache
def main_of(name: str) -> Any:
    """The main of a command or, by its verb, of `qwop-dataset`."""
    from qwop.commands import COMMANDS
    from qwop.datasets.main import VERBS

    found: Any = COMMANDS.get(f"qwop-{name}") or importlib.import_module(VERBS[name][0]).command
    return found

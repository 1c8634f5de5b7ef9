"""Commands run in forked children of one process that has imported everything, so that each costs a second, not five.

The process itself never starts a thread: a fork has none of its parent's.
"""

import fcntl
import functools
import importlib
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Before NumPy is imported, which starts the threads of its linear algebra.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

COMMANDS = ("record", "pretrain", "finetune", "evaluate", "search", "distil", "study", "population")

WORK = (
    "recorder.main", "pretrain.main", "pretrain.reestimate", "finetune.main", "evaluation.main", "search.main",
    "search.distil", "study.main", "population.run",
)  # fmt: skip
"""Imports of the commands when they run."""

VERBS = ("verify", "describe", "copy", "relabel", "reestimate", "export", "import")
"""Verbs of `qwop-dataset`; as the first word of a command each stands for it."""

_PIPE = 2**20
"""Bytes that a child may say before it has to be read."""


@dataclass(frozen=True)
class End:
    """End of a child: its exit code (minus the signal's number if one ended it), its output, and seconds it ran."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def said(self) -> list[str]:
        """The lines on stderr, without empty ones."""
        return [line for line in self.err.splitlines() if line]


class Child:
    """A command running in a fork, its name without `qwop-` and its arguments.

    The command line is read before the fork: that takes longer than many runs, and writes nothing. prepare: called in
    the child. then: another command for after one that worked, in the same child, for a fork costs as much as either.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        prepare: Callable[[], None] = lambda: None,
        then: Sequence[str] = (),
    ) -> None:
        works = [_settings(tuple(one)) for one in (command, then) if one]
        self._out, out = os.pipe()
        self._err, err = os.pipe()
        begun, begin = os.pipe()
        for descriptor in (out, err):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(out, 1)
            os.dup2(err, 2)
            _run(works, folder, prepare, begin)
        for descriptor in (out, err, begin):
            os.close(descriptor)
        os.read(begun, 1)
        os.close(begun)
        self._since = time.monotonic()

    def send(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    @property
    def running(self) -> bool:
        """False once the child has ended."""
        return not self._wait_for_exit(0.0)

    def wait(self, seconds: float = 120.0) -> End:
        """Wait for the end; AssertionError, and the child is killed, if it takes longer."""
        out, err = b"", b""
        late = not self._wait_for_exit(seconds)
        if late:
            self.send(signal.SIGKILL)
        _, status, _ = os.wait4(self.pid, 0)
        took = time.monotonic() - self._since
        out, err = _everything(self._out), _everything(self._err)
        end = End(os.waitstatus_to_exitcode(status), out.decode(), err.decode(), took)
        assert not late, f"still running after {seconds} s: {end}"
        return end

    def wait_at_most(self, seconds: float) -> None:
        """Wait until so many seconds after the start, or until the child has ended."""
        self._wait_for_exit(self._since + seconds - time.monotonic())

    def _wait_for_exit(self, seconds: float) -> bool:
        descriptor = os.pidfd_open(self.pid)
        try:
            return bool(select.select([descriptor], [], [], max(seconds, 0.0))[0])
        finally:
            os.close(descriptor)


def run(
    command: Sequence[str], folder: Path, prepare: Callable[[], None] = lambda: None, then: Sequence[str] = ()
) -> End:
    """Run a command to its end."""
    return Child(command, folder, prepare, then).wait()


def preload() -> None:
    """Import what the commands import and load the engine's kernels; checks that no thread was started."""
    import numpy as np
    import pyarrow.parquet  # noqa: F401
    import torch
    import torch._dynamo  # imported by the first optimiser
    import torch.utils.tensorboard
    from qwop.common.command_line import command_line
    from qwop.envs import replay
    from qwop.envs.pictures.player import player
    from qwop.envs.qwop.vector import QWOPVectorEnv
    from qwop.finetune.replay.sum_tree import SumTree
    from qwop.recorder import policy_source  # noqa: F401

    for name in (*COMMANDS, *VERBS):
        main_of(name)
    for module in WORK:
        importlib.import_module(f"qwop.{module}")
    torch.set_num_threads(1)
    command_line("qwop-finetune", main_of("finetune").read(["schedule=kurodo"]))
    player([])
    replay(np.full(30, 5, np.uint8))
    games = QWOPVectorEnv(4, max_idle_frames=3, num_threads=1)
    state = games.reset(seed=0) and games.get_state()
    games.step(np.zeros(4, int))
    games.set_state(state)
    tree = SumTree(4)
    tree.set(np.arange(4), np.ones(4))
    tree.find(np.ones(1))
    threads = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    # Arrow's allocator cleans up in a thread, and forks correctly.
    assert len(threads) - threads.count("jemalloc_bg_thd") == 1, f"children would lack some threads: {threads}"


def program(name: str) -> str:
    """The name that a command or verb has in its messages: `qwop-dataset copy`."""
    return f"qwop-dataset {name}" if name in VERBS else f"qwop-{name}"


def main_of(name: str) -> Any:
    """The main of a command, by its name or verb."""
    if name not in VERBS:
        return getattr(importlib.import_module("qwop.commands"), name)
    verbs = importlib.import_module("qwop.datasets.main").VERBS
    return importlib.import_module(verbs[name][0]).command


@functools.cache
def _settings(command: tuple[str, ...]) -> tuple[Any, Any]:
    """The main of a command, and the settings of its line."""
    main = main_of(command[0])
    return main, main.read(command[1:])


def _run(works: list[tuple[Any, Any]], folder: Path, prepare: Callable[[], None], begin: int) -> None:
    """In the child: do the works as their console scripts would, and leave."""
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores
        os.chdir(folder)
        prepare()
        os.write(begin, b"1")
        try:
            from qwop.common.command import require_writable
            from qwop.common.ends import one_line_end

            for main, settings in works:
                with one_line_end(main.program):
                    require_writable(settings)
                    main.run(settings)
            code = 0
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1 if exit_.code else 0
        threading._shutdown()  # type: ignore[attr-defined]  # as at the end of any program: waits for its threads
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _everything(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()

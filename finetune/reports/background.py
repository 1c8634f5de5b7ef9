"""Evaluations in a background thread while training continues."""

import copy
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray

from ...common.cores import use_cores
from ...envs.spec import Observations
from ...policies.policy import Policy
from ...policies.state import ArrayState


class Background:
    """Runs tasks in order: in a second thread or, with `inline`, immediately in the caller.

    An error in the thread is raised by the next `check` or `wait`, and later tasks are skipped. A task that
    evaluates a policy takes a copy of it (`snapshot`), because the caller changes the weights.
    """

    def __init__(self, *, inline: bool) -> None:
        self._pool: ThreadPoolExecutor | None = None
        if not inline:
            threads = (torch.get_num_threads(),)
            self._pool = ThreadPoolExecutor(1, "background", initializer=use_one_core, initargs=threads)
        self._tasks: deque[Future[None]] = deque()
        self._stop = threading.Event()

    def run(self, task: Callable[[], None]) -> None:
        """Run a task after those submitted before it."""
        if self._pool is None:
            task()
        else:
            self._tasks.append(self._pool.submit(self._carry_out, task))

    def snapshot(self, policy: Policy) -> Policy:
        """The policy as it is now, for a task: a copy or, with `inline`, itself."""
        if self._pool is None:
            return policy
        parts = {one.name: getattr(policy, one.name) for one in fields(Policy)}
        networks = {name: copy.deepcopy(parts[name]) for name in ("network", "values")}
        return _StoppablePolicy(**parts | networks, stop=self._stop)

    def check(self) -> None:
        """Raise the error of a task that failed."""
        while self._tasks and self._tasks[0].done():
            self._tasks.popleft().result()

    def wait(self) -> None:
        """Wait for all tasks; raise the error of the one that failed."""
        while self._tasks:
            self._tasks.popleft().result()

    def close(self) -> None:
        """Skip tasks that have not begun, and stop an evaluation at its next decision."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown()

    def _carry_out(self, task: Callable[[], None]) -> None:
        if self._stop.is_set():
            return
        try:
            task()
        except BaseException:
            self._stop.set()
            raise


def use_one_core(threads: int) -> None:
    """Prepare the thread. Games that were divided among several would wait for Python's lock at every decision; without
    a number of threads MKL would take all cores, and the last bits depend on it."""
    use_cores(1)
    torch.set_num_threads(threads)


class _Stopped(Exception):
    """Raised in an evaluation when its run ends."""


@dataclass(frozen=True, kw_only=True)
class _StoppablePolicy(Policy):
    """A policy that raises `_Stopped` once `stop` is set."""

    stop: threading.Event

    def step(self, observations: Observations, state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        if self.stop.is_set():
            raise _Stopped
        return super().step(observations, state)

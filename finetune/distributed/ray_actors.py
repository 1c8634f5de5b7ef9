"""Actors on Ray (extra `ray`)."""

import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...common.errors import BadInput, quoted
from ...common.progress import plain_console
from ..schedules.environments import PhaseEnvironments
from .collector import ActorDied, PlayingActor

ATTEMPTS = 3
"""Attempts to start a local cluster: on a busy machine Ray's processes may miss its time limit of half a minute."""

SECONDS_TO_ANSWER = 10.0
"""Seconds that a cluster's address may take to answer; Ray would try for many minutes."""


class RayEngine:
    """Runs objects on a Ray cluster, one processor core each: the cluster at an address, or a local one."""

    def __init__(self, count: int, address: str | None) -> None:
        # Ray would write a token into the home folder.
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        require_ray()
        import ray

        self._ray: Any = ray
        if not ray.is_initialized():
            with _own_handlers():
                self._connect(count, address)

    def launch(self, kind: Callable[..., object], *arguments: object) -> object:
        """Make an object in a separate process; return a reference to it."""
        return self._ray.remote(num_cpus=1, max_restarts=0)(kind).remote(*arguments)

    def _connect(self, count: int, address: str | None) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is None:
            self._start(count, quiet)
            return
        _require_answer(address)
        try:
            self._ray.init(address=address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise BadInput(f"distributed.address={address}: no Ray cluster there ({quoted(reason, 200)})") from None
        free = int(self._ray.available_resources().get("CPU", 0))
        if free < count:
            plain_console().print(
                f"distributed: {count} actors, and {free} free cores in the cluster at {address}; an actor without one "
                "waits"
            )

    def _start(self, count: int, quiet: dict[str, Any]) -> None:
        """Start a local cluster. It allows more actors than cores; in an existing cluster they would wait for cores."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._ray.init(num_cpus=max(count, os.cpu_count() or 1), include_dashboard=False, **quiet)
                return
            except Exception as error:  # Ray raises plain exceptions here
                self._ray.shutdown()
                if attempt == ATTEMPTS:
                    reason = str(error).strip().partition("\n")[0]
                    raise BadInput(
                        f"distributed=ray: no cluster could be started here in {ATTEMPTS} attempts "
                        f"({quoted(reason, 200)}); try again when the machine is less busy, or give distributed.address"
                    ) from error

    def share(self, value: object) -> object:
        """Return a reference to pass to several actors, so that the value is sent only once."""
        return self._ray.put(value)

    def ask(self, actor: object, method: str, *arguments: object) -> object:
        """Start a call of one of the actor's methods; return its handle. Calls to one actor run in order."""
        return getattr(actor, method).remote(*arguments)

    def first_done(self, handles: Sequence[object]) -> object:
        """Wait for one of these calls; the first in order if several are done."""
        ready, _ = self._ray.wait(list(handles), num_returns=1)
        return ready[0]

    def result(self, handle: object) -> Any:
        """Wait for a call; return its result. Raises ActorDied."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(handle)
        except errors.RayActorError as error:
            lines = str(error).strip().splitlines()
            # If an actor's constructor failed, the error is the last line, after its traceback.
            raise ActorDied(lines[-1 if error.actor_init_failed else 0]) from None
        except (errors.OutOfMemoryError, errors.ObjectLostError) as error:
            # Killed by Ray, or the machine with its result was lost.
            raise ActorDied(str(error).strip().partition("\n")[0]) from None
        except errors.RayTaskError as error:
            if isinstance(error.cause, BadInput):  # str(error) would be a traceback
                raise BadInput(str(error.cause)) from None
            raise


class RayActors(RayEngine):
    """Starts actors for live play."""

    def __init__(self, count: int, address: str | None, environments: PhaseEnvironments, steps: int) -> None:
        super().__init__(count, address)
        self._environments, self._steps = self.share(environments), steps

    def start(self, phase: int, generator: np.random.Generator) -> object:
        """Start an actor in this phase; return a reference to it."""
        return self.launch(PlayingActor, self._environments, phase, self._steps, generator)


def require_ray() -> None:
    """Raise BadInput if Ray is not installed."""
    if find_spec("ray") is None:
        raise BadInput("distributed=ray: Ray is not installed; pip install 'qwop[ray]'")


def _require_answer(address: str) -> None:
    """Raise BadInput unless `host:port` or `ray://host:port` accepts connections. Ray resolves other addresses."""
    match = re.fullmatch(r"(?:ray://)?([\w.-]+):(\d{1,5})", address)
    if match is None:
        return
    try:
        socket.create_connection((match[1], int(match[2])), SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise BadInput(
            f"distributed.address={address}: no answer ({error}); start a cluster there with ray start"
        ) from None


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Context manager: keep our SIGTERM handler, which Ray would replace with one that ends the program at once."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)

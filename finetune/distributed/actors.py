"""Live play along a schedule: by one collector in this process, or by actors in processes of their own, on Ray (extra
`ray`)."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from ...common.errors import BadInput, quoted
from ..experience.collector import Collector, EpisodeStats, PolicySnapshot
from ..experience.sequences import Sequences, concatenate
from ..schedules.environments import PhaseEnvironments

Request = tuple[str, *tuple[object, ...]]
"""A method of an actor, and its arguments."""

MOST_DEATHS = 3
"""Times that an actor may die on the same request before the run gives up."""


class PhaseCollector(Collector):
    """Collector that plays the environment of the current phase."""

    def __init__(self, environments: PhaseEnvironments, phase: int, steps: int, generator: np.random.Generator) -> None:
        self._environments = environments
        super().__init__(environments.make(phase), steps, generator, teacher=environments.teachers[phase])

    def enter_phase(self, phase: int) -> None:
        """Start new games in the environment of this phase."""
        self.enter(self._environments.make(phase), self._environments.teachers[phase])


class PlayingActor(PhaseCollector):
    """`PhaseCollector` in a separate process, with one thread."""

    def __init__(self, environments: PhaseEnvironments, phase: int, steps: int, generator: np.random.Generator) -> None:
        torch.set_num_threads(1)
        super().__init__(environments, phase, steps, generator)


class ActorDied(Exception):
    """The process of an actor, or its machine, is gone."""


class ActorsCollector:
    """Broadcasts the policy to actors and collects their rollouts.

    Synchronously, an iteration is one batch of sequences from each actor, in order, all played by the policy given to
    `collect`; with one actor it is bit-identical to a `Collector`'s. Asynchronously, it is the batch of the first actor
    to finish, played by a policy some iterations old. Each actor plays one batch at a time, so no backlog builds up.

    An actor that dies is replaced by one with new games, and the request is repeated.
    """

    def __init__(
        self,
        actors: "RayEngine",
        count: int,
        environments: PhaseEnvironments,
        phase: int,
        steps: int,
        generator: np.random.Generator,
        *,
        asynchronous: bool,
    ) -> None:
        self._actors, self._phase, self._asynchronous = actors, phase, asynchronous
        self._environments, self._steps, self._generator = actors.share(environments), steps, generator
        generators = [generator] if count == 1 else generator.spawn(count)
        self._members = [self._start(one) for one in generators]
        self._under_way: dict[int, object] = {}

    def _start(self, generator: np.random.Generator) -> object:
        return self._actors.launch(PlayingActor, self._environments, self._phase, self._steps, generator)

    def collect(self, policy: PolicySnapshot) -> tuple[Sequences, list[EpisodeStats]]:
        """Return the next live play and the episodes that ended in it."""
        request = ("collect", self._actors.share(policy))
        if not self._asynchronous:
            parts = self._ask_all(*request)
            return concatenate([part for part, _ in parts]), [end for _, ends in parts for end in ends]
        for number in range(len(self._members)):
            if number not in self._under_way:
                self._under_way[number] = self._actors.ask(self._members[number], *request)
        first = self._actors.first_done(list(self._under_way.values()))
        number = next(one for one, handle in self._under_way.items() if handle == first)
        part, ends = self._result(number, self._under_way.pop(number), request)
        self._under_way[number] = self._actors.ask(self._members[number], *request)
        return concatenate([part]), ends  # a copy: engines may return read-only arrays

    def enter_phase(self, phase: int) -> None:
        """Start new games in the environment of this phase; play in progress is dropped."""
        self._phase = phase
        self._drop()
        self._ask_all("enter_phase", phase)

    def saves_games(self) -> bool:
        """True if the environment can save games and continue them."""
        return bool(self._ask_all("saves_games")[0])

    def restart(self) -> None:
        """Drop the games in progress and start new ones."""
        self._drop()
        self._ask_all("restart")

    def get_state(self) -> dict[str, object]:
        """States of the actors' games, without asynchronous rollouts in progress."""
        return {"actors": self._ask_all("get_state")}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`, of as many actors."""
        self._results([("set_state", one) for one in state["actors"]])

    def _drop(self) -> None:
        under_way, self._under_way = self._under_way, {}
        for number, handle in under_way.items():
            self._result(number, handle, ("saves_games",))

    def _ask_all(self, method: str, *arguments: object) -> list[Any]:
        return self._results([(method, *arguments)] * len(self._members))

    def _results(self, requests: Sequence[Request]) -> list[Any]:
        """Send one request to each actor, in parallel, and return the results."""
        handles = [self._actors.ask(member, *one) for member, one in zip(self._members, requests, strict=True)]
        return [self._result(number, handle, requests[number]) for number, handle in enumerate(handles)]

    def _result(self, number: int, handle: object, request: Request) -> Any:
        """Return the result of a call. If the actor has died, repeat the request with its replacement."""
        for _ in range(MOST_DEATHS):
            try:
                return self._actors.result(handle)
            except ActorDied as death:
                cause = death
            self._under_way.pop(number, None)  # the dead actor's rollout in progress
            self._members[number] = self._start(self._generator.spawn(1)[0])
            handle = self._actors.ask(self._members[number], *request)
        raise BadInput(
            f"distributed: actor {number} died {MOST_DEATHS} times in a row ({quoted(str(cause), 200)}); resume=true "
            "continues from the last checkpoint"
        )


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
        """Connect to the cluster, or start a local one. It allows more actors than cores; elsewhere they wait."""
        here: dict[str, Any] = {"num_cpus": max(count, os.cpu_count() or 1), "include_dashboard": False}
        try:
            where = here if address is None else {"address": address}
            self._ray.init(log_to_driver=False, logging_level="ERROR", **where)
        except Exception as error:  # Ray raises plain exceptions here
            self._ray.shutdown()
            reason = quoted(str(error).strip().partition("\n")[0], 200)
            if address is not None:
                raise BadInput(f"distributed.address={address}: no Ray cluster there ({reason})") from error
            raise BadInput(
                f"distributed=ray: no cluster could be started here ({reason}); try again when the machine is less "
                "busy, or give distributed.address"
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


def require_ray() -> None:
    """Raise BadInput if Ray is not installed."""
    if find_spec("ray") is None:
        raise BadInput("distributed=ray: Ray is not installed; pip install 'qwop[ray]'")


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Context manager: keep our SIGTERM handler, which Ray would replace with one that ends the program at once."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)

"""Actors on Ray (extra `ray`)."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...common.errors import BadInput
from ..schedules.environments import PhaseEnvironments
from .actor import PlayingActor
from .collector import ActorDied


class RayActors:
    """Starts actors on a Ray cluster, one processor core each: the one at an address, or its own on this machine."""

    def __init__(self, count: int, address: str | None, environments: PhaseEnvironments, steps: int) -> None:
        # Ray would write a token into the home folder; its ports listen on this machine alone.
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        try:
            import ray
        except ImportError:
            raise BadInput("distributed=ray: Ray is not installed; pip install 'qwop[ray]'") from None
        self._ray = ray
        if not ray.is_initialized():
            # More actors than cores are allowed here; a cluster makes them wait for its own.
            own = {"num_cpus": max(count, os.cpu_count() or 1), "include_dashboard": False} if address is None else {}
            try:
                ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
            except (ConnectionError, ValueError, RuntimeError) as error:
                reason = str(error).strip().partition("\n")[0]
                raise BadInput(f"distributed.address={address}: no Ray cluster answers there ({reason})") from None
        self._make = ray.remote(num_cpus=1, max_restarts=0)(PlayingActor)
        self._environments, self._steps = ray.put(environments), steps

    def start(self, phase: int, generator: np.random.Generator) -> Any:
        return self._make.remote(self._environments, phase, self._steps, generator)

    def share(self, value: Any) -> Any:
        return self._ray.put(value)

    def ask(self, actor: Any, method: str, *arguments: Any) -> Any:
        return getattr(actor, method).remote(*arguments)

    def first_done(self, handles: Sequence[Any]) -> Any:
        done, _ = self._ray.wait(list(handles), num_returns=1)
        return done[0]

    def result(self, handle: Any) -> Any:
        try:
            return self._ray.get(handle)
        except self._ray.exceptions.RayActorError as error:
            raise ActorDied(str(error).strip().partition("\n")[0]) from None

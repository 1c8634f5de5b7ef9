"""Live play along a schedule: by one collector in this process, or by several in separate processes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...common.errors import BadInput, quoted
from ..experience.collector import Collector, EpisodeStats
from ..experience.policy_snapshot import PolicySnapshot
from ..experience.sequences import Sequences, concatenate
from ..schedules.environments import PhaseEnvironments

if TYPE_CHECKING:
    from .ray_actors import RayActors

Request = tuple[str, *tuple[object, ...]]
"""A method of an actor, and its arguments."""

MOST_DEATHS = 3
"""Times that an actor may die on the same request before the run gives up."""


class PhaseCollector(Collector):
    """Collector that plays the environment of the current phase."""

    def __init__(self, environments: PhaseEnvironments, phase: int, steps: int, generator: np.random.Generator) -> None:
        self._environments = environments
        super().__init__(environments.make(phase), steps, generator)

    def enter_phase(self, phase: int) -> None:
        """Start new games in the environment of this phase."""
        self.enter(self._environments.make(phase))


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

    An actor that dies is replaced by one with new games, and the request is repeated. `replacements` counts them.
    """

    def __init__(
        self, actors: "RayActors", count: int, phase: int, generator: np.random.Generator, *, asynchronous: bool
    ) -> None:
        self.replacements = 0
        self._actors, self._phase, self._asynchronous = actors, phase, asynchronous
        self._generator = generator
        generators = [generator] if count == 1 else generator.spawn(count)
        self._members = [actors.start(phase, one) for one in generators]
        self._under_way: dict[int, object] = {}

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
        """Restore a state from `get_state`; BadInput with a different number of actors."""
        states = state.get("actors")
        if not isinstance(states, list) or len(states) != len(self._members):
            count = len(states) if isinstance(states, list) else "none"
            raise BadInput(
                f"distributed.actors={len(self._members)}: the checkpoint has the games of {count}; resume with the "
                "distribution that the run was started with"
            )
        requests = [("set_state", one) for one in states]
        self._results(requests)

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
            self.replacements += 1
            self._under_way.pop(number, None)  # the dead actor's rollout in progress
            self._members[number] = self._actors.start(self._phase, self._generator.spawn(1)[0])
            handle = self._actors.ask(self._members[number], *request)
        raise BadInput(
            f"distributed: actor {number} died {MOST_DEATHS} times in a row ({quoted(str(cause), 200)}); resume=true "
            "continues from the last checkpoint"
        )

"""Shared control of an episode: who acted in each decision, and the episode that it branched off from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from ..common.errors import BadInput, quoted
from ..common.settings import Whole
from .behaviour_probabilities import MIXED, RECORDED
from .origin import STRICT

if TYPE_CHECKING:
    from .schema import Episode

ACTORS = ("policy", "person")
POLICY, PERSON = range(2)
"""Those who acted, as in the column `actor`."""

REPEATED = (
    "observations",
    "actions",
    "behaviour_probabilities",
    "rewards",
    "times",
    "actors",
    "policy_probabilities",
)
"""Arrays of an episode that a branch repeats up to its own decisions."""


@dataclass(frozen=True, config=STRICT)
class Branch:
    """The place where an episode left another of the same recording.

    game: `origin.game` of the other episode. step: number of decisions that both share; this one's own decisions begin
    with number `step`.
    """

    game: Whole
    step: Whole

    def to_json(self) -> dict[str, int]:
        """Plain data."""
        return {"game": self.game, "step": self.step}

    @classmethod
    def from_json(cls, data: Any) -> "Branch | None":
        """The inverse of `to_json`; None stays None, BadInput for anything else."""
        try:
            return None if data is None else cls(**data)
        except (TypeError, ValueError):  # pydantic's
            raise BadInput(f"branch is {quoted(data)}, expected the fields game and step") from None


def check_actors(actors: NDArray[np.int8], steps: int) -> None:
    """Raise ValueError unless `actors` has the actor of each decision."""
    if actors.dtype != np.int8 or actors.shape != (steps,):
        raise ValueError(f"actors are {actors.dtype.name} {list(actors.shape)}, expected int8 [{steps}]")
    wrong = np.flatnonzero((actors < 0) | (actors >= len(ACTORS)))
    if len(wrong):
        raise ValueError(
            f"actors hold {actors[wrong[0]]} in row {wrong[0]}, expected 0 ({ACTORS[0]}) or 1 ({ACTORS[1]})"
        )


def coached(
    episode: "Episode", actors: NDArray[np.int8], drawn_with: Sequence[NDArray[np.float32]], **more: Any
) -> "Episode":
    """The episode of shared control, from one whose decisions all count as the person's.

    actors: int8 [T]. drawn_with: μ of each decision of the policy, [A]. more: further fields of `Episode`.
    """
    own, behaviour = actors == POLICY, episode.behaviour_probabilities.copy()
    if own.any():
        behaviour[own] = drawn_with
        mu = {"mu_kind": RECORDED, "mu_epsilon": None} if own.all() else {"mu_kind": MIXED}
        more = {"behaviour_probabilities": behaviour, **mu, **more}
    return replace(episode, actors=actors, **more)


def without_shared(episode: "Episode") -> "Episode":
    """An episode's own decisions alone: what no other episode has. One that left no other is returned as it is."""
    first = episode.first_own
    if first == 0:
        return episode
    rows = {name: getattr(episode, name) for name in (*REPEATED, "keys")}
    own: dict[str, Any] = {name: array if array is None else array[first:] for name, array in rows.items()}
    return replace(episode, **own, branch=None)


def corrected(episode: "Episode") -> NDArray[np.bool_]:
    """The decisions to learn from a person, bool [T]: all of a person's own episode.

    In shared control, those in which the person acted. Decisions without a key before the policy took over again are
    left out, because the person had let go.
    """
    if episode.actors is None:
        return np.ones(len(episode), dtype=np.bool_)
    mine: NDArray[np.bool_] = episode.actors == PERSON
    if episode.keys is None:
        return mine
    idle = np.array([not keys.any() for keys in episode.keys], dtype=np.bool_)
    for end in np.flatnonzero(mine[:-1] & ~mine[1:]).tolist():
        while end >= 0 and mine[end] and idle[end]:
            mine[end] = False
            end -= 1
    return mine

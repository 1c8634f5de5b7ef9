"""Episodes from another tool's files; missing facts are filled in and reported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...envs.spec import EnvironmentSpec
from ..behaviour_probabilities import SMOOTHED, smoothed
from ..schema import DatasetInfo, Episode, mu_in_words


@dataclass(frozen=True)
class ImportDefaults:
    """Values for facts that files lack.

    player: of the episodes. epsilon: smoothing of the behaviour probabilities. environment: given on the command line;
    None takes what the files name.
    """

    player: str
    epsilon: float
    environment: EnvironmentSpec | None = None


@dataclass(frozen=True)
class Imported:
    """Episodes of another tool's files. total: their number. notes: a sentence for everything that was filled in."""

    info: DatasetInfo
    episodes: Iterator[Episode]
    total: int
    notes: Sequence[str] = ()


def imported_episode(
    info: DatasetInfo,
    defaults: ImportDefaults,
    observations: NDArray[Any],
    actions: NDArray[Any],
    rewards: NDArray[Any],
    *,
    terminated: bool,
    **more: Any,
) -> Episode:
    """An episode of T decisions from the data that every tool has; BadInput names any mismatch.

    observations: [T + 1, *shape]. actions: int64 [T], from 0. rewards: [T]. more: source and further fields of
    `Episode`, which replace those filled in: smoothed behaviour probabilities, times by the decision rate, an ending
    without details.
    """
    actions = actions.astype(np.int16)
    rate = info.environment.capabilities.decisions_per_second
    fields: Mapping[str, Any] = {
        "behaviour_probabilities": smoothed(actions, info.actions, defaults.epsilon),
        "times": np.arange(len(actions) + 1) / rate if rate else None,
        "keys": None,
        "terminated": terminated,
        "truncated": not terminated,
        "outcome": "terminated" if terminated else "truncated",
        "player": defaults.player,
        "mu_kind": SMOOTHED,
        "mu_epsilon": defaults.epsilon,
        **more,
    }
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, which `Episode` refuses
        observations, rewards = info.observation.array(observations), rewards.astype(np.float32)
    try:
        episode = Episode(observations, actions, rewards=rewards, **fields)
        episode.require_fit(info)
        return episode
    except ValueError as error:
        raise BadInput(str(error)) from None


def filled_in(defaults: ImportDefaults) -> str:
    """The note for files that hold neither probabilities nor players."""
    return (
        f"filled in: behaviour probabilities ({mu_in_words(SMOOTHED, defaults.epsilon)}), "
        f"player={defaults.player}; without keys, so no game can be played again"
    )

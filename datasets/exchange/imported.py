"""Episodes from another tool's files; missing facts are filled in and reported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...envs.spec import EnvironmentSpec
from ..behaviour_probabilities import smoothed, smoothed_name
from ..origin import NO_ORIGIN, Origin
from ..schema import DatasetInfo, Episode


@dataclass(frozen=True)
class Unknown:
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


def info_of(environment: EnvironmentSpec | None) -> DatasetInfo:
    """Description of a dataset of this environment, from its spaces; BadInput for None."""
    if environment is None:
        raise BadInput("environment_id is not set: the file does not name its environment, such as QWOP-v1")
    observation, actions = environment.interface()
    return DatasetInfo(environment, observation, actions, action_names=environment.action_names())


def imported_episode(
    info: DatasetInfo,
    unknown: Unknown,
    observations: NDArray[Any],
    actions: NDArray[Any],
    rewards: NDArray[Any],
    *,
    terminated: bool,
    source: str,
    origin: Origin = NO_ORIGIN,
    **known: Any,
) -> Episode:
    """An episode of T decisions from the data that every tool has; BadInput names any mismatch.

    observations: [T + 1, *shape]. actions: whole numbers [T]. rewards: [T]. known: further fields of `Episode`, which
    replace those filled in: smoothed behaviour probabilities, times by the decision rate, an ending without details.
    """
    if observations.shape[1:] != info.observation.shape:
        raise BadInput(f"observations have shape {list(observations.shape[1:])}, expected {info.observation}")
    taken = np.asarray(actions)
    if taken.size != len(rewards):
        raise BadInput(f"actions have shape {list(taken.shape)}, expected one whole number for each reward")
    taken = taken.reshape(len(rewards))
    if taken.dtype.kind not in "iu" and (taken != taken.astype(np.int64)).any():
        raise BadInput("actions are no whole numbers")
    if len(taken) and not 0 <= taken.min() <= taken.max() < info.actions:
        raise BadInput(f"actions from {taken.min()} to {taken.max()}, expected 0 … {info.actions - 1}")
    taken = taken.astype(np.int16)
    rate = info.environment.capabilities.decisions_per_second
    fields: Mapping[str, Any] = {
        "behaviour_probabilities": smoothed(taken, info.actions, unknown.epsilon),
        "times": np.arange(len(taken) + 1) / (rate or 1.0),
        "keys": None,
        "terminated": terminated,
        "truncated": not terminated,
        "outcome": "terminated" if terminated else "truncated",
        "player": unknown.player,
        "source": source,
        "probabilities_from": smoothed_name(unknown.epsilon),
        "origin": origin,
        **known,
    }
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, which `Episode` refuses
        seen, earned = info.observation.array(observations), rewards.astype(np.float32)
    try:
        return Episode(seen, taken, rewards=earned, **fields)
    except ValueError as error:
        raise BadInput(str(error)) from None


def filled_in(unknown: Unknown, *more: str) -> list[str]:
    """The notes for files that hold neither probabilities nor times nor players."""
    return [
        f"filled in: behaviour probabilities ({smoothed_name(unknown.epsilon)}), times by the decision rate, "
        f"player={unknown.player}; without keys, so no game can be played again",
        *more,
    ]

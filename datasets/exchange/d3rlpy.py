"""To and from d3rlpy: https://d3rlpy.readthedocs.io"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.checks import LONGEST_REASON, quoted
from ...common.errors import BadInput, naming
from ..origin import Origin
from ..schema import DatasetInfo, Episode
from .foreign import import_extra
from .hdf5 import BROKEN, foreign_hdf5
from .imported import Imported, Unknown, filled_in, imported_episode, info_of

INSTALL = "pip install 'qwop[d3rlpy]', then pip install --no-deps d3rlpy==2.8.1"

LOST = (
    "the last observation of terminated episodes (an import fills in zeros)",
    "behaviour probabilities, times, keys, and who acted",
    "player, source, start and outcome",
)
"""Content of a dataset that d3rlpy's files do not hold."""

EXPECTED = "expected a file of ReplayBuffer.dump"

MARK = "num_episodes"
"""Name that every such file has."""


def to_d3rlpy(episodes: Iterable[Episode], info: DatasetInfo) -> Any:
    """Convert episodes to a `d3rlpy.dataset.MDPDataset`; BadInput if d3rlpy is not installed.

    d3rlpy stores one row per decision and no final observation. A terminated episode needs none. d3rlpy drops the last
    transition of any other, for want of its next observation, so the final observation is added as one more row, and
    the transition dropped is that row's, with the dummy action 0. Images become channel-first (see `channel_first`).
    """
    import_extra("d3rlpy", INSTALL)
    from d3rlpy.constants import ActionSpace
    from d3rlpy.dataset import MDPDataset

    observations, actions, rewards, terminals, timeouts = [], [], [], [], []
    for episode in episodes:
        cut = 0 if episode.terminated else 1
        rows = len(episode) + cut
        last = np.arange(rows) == rows - 1
        observations.append(channel_first(episode.observations[:rows]))
        actions.append(np.append(episode.actions, np.zeros(cut, dtype=np.int16)))
        rewards.append(np.append(episode.rewards, np.zeros(cut, dtype=np.float32)))
        terminals.append(last & (cut == 0))
        timeouts.append(last & (cut == 1))
    return MDPDataset(
        observations=np.concatenate(observations),
        actions=np.concatenate(actions)[:, None],
        rewards=np.concatenate(rewards),
        terminals=np.concatenate(terminals).astype(np.float32),
        timeouts=np.concatenate(timeouts).astype(np.float32),
        action_space=ActionSpace.DISCRETE,
        action_size=info.actions,
    )


def channel_first(observations: NDArray[Any]) -> NDArray[Any]:
    """Arrange images as d3rlpy's pixel encoder expects them, uint8 [T, C, H, W]; other observations stay as they are.

    Greyscale images [T, H, W] get one channel. With three dimensions, whichever of the first and the last is smaller
    holds the channels.
    """
    if observations.dtype != np.uint8:
        return observations
    if observations.ndim == 3:
        return observations[:, None]
    if observations.ndim == 4 and observations.shape[-1] < observations.shape[1]:
        return np.moveaxis(observations, -1, 1)
    return observations


def export(episodes: Iterable[Episode], info: DatasetInfo, path: Path) -> None:
    """Write episodes as a file that `d3rlpy.dataset.ReplayBuffer.load` opens. Holds all of them in memory."""
    converted = to_d3rlpy(episodes, info)
    with path.open("x+b") as file:
        converted.dump(file)


def read(path: Path, unknown: Unknown) -> Imported:
    """Open a file of `ReplayBuffer.dump`; BadInput for any other, and without an environment."""
    with foreign_hdf5(path, "h5py", EXPECTED) as group:
        if MARK not in group:
            raise BadInput(f"neither D4RL's arrays (observations, actions, …) nor d3rlpy's; {EXPECTED}")
    import_extra("d3rlpy", INSTALL)
    from d3rlpy.dataset import InfiniteBuffer, ReplayBuffer

    info = info_of(unknown.environment)
    with foreign_hdf5(path, "d3rlpy", EXPECTED) as group:
        group.require_all()
    try:
        with path.open("rb") as file:
            found = ReplayBuffer.load(file, InfiniteBuffer()).episodes
    except BROKEN as error:
        raise BadInput(f"{path}: d3rlpy cannot open it ({quoted(error, LONGEST_REASON)}); {EXPECTED}") from None
    zeros = "the last observation of terminated episodes: zeros, which nothing learns from"
    return Imported(info, _episodes(found, info, unknown, path), len(found), filled_in(unknown, zeros))


def _episodes(found: Iterable[Any], info: DatasetInfo, unknown: Unknown, path: Path) -> Iterator[Episode]:
    for number, one in enumerate(found):
        observations = channels_as(one.observations, info.observation.shape)
        decisions = len(one.actions) - (not one.terminated)
        if one.terminated:
            observations = np.append(observations, np.zeros_like(observations[:1]), axis=0)
        with naming(f"{path}: episode {number}"):
            yield imported_episode(
                info,
                unknown,
                observations,
                one.actions[:decisions],
                one.rewards[:decisions, 0],
                terminated=bool(one.terminated),
                source=path.name,
                origin=Origin(game=number),
            )


def channels_as(observations: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Inverse of `channel_first` for observations of this shape; others stay as they are."""
    if observations.shape[1:] == (1, *shape):
        return observations[:, 0]
    moved = np.moveaxis(observations, 1, -1) if observations.ndim == 4 else observations
    return moved if observations.shape[1:] != shape and moved.shape[1:] == shape else observations

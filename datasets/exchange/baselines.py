"""To and from the expert files of stable-baselines; see `expert_file`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...common.errors import BadInput, naming
from ..origin import Origin
from ..schema import DatasetInfo, Episode
from .expert_file import Recording, read_recording
from .imported import Imported, Unknown, filled_in, imported_episode, info_of
from .parts import REPEATED

LOST = (
    "the observation after the last decision (an import repeats the one before)",
    "the endings: an import takes an episode for terminated, unless it is as long as the environment permits",
    "behaviour probabilities, times, keys, and who acted",
    "player, source, start and outcome",
)
"""Content of a dataset that expert files do not hold."""


def read(path: Path, unknown: Unknown) -> Imported:
    """Open an expert file, whose environment has to be given; numbers are taken as they are.

    Published recordings of QWOP follow conventions of their own, which `qwop-record source=import` converts.
    """
    info = info_of(unknown.environment)
    recording = read_recording(path, info.observation.shape, info.actions)
    ends = "an episode is terminated, unless it is as long as the environment permits, and then truncated"
    total = len(recording.games)
    return Imported(info, _episodes(recording, info, unknown, path), total, filled_in(unknown, REPEATED, ends))


def _episodes(recording: Recording, info: DatasetInfo, unknown: Unknown, path: Path) -> Iterator[Episode]:
    most = info.environment.longest_episode
    for number, rows in enumerate(recording.games):
        observations = recording.observations[rows]
        if info.observation.dtype == "uint8" and not np.array_equal(observations, observations.astype(np.uint8)):
            raise BadInput(f"{path}: episode {number}: observations are no whole numbers from 0 to 255")
        with naming(f"{path}: episode {number}"):
            yield imported_episode(
                info,
                unknown,
                np.concatenate([observations, observations[-1:]]),
                recording.actions[rows],
                recording.rewards[rows],
                terminated=most is None or rows.stop - rows.start < most,
                source=recording.name,
                origin=Origin(sha256=recording.digest, game=number),
            )

"""To and from the expert files of stable-baselines; see `expert_file`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...common.errors import BadInput
from ..origin import Origin
from ..schema import DatasetInfo, Episode
from .expert_file import Recording, read_recording
from .imported import Imported, Unknown, filled_in, imported_episode, info_of

LOST = (
    "the observation after the last decision (an import takes the last row for it, and so loses that decision)",
    "the endings: an import takes every episode for truncated",
    "behaviour probabilities, times, keys",
    "player, source, start and outcome",
)
"""Content of a dataset that expert files do not hold."""


def read(path: Path, unknown: Unknown) -> Imported:
    """Open an expert file, whose environment has to be given; numbers are taken as they are.

    Published recordings of QWOP follow conventions of their own, which `qwop-record source=import` converts.
    """
    info = info_of(unknown.environment)
    recording = read_recording(path, info.observation.shape, info.actions)
    games = [rows for rows in recording.games if rows.stop - rows.start > 1]
    if not games:
        raise BadInput(f"{path}: no episode has two or more rows")
    last = "the last row of each episode is its final observation, and every episode is truncated"
    return Imported(info, _episodes(recording, games, info, unknown, path), len(games), filled_in(unknown, last))


def _episodes(
    recording: Recording, games: list[slice], info: DatasetInfo, unknown: Unknown, path: Path
) -> Iterator[Episode]:
    for number, rows in enumerate(games):
        observations = recording.observations[rows]
        if info.observation.dtype == "uint8" and not np.array_equal(observations, observations.astype(np.uint8)):
            raise BadInput(f"{path}: episode {number}: observations are no whole numbers from 0 to 255")
        try:
            yield imported_episode(
                info,
                unknown,
                observations,
                recording.actions[rows][:-1],
                recording.rewards[rows][:-1],
                terminated=False,
                source=recording.name,
                origin=Origin(sha256=recording.digest, game=number),
            )
        except BadInput as error:
            raise BadInput(f"{path}: episode {number}: {error}") from None

"""A dataset's games at another decision rate or with other observations, replayed in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.errors import naming
from ..envs.qwop.task import PIXELS
from .from_keys import qwop_info, relabelled
from .parquet import read_episode
from .reader import Dataset
from .schema import DatasetInfo, Episode

EPSILON = 0.05
"""Smoothing of the behaviour probabilities of decisions at another rate."""


class RelabelledDataset(Dataset):
    """The games of a dataset of QWOP with keys, replayed for the task of `info` when they are read, and kept.

    A policy's decisions at the recorded rate stay as they are, with their behaviour probabilities; others are smoothed.
    A person's decisions begin with the first key: a clone that learned to wait for it would never stop waiting, because
    nothing changes in the meantime.
    """

    def __init__(self, original: Dataset, info: DatasetInfo, read: dict[Path, Episode] | None = None) -> None:
        super().__init__(original.folder, info, original.files)
        self._original = original
        self._kept = {} if read is None else read
        rates = {one.environment.all_settings["frames_per_step"] for one in (info, original.info)}
        self._by_people = original.played_by_people
        self._same_decisions = len(rates) == 1 and not self._by_people

    def select(self, indices: Sequence[int]) -> "RelabelledDataset":
        return RelabelledDataset(self._original.select(indices), self.info, self._kept)

    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(episode) for episode in self], dtype=np.int64)

    def metadata(self, index: int) -> dict[str, Any]:
        return self._original.metadata(index)

    def _read(self, path: Path) -> Episode:
        if path not in self._kept:
            episode = read_episode(path, self._original.info)
            with naming(path):
                self._kept[path] = relabelled(
                    episode, self.info, EPSILON, same_decisions=self._same_decisions, from_first_key=self._by_people
                )
        return self._kept[path]


def with_task(dataset: Dataset, frames_per_step: int, observation: str | None, observation_lag: int = 0) -> Dataset:
    """The dataset's games at this decision rate, with these observations (None: its own); itself if a policy played it
    so."""
    environment = dataset.info.environment
    observation = observation or environment.all_settings["observation"]
    settings = {"frames_per_step": frames_per_step, "observation": observation, "observation_lag": observation_lag}
    if not dataset.played_by_people and settings == {name: environment.all_settings[name] for name in settings}:
        return dataset
    return RelabelledDataset(dataset, qwop_info(**{**environment.settings, **settings}))


def can_be_relabelled(dataset: Dataset) -> bool:
    """True for games of QWOP seen as numbers, if all have keys. Reads them if their environment has keys."""
    environment = dataset.info.environment
    if not environment.capabilities.keys or environment.all_settings["observation"] == PIXELS:
        return False
    return all(episode.keys is not None for episode in dataset)

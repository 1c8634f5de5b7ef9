"""Reading: the episodes in a dataset's folder."""

import hashlib
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput
from .behaviour_probabilities import RECORDED
from .embedded import dataset_path
from .folder import episode_files, read_info
from .parquet import FACTS, episode_table, facts_in, fields_in, has, read_episode
from .schema import DatasetInfo, Episode
from .summary import STATS_COLUMNS, Summary, stats_of

if TYPE_CHECKING:
    import pandas as pd

STEPS = (
    "episode_index", "step_index", "timestamp", "action", "reward", "terminated", "truncated", "actor",
    "behaviour_probabilities", "observation",
)  # fmt: skip
"""Columns of the files that `Dataset.steps` has."""


class Dataset(Sequence[Episode]):
    """The episodes that a folder held when it was opened, in the order of their numbers. Each is read on access.

    folder: the dataset's folder. info: environment, observations and actions, which all episodes share. files: path of
    each episode. An episode is checked completely whenever it is read: its file's digest, and all that `Episode`
    demands.
    """

    def __init__(
        self,
        folder: Path,
        info: DatasetInfo,
        files: tuple[Path, ...],
        about: dict[Path, dict[str, Any]] | None = None,
    ) -> None:
        self.folder = folder
        self.info = info
        self.files = files
        self._about: dict[Path, dict[str, Any]] = {} if about is None else about

    def __len__(self) -> int:
        """The number of episodes."""
        return len(self.files)

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...

    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        if isinstance(index, slice):
            return list(self.select(range(len(self))[index]))
        return self._read(self.files[index])

    def __iter__(self) -> Iterator[Episode]:
        return (self._read(path) for path in self.files)

    def select(self, indices: Sequence[int]) -> "Dataset":
        """The dataset of these episodes alone, in this order. Reads nothing."""
        return Dataset(self.folder, self.info, tuple(self.files[index] for index in indices), self._about)

    def digest(self) -> str:
        """SHA-256 that all episodes' files determine, in their order, by the digests in their names."""
        return hashlib.sha256("".join(path.name for path in self.files).encode()).hexdigest()

    def lengths(self) -> NDArray[np.int64]:
        """Number of decisions of each episode, int64 [E]."""
        return np.array([self.metadata(index)["length"] for index in range(len(self))], dtype=np.int64)

    def metadata(self, index: int) -> dict[str, Any]:
        """Facts about one episode: player, source, outcome, mu_kind, mu_epsilon, metres, seed, origin, start, branch,
        max_idle_frames, created, software_version, its length, and control: true if policy and person shared it. Each
        file is read for them once."""
        path = self.files[index]
        if path not in self._about:
            with episode_table(path, self.info, [*FACTS, "actor"]) as table:
                more = {"length": len(table), "control": has(table, "actor")}
                self._about[path] = {**fields_in(table), **facts_in(table), **more}
        return self._about[path]

    @property
    def shares_control(self) -> bool:
        """True if a policy and a person shared the control of an episode."""
        return any(self.metadata(index)["control"] for index in range(len(self)))

    @property
    def played_by_people(self) -> bool:
        """True unless a recorded policy's own probabilities are among the data."""
        return all(self.metadata(index)["mu_kind"] != RECORDED for index in range(len(self)))

    def steps(self) -> "pd.DataFrame":
        """The decisions of all episodes, a row each, in columns of the episodes' files: episode_index, step_index,
        timestamp, action, reward, terminated, truncated, actor; then probability (of the action, under the behaviour
        policy), action_name if the actions have names, and the observation. Columns without a value are left out. A
        vector has a column per number, of its name ('torso.velocity_x') or else 'observation.0', …; an image or any
        other array of two or more dimensions is one column of arrays [*shape]. Holds the whole dataset in memory.
        """
        import pandas as pd  # takes a quarter of a second, and most commands do not need it

        tables = []
        for path in self.files:
            with episode_table(path, self.info, STEPS) as steps:
                tables.append(steps.to_pandas())
        table: pd.DataFrame = pd.concat(tables, ignore_index=True).dropna(axis=1, how="all")
        spec = self.info.observation
        rows: list[NDArray[Any]] = [*table.pop("observation")]
        probabilities = np.stack([*table.pop("behaviour_probabilities")])
        table["probability"] = probabilities[np.arange(len(table)), table["action"]]
        if names := self.info.names:
            table["action_name"] = np.array(names)[table["action"]]
        if spec.dtype == "uint8":
            rows = [np.frombuffer(row, np.uint8) for row in rows]
        if len(spec.shape) > 1:
            return table.join(pd.Series([row.reshape(spec.shape) for row in rows], name="observation", dtype=object))
        columns = self.info.with_names.observation_names or [f"observation.{i}" for i in range(spec.size)]
        return table.join(pd.DataFrame(np.stack(rows), columns=columns))

    def summary(self) -> Summary:
        """Statistics of all episodes, computed from their files, whose observations are not decoded."""
        return Summary(map(self._stats, self.files), self.info)

    def _read(self, path: Path) -> Episode:
        return read_episode(path, self.info)

    def _stats(self, path: Path) -> dict[str, Any]:
        with episode_table(path, self.info, STATS_COLUMNS) as table:
            return stats_of(table, self.info)


def open_dataset(folder: str | os.PathLike[str]) -> Dataset:
    """Open the dataset in `folder`, or the embedded one of this name (`champion`, `amateur`).

    Raises BadInput without a dataset or episodes.
    """
    folder = dataset_path(folder)
    info, files = read_info(folder), episode_files(folder)
    if not files:
        more = shlex.join(["qwop-record", f"dataset={folder}"])
        raise BadInput(f"{folder}: the dataset has no episodes yet; record some with {more}")
    return Dataset(folder, info, tuple(files.values()))

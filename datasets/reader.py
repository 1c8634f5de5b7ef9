"""Episodes out of a dataset's folder."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..common.errors import BadInput
from .schema import DatasetInfo, Episode
from .summary import Summary, summarise
from .tables import decode_metadata, from_table
from .writer import EPISODE_NAME, read_info


class Dataset(Sequence[Episode]):
    """The episodes that a folder held when it was opened, in the order of their numbers; each is read when asked for.

    info: what they share. files: their paths.
    """

    def __init__(self, folder: Path, info: DatasetInfo, files: tuple[Path, ...]) -> None:
        self.folder = folder
        self.info = info
        self.files = files

    def __len__(self) -> int:
        """The number of episodes."""
        return len(self.files)

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...

    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        if isinstance(index, slice):
            return [read_episode(path, self.info) for path in self.files[index]]
        return read_episode(self.files[index], self.info)

    def __iter__(self) -> Iterator[Episode]:
        return (read_episode(path, self.info) for path in self.files)

    def metadata(self, index: int) -> dict[str, Any]:
        """What the file of one episode says besides its rows: player, source, `software_version`, `created`, …"""
        return decode_metadata(_parquet(self.files[index], pq.read_schema).metadata)

    def steps(self) -> pd.DataFrame:
        """All rows of all episodes, T + 1 for an episode of T decisions.

        Columns: episode, step, time, action (and action_name in QWOP), reward, probability (of the action taken), and
        one for each number observed (QWOP's by name: 'torso.velocity_x'). Those of a decision are missing in an
        episode's last row.
        """
        return pd.concat([_steps(index, episode, self.info) for index, episode in enumerate(self)], ignore_index=True)

    def summary(self) -> Summary:
        """Statistics of all episodes, computed from their files."""
        return summarise(self, self.info)


def open_dataset(folder: str | os.PathLike[str]) -> Dataset:
    """The dataset in `folder`; BadInput where there is none, or no episode in it yet."""
    folder = Path(folder)
    info = read_info(folder)
    numbered = sorted((int(match[1]), name) for name in os.listdir(folder) if (match := EPISODE_NAME.fullmatch(name)))
    if not numbered:
        raise BadInput(f"{folder}: a dataset without an episode; record some with qwop-record dataset={folder}")
    return Dataset(folder, info, tuple(folder / name for _, name in numbered))


def read_episode(path: Path, info: DatasetInfo) -> Episode:
    """The episode in one file; BadInput names the file and what is wrong with it."""
    table = _parquet(path, _read_table)
    try:
        own = DatasetInfo.from_json(decode_metadata(table.schema.metadata))
        if differences := info.differences(own):
            raise BadInput(f"does not belong to its dataset, whose {'; '.join(differences)}")
        return from_table(table, info)
    except BadInput as error:
        raise BadInput(f"{path}: {error}; move it out of the dataset") from None


def _read_table(source: Any) -> pa.Table:
    # Not pq.read_table, which would read columns out of a folder's name ('x=1').
    with pq.ParquetFile(source, page_checksum_verification=True) as file:
        return file.read()


def _parquet(path: Path, read: Any) -> Any:
    """What `read` gets out of the opened file; BadInput where it is not a whole Parquet file."""
    try:
        with path.open("rb") as source:
            return read(source)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; it was there when the dataset was opened") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{path}: torn or not a Parquet file ({reason}); move it out of the dataset") from None


def _steps(index: int, episode: Episode, info: DatasetInfo) -> pd.DataFrame:
    steps = len(episode)
    numbers = episode.observations.reshape(steps + 1, -1)
    capabilities = info.environment.capabilities
    names = capabilities.observation_names or [f"observation.{i}" for i in range(numbers.shape[1])]
    taken = episode.behaviour_probabilities[np.arange(steps), episode.actions]
    columns: dict[str, Any] = {
        "episode": index,
        "step": np.arange(steps + 1),
        "time": episode.times,
        "action": pd.array([*episode.actions.tolist(), None], dtype="Int16"),
    }
    if capabilities.action_names:
        columns["action_name"] = [*(capabilities.action_names[action] for action in episode.actions), None]
    columns["reward"] = np.append(episode.rewards, np.float32(np.nan))
    columns["probability"] = np.append(taken, np.float32(np.nan))
    return pd.DataFrame({**columns, **dict(zip(names, numbers.T, strict=True))})

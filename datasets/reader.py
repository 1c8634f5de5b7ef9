"""Reading: the episodes in a dataset's folder."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, overload

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..common.checks import show
from ..common.errors import BadInput
from ..common.reading import CannotBeRead, open_regular
from ..envs.spec import LONGEST_REASON
from .bounds import require_bounded, require_footer
from .folder import EPISODE_NAME, read_info
from .schema import DatasetInfo, Episode, arrow_schema
from .step_table import step_table
from .summary import Summary, summarise
from .tables import decode_metadata, from_table

Read = TypeVar("Read")


class Dataset(Sequence[Episode]):
    """The episodes that a folder held when it was opened, in the order of their numbers. Each is read on access.

    folder: the dataset's folder. info: environment, observations and actions, which all episodes share. files: path of
    each episode.
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
        """Metadata of one episode's file: player, source, `software_version`, `created`, …"""
        return decode_metadata(_parquet(self.files[index], lambda source, _: pq.read_schema(source).metadata))

    def steps(self) -> pd.DataFrame:
        """All rows of all episodes, T + 1 for an episode of T decisions.

        Columns: episode, step, time, action (and action_name if the environment names its actions), reward,
        probability (of the action taken), then the observation. A vector has one column per number, named if the
        environment names it ('torso.velocity_x'), else 'observation.0', …; an image or any other array of two or more
        dimensions is one column, 'observation', of arrays [*shape]. Action, reward and probability are missing in an
        episode's last row. Holds the whole dataset in memory; iterate over the episodes where that is too much.
        """
        tables = [step_table(episode, self.info, index) for index, episode in enumerate(self)]
        return pd.concat(tables, ignore_index=True)

    def summary(self) -> Summary:
        """Statistics of all episodes, computed from their files."""
        return summarise(self, self.info)


def open_dataset(folder: str | os.PathLike[str]) -> Dataset:
    """Open the dataset in `folder`; BadInput if there is none, or if it has no episode yet."""
    folder = Path(folder)
    info = read_info(folder)
    numbered = sorted((int(match[1]), name) for name in os.listdir(folder) if (match := EPISODE_NAME.fullmatch(name)))
    if not numbered:
        raise BadInput(f"{folder}: the dataset has no episodes yet; record some with qwop-record dataset={folder}")
    return Dataset(folder, info, tuple(folder / name for _, name in numbered))


def read_episode(path: Path, info: DatasetInfo) -> Episode:
    """Read the episode in one file; BadInput names the file and what is wrong with it."""
    return _parquet(path, lambda source, size: from_table(_read_table(source, size, info), info))


def _read_table(source: BinaryIO, size: int, info: DatasetInfo) -> pa.Table:
    # pq.read_table would take a folder named 'x=1' for a partition and add a column.
    with pq.ParquetFile(source, page_checksum_verification=True) as file:
        own = DatasetInfo.from_json(decode_metadata(file.schema_arrow.metadata))
        if differences := info.differences(own):
            raise BadInput(f"does not belong to this dataset, whose {'; '.join(differences)}")
        require_bounded(file, source, size, info)
        return file.read(columns=arrow_schema(info).names)


def _parquet(path: Path, read: Callable[[BinaryIO, int], Read]) -> Read:
    """Call `read` with the opened file and its size; BadInput if it is not a complete Parquet file."""
    try:
        with open_regular(path, None, "move it out of the dataset") as (source, size):
            require_footer(source, size)
            return read(source, size)
    except CannotBeRead:
        raise
    except BadInput as error:
        raise BadInput(f"{path}: {error}; move it out of the dataset") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = show(error, LONGEST_REASON)
        raise BadInput(f"{path}: damaged or not a Parquet file ({reason}); move it out of the dataset") from None

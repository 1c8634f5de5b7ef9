"""Reading: the episodes in a dataset's folder."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..common.files import named_path
from .checksums import CHECKSUMS, read_checksums, sha256
from .columns import arrow_schema
from .episode_file import EpisodeFile, changed, open_episode_file
from .folder import (
    DESCRIPTION,
    EPISODE_NAME,
    dataset_command,
    episode_number,
    episode_numbers,
    parse_info,
    read_description,
    require_no_export,
)
from .schema import DatasetInfo, Episode
from .summary import Facts, Summary, fact_columns, facts_in, summarise

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.dataset as pads


class Dataset(Sequence[Episode]):
    """The episodes that a folder held when it was opened, in the order of their numbers. Each is read on access.

    folder: the dataset's folder. info: environment, observations and actions, which all episodes share. files: path of
    each episode. checksums: SHA-256 of the files that the folder's list has, by name. An episode is checked completely
    whenever it is read: the file's checksum, the hash of its content, and everything that `Episode` demands.
    """

    def __init__(
        self, folder: Path, info: DatasetInfo, files: tuple[Path, ...], checksums: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.info = info
        self.files = files
        self.checksums = checksums or {}

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
        return Dataset(self.folder, self.info, tuple(self.files[index] for index in indices), self.checksums)

    def digest(self) -> str:
        """SHA-256 that all episodes' files determine, in their order. Reads only files without a listed checksum."""
        found = (self.checksums.get(path.name) or sha256(path.read_bytes()) for path in self.files)
        return sha256("".join(found).encode())

    def lengths(self) -> NDArray[np.int64]:
        """Number of decisions of each episode, int64 [E], from the files' footers."""
        lengths = []
        for path in self.files:
            with self._opened(path) as file:
                lengths.append(file.parquet.metadata.num_rows - 1)
        return np.array(lengths, dtype=np.int64)

    def metadata(self, index: int) -> dict[str, Any]:
        """Metadata of one episode's file: player, source, `software_version`, `created`, …"""
        with self._opened(self.files[index]) as file:
            return dict(file.metadata)

    def arrow(self) -> "pads.Dataset":
        """All rows of all episodes as a `pyarrow.dataset.Dataset`, which streams them.

        Its `scanner(columns=…, filter=…)` and `to_batches` read only the requested data, and polars and DuckDB accept
        it directly. Only the checksums of Parquet's pages are checked; `qwop-dataset verify` checks everything.
        """
        import pyarrow.dataset as pads  # which imports pandas

        options = pads.ParquetFragmentScanOptions(page_checksum_verification=True)
        return pads.dataset(
            [str(path) for path in self.files],
            schema=arrow_schema(self.info),
            format=pads.ParquetFileFormat(default_fragment_scan_options=options),
        )

    def steps(self) -> "pd.DataFrame":
        """All rows of all episodes, T + 1 for an episode of T decisions.

        Columns: episode (the number in its file's name), step, time, action (and action_name if the environment names
        its actions), reward, terminated, truncated, in shared control actor ('policy' or 'person'), probability (of the
        action taken), then the observation. A vector has one column per number, named if the environment names it
        ('torso.velocity_x'), else 'observation.0', …; an image or any other array of two or more dimensions is one
        column, 'observation', of arrays [*shape]. Those of a decision are missing in an episode's last row. Holds the
        whole dataset in memory; `arrow` streams it.
        """
        import pandas as pd  # takes a quarter of a second, and most commands do not need it

        from .step_table import step_table

        episodes = zip(self.files, self, strict=True)
        tables = [step_table(episode, self.info, episode_number(path)) for path, episode in episodes]
        return pd.concat(tables, ignore_index=True)

    def summary(self) -> Summary:
        """Statistics of all episodes, computed from their files, whose observations are not decoded."""
        return summarise((self._facts(path) for path in self.files), self.info)

    def _read(self, path: Path) -> Episode:
        return read_episode(path, self.info, self.checksums.get(path.name))

    def _facts(self, path: Path) -> Facts:
        with self._opened(path) as file:
            return facts_in(file.table(self.info, fact_columns(self.info)), self.info, file.metadata)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[EpisodeFile]:
        """An opened file. One without a listed checksum is read once completely, which checks its content's hash."""
        with open_episode_file(path, self.checksums.get(path.name)) as file:
            if path.name not in self.checksums:
                file.episode(self.info)
            yield file


def open_dataset(folder: str | os.PathLike[str]) -> Dataset:
    """Open the dataset in `folder`; BadInput without a dataset or episodes, or if a file is missing."""
    folder = named_path(folder, "dataset's folder")
    content = read_description(folder)
    info = parse_info(content, folder / DESCRIPTION)
    checksums = read_checksums(folder)
    if checksums.get(DESCRIPTION, sha256(content)) != sha256(content):
        raise changed(folder / DESCRIPTION)
    numbered = episode_numbers(folder)
    if missing := sorted({name for name in checksums if EPISODE_NAME.fullmatch(name)} - {*numbered.values()}):
        raise BadInput(
            f"{folder / missing[0]}: missing, though {CHECKSUMS} lists it; put it back or, if it was removed on "
            f"purpose: {dataset_command('describe', folder, 'accept=true')}"
        )
    if not numbered:
        require_no_export(folder)
        more = shlex.join(["qwop-record", f"dataset={folder}"])
        raise BadInput(f"{folder}: the dataset has no episodes yet; record some with {more}")
    return Dataset(folder, info, tuple(folder / name for name in numbered.values()), checksums)


def read_episode(path: Path, info: DatasetInfo, checksum: str | None = None) -> Episode:
    """Read the episode in one file; BadInput names the file and its fault.

    checksum: expected SHA-256 of the file, if known.
    """
    with open_episode_file(path, checksum) as file:
        return file.episode(info)

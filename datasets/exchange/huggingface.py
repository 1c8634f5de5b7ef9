"""To and from Hugging Face: a folder of Parquet files and a card that `datasets.load_dataset` opens.

Two configurations: `steps`, the rows of all episodes in the columns of our own files, and `episodes`, a row for what
each file's metadata hold. Neither writing nor reading needs a package of Hugging Face's.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...common.checks import LONGEST_REASON, quoted
from ...common.errors import BadInput
from ...common.files import write_atomic
from ...common.reading import MEGABYTE, parse_json
from ..arrow import HASH, from_table, to_table
from ..bounds import permitted, require_permitted
from ..card import CARD, column_table, front_matter, summary_table
from ..columns import arrow_schema
from ..folder import DESCRIPTION, EXPORTED, read_info, to_text
from ..reader import Dataset
from ..schema import DatasetInfo, Episode
from .imported import Imported
from .parquet import foreign_parquet, parquet_files

STEPS, EPISODES = EXPORTED

SHARD = 200_000
"""Rows of a file, at most, unless an episode is longer."""

BATCH, BATCH_BYTES = 16_384, 16 * MEGABYTE
"""Rows read or written at a time, and their bytes, at most, unless an episode or a row is larger."""

ABOUT = """`load_dataset(folder, "steps")` opens the rows of all episodes, `load_dataset(folder, "episodes")` a row for
each episode. This turns the folder back into a dataset of qwop, equal to the bit, and checks it and these figures:

```sh
qwop-dataset import . out=../imported && qwop-dataset verify ../imported
```
"""


COLUMNS = {
    "player": pa.string(), "source": pa.string(), "terminated": pa.bool_(), "truncated": pa.bool_(),
    "outcome": pa.string(), "probabilities_from": pa.string(), "metres": pa.float64(), "software_version": pa.string(),
    "created": pa.string(), "origin": pa.string(), "start": pa.string(), HASH: pa.string(),
}  # fmt: skip
"""Columns of `episodes` of every version; those of `IN_JSON` hold JSON."""

IN_JSON = ("origin", "start", "branch")


def columns_of(info: DatasetInfo) -> dict[str, pa.DataType]:
    """Columns of `episodes` besides `episode`, of datasets of this version."""
    return {**COLUMNS, **({"branch": pa.string()} if info.shares_control else {})}


def export(dataset: Dataset, info: DatasetInfo, name: str, folder: Path) -> None:
    """Write a dataset into an empty folder, under a card with this name."""
    (folder / STEPS).mkdir()
    (folder / EPISODES).mkdir()
    rows = []
    with _Shards(folder / STEPS) as shards:
        for number, episode in enumerate(dataset):
            table = _table(episode, info, number)
            shards.write(table)
            rows.append(_row(table, number, info))
    schema = pa.schema({"episode": pa.int32(), **columns_of(info)})
    pq.write_table(pa.Table.from_pylist(rows, schema), folder / EPISODES / "train-00000.parquet")
    write_atomic(folder / DESCRIPTION, to_text(info.description()))
    summary = dataset.summary()
    configurations = {kind: f"{kind}/*.parquet" for kind in (STEPS, EPISODES)}
    tables = "\n".join([*summary_table(summary), "", *column_table(info)])
    write_atomic(folder / CARD, f"{front_matter(summary, configurations)}\n# {name}\n\n{ABOUT}\n{tables}\n")


def read(path: Path) -> Imported:
    """Open a folder that `export` wrote, also if the hub has divided its files otherwise."""
    info = read_info(path)
    about = pa.concat_tables([_about(file, info) for file in _files(path / EPISODES)]).sort_by("episode")
    return Imported(info, _episodes(path, info, about), len(about))


def _files(folder: Path) -> list[Path]:
    if not (found := parquet_files(folder)):
        raise BadInput(f"{folder}: no Parquet file in it")
    return found


def _about(file: Path, info: DatasetInfo) -> pa.Table:
    with foreign_parquet(file, {"episode": pa.int32(), **columns_of(info)}) as parquet:
        return parquet.table()


def _episodes(path: Path, info: DatasetInfo, about: pa.Table) -> Iterator[Episode]:
    tables = _split(path / STEPS, info)
    for number in range(len(about)):
        row = {name: about.column(name)[number].as_py() for name in ("episode", *columns_of(info))}
        with _naming(path, number):
            table = next(tables, None)
            if table is None:
                raise BadInput(f"its rows are missing in {STEPS}")
            values = {**info.to_json(), **{name: _value(name, row[name]) for name in columns_of(info)}}
            metadata = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
            episode = from_table(table.replace_schema_metadata(metadata), info, row["episode"])
        yield episode
    if next(tables, None) is not None:
        raise BadInput(f"{path}: {STEPS} has rows of more episodes than the {len(about):,} of {EPISODES}")


@contextmanager
def _naming(path: Path, number: int) -> Iterator[None]:
    try:
        yield
    except BadInput as error:
        message = str(error)
        raise BadInput(message if message.startswith(f"{path}") else f"{path}: episode {number}: {message}") from None
    except (KeyError, ValueError, pa.ArrowException) as error:
        raise BadInput(f"{path}: episode {number}: {quoted(error, LONGEST_REASON)}") from None


def _split(folder: Path, info: DatasetInfo) -> Iterator[pa.Table]:
    """The rows of each episode, whatever files, row groups and batches they come in."""
    parts: list[pa.Table] = []
    files = _files(folder)
    size = sum(file.stat().st_size for file in files)
    for file in files:
        for table in _batches(file, info):
            begins = np.flatnonzero(table.column("step").to_numpy() == 0).tolist()
            for begin, end in pairwise([0, *(one for one in begins if one), len(table)]):
                if begin in begins and parts:
                    yield pa.concat_tables(parts)
                    parts = []
                if end > begin:
                    parts.append(table.slice(begin, end - begin))
            require_permitted(sum(part.nbytes for part in parts), permitted(size), size)
    if parts:
        yield pa.concat_tables(parts)


def _batches(file: Path, info: DatasetInfo) -> Iterator[pa.Table]:
    schema = arrow_schema(info)
    row = info.observation.size * np.dtype(info.observation.dtype).itemsize + 4 * info.actions
    with foreign_parquet(file, {field.name: field.type for field in schema}) as parquet:
        yield from (table.cast(schema) for table in parquet.batches(max(1, min(BATCH, BATCH_BYTES // row))))


def _table(episode: Episode, info: DatasetInfo, number: int) -> pa.Table:
    # Metres as the column stores them, because the hash is of those.
    metres = None if episode.metres is None else float(episode.metres)
    return to_table(replace(episode, metres=metres), info, number)


def _row(table: pa.Table, number: int, info: DatasetInfo) -> dict[str, Any]:
    """The row of `episodes` for an episode's table."""
    found = {name: table.schema.metadata[name.encode()].decode() for name in columns_of(info)}
    return {"episode": number, **{name: text if name in IN_JSON else json.loads(text) for name, text in found.items()}}


def _value(name: str, found: Any) -> Any:
    if name not in IN_JSON:
        return found
    if found is None:
        raise BadInput(f"column {name} has a null")
    return parse_json(found)


class _Shards:
    """Writes tables into files of up to `SHARD` rows, in groups of rows of up to `BATCH`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = self._rows = 0
        self._writer: Any = None
        self._waiting: list[pa.Table] = []

    def __enter__(self) -> "_Shards":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, table: pa.Table) -> None:
        """Add the rows of an episode."""
        rows = _without_fixed_binary(table.replace_schema_metadata(None))
        if self._writer is None or self._rows + len(rows) > SHARD:
            self._close()
            path = self.folder / f"train-{self._number:05d}.parquet"
            self._writer = pq.ParquetWriter(path, rows.schema, compression="zstd", write_page_checksum=True)
            self._number, self._rows = self._number + 1, 0
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) > BATCH or sum(one.nbytes for one in self._waiting) > BATCH_BYTES:
            self._write_waiting()
        self._rows += len(rows)

    def _write_waiting(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks())
            self._waiting = []

    def _close(self) -> None:
        if self._writer is not None:
            try:
                self._write_waiting()
            finally:
                self._writer.close()


def _without_fixed_binary(table: pa.Table) -> pa.Table:
    """The table with observations of bytes as plain binary: Hugging Face has no type for bytes of a fixed length."""
    place = table.schema.get_field_index("observation")
    if not pa.types.is_fixed_size_binary(table.schema.field(place).type):
        return table
    return table.set_column(place, "observation", table.column(place).cast(pa.binary()))

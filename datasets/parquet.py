"""An episode's Parquet file, read: its bytes are compared with the digest in its name before Arrow decodes any."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..common.errors import LONGEST_REASON, BadInput, quoted
from ..common.reading import MEGABYTE, CannotBeRead, parse_json, read_bytes
from .columns import DATASET, EPISODE, FACTS, NUMBERS, arrow_schema, encoded, fields_of
from .folder import DESCRIPTION, digest_in, digest_of, episode_number
from .schema import DatasetInfo, Episode

LARGEST = 4096 * MEGABYTE
"""Bytes of a file."""

ADVICE = "move it out of the dataset"


@dataclass(frozen=True)
class EpisodeFile:
    """The file of an episode of a dataset of `info`. Its methods raise BadInput for faulty content."""

    path: Path
    info: DatasetInfo
    parquet: pq.ParquetFile

    def episode(self) -> Episode:
        """The episode, checked completely."""
        return self.episode_of(self.table())

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Some columns, or all, in the types that they have to have; T rows, which are one or more."""
        expected, schema = arrow_schema(self.info), self.parquet.schema_arrow
        for field in expected if not schema.equals(expected) else ():
            kind = schema.field(field.name).type if schema.names.count(field.name) == 1 else "missing"
            if kind != field.type:
                raise BadInput(f"column {field.name} is {quoted(kind)}, expected {field.type}")
        if not len(self):
            raise BadInput("it has no decision")
        return self.parquet.read(list(columns or expected.names), use_threads=False)  # too small for threads to help

    def __len__(self) -> int:
        """T, the number of decisions, as the file says it."""
        return int(self.parquet.metadata.num_rows)

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """JSON values that no column holds: origin, start, branch, …"""
        return _json(self.parquet, EPISODE)  # type: ignore[no-any-return]

    def about(self) -> dict[str, Any]:
        """The facts about the episode, by their names, with its `length`, and if policy and person shared its
        `control`."""
        facts = facts_in(self.table([*FACTS, "actor"]))
        return {**self.fields, **facts, "length": len(self)}

    def require_description(self) -> None:
        """Raise BadInput unless the file repeats the description of the dataset."""
        if (self.parquet.metadata.metadata or {}).get(DATASET) == encoded(self.info.to_json()):
            return
        document = _json(self.parquet, DATASET)
        if document == self.info.to_json():
            return
        own = DatasetInfo.from_json(document)
        differences = own.differences(self.info) or ["the names of observations or actions are others"]
        raise BadInput(
            f"its description is not that of {self.path.parent.parent / DESCRIPTION}: {'; '.join(differences)}"
        )

    def episode_of(self, table: pa.Table) -> Episode:
        """The episode in the table of all columns; BadInput names the column that is wrong."""
        steps, info, number = len(table), self.info, episode_number(self.path)
        numbers = _numbers(table, "episode_index")
        if (numbers != (numbers[0] if number is None else number)).any():
            raise BadInput(
                f"column episode_index says {', '.join(map(str, np.unique(numbers)[:3]))}, expected the number of the "
                "file's name; the file was renamed, copied or changed"
            )
        if not np.array_equal(_numbers(table, "step_index"), np.arange(steps)):
            raise BadInput("column step_index does not count from 0")
        facts = facts_in(table)
        del facts["control"]
        observations = np.empty((steps + 1, info.observation.size), info.observation.dtype)
        observations[:steps] = _rows(table, "observation", steps, info)
        observations[steps:] = _rows(table, "final_observation", 1, info)
        try:
            return Episode(
                observations=observations.reshape(steps + 1, *info.observation.shape),
                actions=_numbers(table, "action"),
                behaviour_probabilities=_rows(table, "behaviour_probabilities", steps, info),
                rewards=_numbers(table, "reward"),
                times=_times(table),
                keys=_keys(table),
                terminated=_at_the_end(table, "terminated"),
                truncated=_at_the_end(table, "truncated"),
                actors=_numbers(table, "actor") if _has(table, "actor") else None,
                policy_probabilities=_rows(table, "policy_probabilities", steps, info)
                if _has(table, "policy_probabilities")
                else None,
                **facts,
                **fields_of(self.fields),
            )
        except (ValueError, OverflowError) as error:
            raise BadInput(str(error)) from None


def facts_in(table: pa.Table) -> dict[str, Any]:
    """The facts about an episode, from a table with `FACTS` and `actor`; BadInput if they are not constant in it."""
    constants: dict[str, Any] = {}
    for name in FACTS:
        values = _whole(table, name).unique()
        if len(values) != 1 or (values.null_count and name not in NUMBERS):
            raise BadInput(f"column {name} is not the same in all rows")
        constants[name] = values[0].as_py()
    seed = constants["seed"]
    return {**constants, "seed": None if seed == -1 else seed, "control": _has(table, "actor")}


@contextmanager
def open_episode_file(path: Path, info: DatasetInfo) -> Iterator[EpisodeFile]:
    """Context manager: open an episode's file of a dataset of `info`. Errors about its content within the context
    become BadInput that names it."""
    with naming(path), _opened(path) as parquet:
        file = EpisodeFile(path, info, parquet)
        file.require_description()
        yield file


def description_in(path: Path) -> DatasetInfo:
    """The description of its dataset that an episode's file repeats; BadInput for any other file."""
    with naming(path), _opened(path) as parquet:
        return DatasetInfo.from_json(_json(parquet, DATASET))


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    content = read_bytes(path, LARGEST, ADVICE)
    if digest_in(path) != digest_of(content):
        raise BadInput("its bytes are not those of the digest in its name: it was changed, cut or renamed")
    # pq.read_table would take a folder named 'x=1' for a partition and add a column.
    with pq.ParquetFile(pa.BufferReader(content)) as parquet:
        yield parquet


def _json(parquet: pq.ParquetFile, name: bytes) -> Any:
    raw = (parquet.metadata.metadata or {}).get(name)
    if raw is None:
        raise BadInput("it is no episode of qwop-record: its metadata lack an entry")
    try:
        return parse_json(raw)
    except ValueError as error:
        raise BadInput(f"its metadata cannot be read ({error})") from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Context manager: turn errors about the content of the file `path` into BadInput that names it."""
    try:
        yield
    except CannotBeRead:
        raise
    except BadInput as error:
        raise BadInput(f"{path}: {error}; {ADVICE}") from None
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        reason = quoted(error, LONGEST_REASON) or type(error).__name__
        raise BadInput(f"{path}: damaged or not a Parquet file ({reason}); {ADVICE}") from None


def _whole(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece; copied only if it has several."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _has(table: pa.Table, name: str) -> bool:
    """True if a column has a value."""
    return bool(table.column(name).null_count < len(table))


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    column = _whole(table, name)
    if column.null_count:
        raise BadInput(f"column {name} has a null")
    # Copied, because Arrow's array is read-only and keeps the memory of the whole file alive.
    return np.array(column.to_numpy(zero_copy_only=False))


def _rows(table: pa.Table, name: str, count: int, info: DatasetInfo) -> NDArray[Any]:
    """The values of a column in its last `count` rows, which have to be there, and there alone; [count, size]."""
    column, steps = table.column(name), len(table)
    if column.null_count != steps - count or column.slice(steps - count).null_count:
        raise BadInput(f"column {name} has a null" if count == steps else f"column {name} is not in the last row alone")
    column = column.slice(steps - count)
    if pa.types.is_binary(column.type):
        pictures = column.to_pylist()
        if {len(one) for one in pictures} != {info.observation.size}:
            raise BadInput(f"column {name} holds pictures of other sizes than {info.observation}")
        return np.frombuffer(bytearray().join(pictures), np.uint8).reshape(count, -1)
    flat = [part.flatten() for part in column.chunks]
    if any(part.null_count for part in flat):
        raise BadInput(f"column {name} has a null")
    numbers = [part.to_numpy() for part in flat]
    return np.array(numbers[0] if len(numbers) == 1 else np.concatenate(numbers)).reshape(count, -1)


def _times(table: pa.Table) -> NDArray[np.float64] | None:
    if not _has(table, "timestamp") and not _has(table, "final_timestamp"):
        return None
    final = table.column("final_timestamp")
    if final.null_count != len(table) - 1 or not final[-1].is_valid:
        raise BadInput("column final_timestamp is not in the last row alone")
    return np.append(_numbers(table, "timestamp"), final[-1].as_py())


def _at_the_end(table: pa.Table, name: str) -> bool:
    flags = _numbers(table, name)
    if flags[:-1].any():
        raise BadInput(f"column {name} is true in row {int(flags.argmax())}, before the last")
    return bool(flags[-1])


def _keys(table: pa.Table) -> tuple[NDArray[np.uint8], ...] | None:
    column = _whole(table, "keys")
    if column.null_count == len(column):
        return None
    values = column.flatten()
    if column.null_count or values.null_count:
        raise BadInput("column keys is null in some decisions and not in others")
    frames = np.array(values.to_numpy())
    bounds = column.offsets.to_numpy()
    return tuple(frames[begin:end] for begin, end in pairwise((bounds - bounds[0]).tolist()))

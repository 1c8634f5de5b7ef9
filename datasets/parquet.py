"""An episode's Parquet file, read: its bytes are compared with the digest in its name before Arrow decodes any."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..common.errors import LONGEST_REASON, BadInput, quoted
from ..common.reading import MEGABYTE, CannotBeRead, parse_json, read_bytes
from .columns import DATASET, EPISODE, FACTS, LAST, NULLABLE, arrow_schema, encoded, fields_of
from .folder import DESCRIPTION, digest_of, episode_number
from .schema import DatasetInfo, Episode

LARGEST = 4096 * MEGABYTE
"""Bytes of a file."""

ADVICE = "move it out of the dataset"


@contextmanager
def episode_table(path: Path, info: DatasetInfo, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Context manager: columns (None: all) of an episode's file of a dataset of `info`, as `table_of` has them. Errors
    about its content within the context become BadInput that names it."""
    with naming(path), _opened(path) as parquet:
        yield table_of(parquet, info, columns)


def description_in(path: Path) -> DatasetInfo:
    """The description of its dataset that an episode's file repeats; BadInput for any other file."""
    with naming(path), _opened(path) as parquet:
        return DatasetInfo.from_json(_json(parquet.metadata.metadata, DATASET))


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


def _opened(path: Path) -> pq.ParquetFile:
    content = read_bytes(path, LARGEST, ADVICE)
    if not path.stem.endswith(f"-{digest_of(content)}"):
        raise BadInput("its bytes are not those of the digest in its name: it was changed, cut or renamed")
    # pq.read_table would take a folder named 'x=1' for a partition and add a column.
    return pq.ParquetFile(pa.BufferReader(content))


def table_of(parquet: pq.ParquetFile, info: DatasetInfo, columns: Sequence[str] | None = None) -> pa.Table:
    """Columns of an episode's file (None: all), T ≥ 1 rows, with its metadata. BadInput unless the file has all columns
    in their types, the values that they have to have, and the description `info`."""
    metadata = parquet.metadata.metadata or {}
    if metadata.get(DATASET) != encoded(info.to_json()) and (document := _json(metadata, DATASET)) != info.to_json():
        differences = DatasetInfo.from_json(document).differences(info)
        more = "; ".join(differences or ["the names of observations or actions are others"])
        raise BadInput(f"its description is not that of {DESCRIPTION}: {more}")
    expected, schema = arrow_schema(info), parquet.schema_arrow
    for field in expected if not schema.equals(expected) else ():
        kind = schema.field(field.name).type if schema.names.count(field.name) == 1 else "missing"
        if kind != field.type:
            raise BadInput(f"column {field.name} is {quoted(kind)}, expected {field.type}")
    if not parquet.metadata.num_rows:
        raise BadInput("it has no decision")
    table = parquet.read(list(columns or expected.names), use_threads=False)  # too small for threads to help
    for name, column in zip(table.column_names, table.columns, strict=True):
        there = len(column) - column.null_count
        if name in LAST and not (there == 1 and column[-1].is_valid) and (there or name == "final_observation"):
            raise BadInput(f"column {name} is not in the last row alone")
        if name not in LAST and column.null_count and (there or name not in NULLABLE):
            raise BadInput(f"column {name} has a null")
    return table


def fields_in(table: pa.Table) -> Any:
    """JSON values that no column holds: origin, start, branch, …"""
    return _json(table.schema.metadata, EPISODE)


def facts_in(table: pa.Table) -> dict[str, Any]:
    """The facts about an episode, from a table with `FACTS`; BadInput if they are not constant in it."""
    constants: dict[str, Any] = {}
    for name in FACTS:
        values = table.column(name).unique()
        if len(values) != 1:
            raise BadInput(f"column {name} is not the same in all rows")
        constants[name] = values[0].as_py()
    return {**constants, "seed": None if constants["seed"] == -1 else constants["seed"]}


def has(table: pa.Table, name: str) -> bool:
    """True if a column has a value."""
    return bool(table.column(name).null_count < len(table))


def episode_of(table: pa.Table, info: DatasetInfo, number: int | None) -> Episode:
    """The episode in the table of all columns, with this number (None: any); BadInput names the column that is
    wrong."""
    steps, numbers = len(table), _numbers(table, "episode_index")
    if (numbers != (numbers[0] if number is None else number)).any():
        raise BadInput(
            f"column episode_index says {', '.join(map(str, np.unique(numbers)[:3]))}, expected the number of the "
            "file's name; the file was renamed, copied or changed"
        )
    if not np.array_equal(_numbers(table, "step_index"), np.arange(steps)):
        raise BadInput("column step_index does not count from 0")
    final = table.column("final_timestamp")[-1].as_py()
    if has(table, "timestamp") != (final is not None):
        raise BadInput("column final_timestamp is not in the last row alone")
    observations = np.concatenate([_rows(table, "observation", info), _rows(table.slice(steps - 1), LAST[0], info)])
    try:
        return Episode(
            observations=observations.reshape(steps + 1, *info.observation.shape),
            actions=_numbers(table, "action"),
            behaviour_probabilities=_rows(table, "behaviour_probabilities", info),
            rewards=_numbers(table, "reward"),
            times=None if final is None else np.append(_numbers(table, "timestamp"), final),
            keys=_keys(table) if has(table, "keys") else None,
            terminated=_at_the_end(table, "terminated"),
            truncated=_at_the_end(table, "truncated"),
            actors=_numbers(table, "actor") if has(table, "actor") else None,
            policy_probabilities=(
                _rows(table, "policy_probabilities", info) if has(table, "policy_probabilities") else None
            ),
            **facts_in(table),
            **fields_of(fields_in(table)),
        )
    except (ValueError, OverflowError) as error:
        raise BadInput(str(error)) from None


def read_episode(path: Path, info: DatasetInfo) -> Episode:
    """Read the episode in one file; BadInput names the file and its fault."""
    with episode_table(path, info) as table:
        return episode_of(table, info, episode_number(path))


def _json(metadata: Any, name: bytes) -> Any:
    if name not in (metadata or {}):
        raise BadInput("it is no episode of qwop-record: its metadata lack an entry")
    try:
        return parse_json(metadata[name])
    except ValueError as error:
        raise BadInput(f"its metadata cannot be read ({error})") from None


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    # Copied, because Arrow's array is read-only and keeps the memory of the whole file alive.
    return np.array(table.column(name).to_numpy())


def _rows(table: pa.Table, name: str, info: DatasetInfo) -> NDArray[Any]:
    """A column of lists of numbers, or of pictures' bytes, [T, size]."""
    column = table.column(name)
    if pa.types.is_binary(column.type):
        pictures = column.to_pylist()
        if {len(one) for one in pictures} != {info.observation.size}:
            raise BadInput(f"column {name} holds pictures of other sizes than {info.observation}")
        return np.frombuffer(b"".join(pictures), np.uint8).reshape(len(table), -1)
    flat = [part.flatten() for part in column.chunks]
    if any(part.null_count for part in flat):
        raise BadInput(f"column {name} has a null")
    return np.concatenate([part.to_numpy() for part in flat]).reshape(len(table), -1)


def _at_the_end(table: pa.Table, name: str) -> bool:
    flags = _numbers(table, name)
    if flags[:-1].any():
        raise BadInput(f"column {name} is true in row {int(flags.argmax())}, before the last")
    return bool(flags[-1])


def _keys(table: pa.Table) -> tuple[NDArray[np.uint8], ...]:
    column = table.column("keys").combine_chunks()
    values, bounds = column.flatten(), column.offsets.to_numpy()
    if values.null_count:
        raise BadInput("column keys has a null")
    frames = np.array(values.to_numpy())
    return tuple(frames[begin:end] for begin, end in pairwise((bounds - bounds[0]).tolist()))

"""Conversion of an episode to an Arrow table and back."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..common.reading import parse_json
from ..envs.qwop.session import GameStart
from .schema import DatasetInfo, Episode, arrow_schema

DECISION_COLUMNS = ("action", "behaviour_probabilities", "reward")
"""Null in the last row and nowhere else."""

EPISODE_FIELDS = (
    "player", "source", "seed", "terminated", "truncated", "outcome", "probabilities_from", "metres",
)  # fmt: skip
"""Fields of an `Episode` that are stored in the file's metadata."""

METADATA_NAMES = (
    "schema_version", "environment", "observation_shape", "actions", *EPISODE_FIELDS, "software_version", "created",
)  # fmt: skip
"""Metadata that every episode's file has."""

LATER_METADATA_NAMES = ("observation_dtype", "start")
"""Metadata that older files lack; `DatasetInfo.from_json` and `from_table` know their defaults."""


def to_table(episode: Episode, info: DatasetInfo) -> pa.Table:
    """Make the table of an episode: T + 1 rows, and everything else as metadata, one JSON value per name."""
    schema = arrow_schema(info)
    steps = len(episode)
    last = np.arange(steps + 1) == steps

    def probabilities() -> pa.Array:
        rows = np.zeros((steps + 1, info.actions), dtype=np.float32)
        rows[:steps] = episode.behaviour_probabilities
        return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), info.actions, mask=pa.array(last))

    columns = {
        "step": pa.array(np.arange(steps + 1, dtype=np.int32)),
        "observation": _observation_column(episode.observations, schema.field("observation").type),
        "action": pa.array(np.append(episode.actions, np.int16(0)), mask=last),
        "behaviour_probabilities": probabilities(),
        "reward": pa.array(np.append(episode.rewards, np.float32(0)), mask=last),
        "keys": pa.array([*(episode.keys or [None] * steps), None], type=schema.field("keys").type),
        "time": pa.array(episode.times),
    }
    metadata = {
        **info.to_json(),
        **{name: getattr(episode, name) for name in EPISODE_FIELDS},
        "software_version": version("qwop"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if episode.start is not None:
        metadata["start"] = episode.start.to_json()
    encoded = {name: json.dumps(value, ensure_ascii=False) for name, value in metadata.items()}
    return pa.table(columns, schema=schema.with_metadata(encoded))


def _observation_column(observations: NDArray[Any], column_type: pa.DataType) -> pa.Array:
    flat = np.ascontiguousarray(observations).ravel()
    if pa.types.is_fixed_size_binary(column_type):
        return pa.FixedSizeBinaryArray.from_buffers(column_type, len(observations), [None, pa.py_buffer(flat)])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), column_type.list_size)


def decode_metadata(raw: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Decode the metadata of an episode's file; BadInput if it is incomplete, as in any other Parquet file."""
    found = raw or {}
    missing = [name for name in METADATA_NAMES if name.encode() not in found]
    if missing:
        raise BadInput(f"its metadata lacks {missing[0]}, so it is not an episode recorded by qwop-record")
    later = [name for name in LATER_METADATA_NAMES if name.encode() in found]
    try:
        return {name: parse_json(found[name.encode()]) for name in (*METADATA_NAMES, *later)}
    except ValueError as error:
        raise BadInput(f"its metadata cannot be read ({error})") from None


def from_table(table: pa.Table, info: DatasetInfo) -> Episode:
    """Inverse of `to_table`; BadInput names the column that is wrong."""
    metadata = decode_metadata(table.schema.metadata)
    for field in arrow_schema(info):
        found = table.schema.field(field.name).type if field.name in table.schema.names else "missing"
        if found != field.type:
            raise BadInput(f"column {field.name} is {found}, expected {field.type}")
    steps = table.num_rows - 1
    if steps < 1:
        raise BadInput("it has no decision")
    if not np.array_equal(_numbers(table, "step"), np.arange(steps + 1)):
        raise BadInput("column step does not count from 0")
    for name in DECISION_COLUMNS:
        nulls = table.column(name).is_null().to_numpy()
        if not nulls[-1:].all() or nulls[:-1].any():
            raise BadInput(f"column {name} must be null in the last row and only there")
    decisions = table.slice(0, steps)
    try:
        return Episode(
            observations=_observations(table).reshape(steps + 1, *info.observation.shape),
            actions=_numbers(decisions, "action"),
            behaviour_probabilities=_rows(decisions, "behaviour_probabilities").reshape(steps, info.actions),
            rewards=_numbers(decisions, "reward"),
            times=_numbers(table, "time"),
            keys=_keys(decisions),
            **{name: metadata[name] for name in EPISODE_FIELDS},
            start=GameStart.from_json(metadata["start"]) if "start" in metadata else None,
        )
    except ValueError as error:
        raise BadInput(str(error)) from None


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    column = table.column(name)
    if column.null_count:
        raise BadInput(f"column {name} has a null")
    # Copied, because Arrow's array is read-only and keeps the memory of the whole file alive.
    return np.array(column.to_numpy())


def _observations(table: pa.Table) -> NDArray[Any]:
    column = table.column("observation").combine_chunks()
    if not pa.types.is_fixed_size_binary(column.type):
        return _rows(table, "observation")
    if column.null_count:
        raise BadInput("column observation has a null")
    _, data = column.buffers()
    size = column.type.byte_width
    return np.frombuffer(data, np.uint8, count=len(column) * size, offset=column.offset * size).copy()


def _rows(table: pa.Table, name: str) -> NDArray[np.float32]:
    column = table.column(name).combine_chunks()
    values = column.flatten()
    if column.null_count or values.null_count:
        raise BadInput(f"column {name} has a null")
    return np.array(values.to_numpy())


def _keys(decisions: pa.Table) -> tuple[NDArray[np.uint8], ...] | None:
    column = decisions.column("keys").combine_chunks()
    if column.null_count == len(column):
        return None
    if column.null_count or column.flatten().null_count:
        raise BadInput("column keys is null in some decisions and not in others")
    frames = np.array(column.flatten().to_numpy())
    return tuple(np.split(frames, np.cumsum(column.value_lengths().to_numpy())[:-1]))

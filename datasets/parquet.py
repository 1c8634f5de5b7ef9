"""An episode's Parquet file: its columns, the conversion of an episode to it, and back. Its bytes are compared with the
digest in its name before Arrow decodes any."""

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..common.errors import LONGEST_REASON, BadInput, quoted
from ..common.reading import MEGABYTE, CannotBeRead, parse_json, read_bytes
from ..envs.qwop.session import GameStart
from .control import Branch
from .folder import DESCRIPTION, digest_of, episode_number
from .origin import Origin
from .schema import DatasetInfo, Episode


def _observations(info: DatasetInfo) -> pa.DataType:
    return pa.binary() if info.observation.dtype == "uint8" else pa.list_(pa.float32(), info.observation.size)


def _probabilities(info: DatasetInfo) -> pa.DataType:
    return pa.list_(pa.float32(), info.actions)


_TEXT = pa.dictionary(pa.int32(), pa.string())

COLUMNS: Mapping[str, tuple[pa.DataType | Callable[[DatasetInfo], pa.DataType], str]] = {
    "episode_index": (pa.int32(), "number of the episode, as in the name of its file"),
    "step_index": (pa.int32(), "0 … T − 1"),
    "observation": (_observations, "what the player saw before deciding"),
    "action": (pa.int16(), "index of the action"),
    "behaviour_probabilities": (_probabilities, "probability of each action, as the player drew it"),
    "reward": (pa.float32(), "reward of the action"),
    "terminated": (pa.bool_(), "true if the action ended the game"),
    "truncated": (pa.bool_(), "true if the game was left after the action, or cut by a limit"),
    "final_observation": (_observations, "what ended the game, in the last row; null in the others"),
    "keys": (
        pa.list_(pa.uint8()),
        "keys held in each frame of the decision (Q = 1, W = 2, O = 4, P = 8); null where unknown",
    ),
    "timestamp": (pa.float64(), "seconds on the game's clock before deciding; null where it has no clock"),
    "final_timestamp": (pa.float64(), "seconds at the end of the game, in the last row; null in the others"),
    "actor": (pa.int8(), "who acted: 0 the policy, 1 a person; null where one player has the whole episode"),
    "policy_probabilities": (
        _probabilities,
        "probabilities of the policy, also where a person acted; null where no policy was asked",
    ),
    "player": (_TEXT, "name of the player"),
    "source": (_TEXT, "where the game comes from: a file, the page, …"),
    "outcome": (_TEXT, "how the game ended"),
    "mu_kind": (_TEXT, "origin of the behaviour probabilities: recorded, smoothed, cloned, …"),
    "metres": (pa.float64(), "distance covered; null where there is none"),
    "mu_epsilon": (pa.float64(), "ε of smoothed probabilities; null for others"),
    "seed": (pa.int64(), "seed of the environment's reset; −1 where unknown"),
}
"""Type and meaning of each column of an episode's file, T rows. An observation is a list of float32, or, for uint8, its
bytes."""

FACTS = ("player", "source", "outcome", "mu_kind", "metres", "mu_epsilon", "seed")
"""Columns that are constant in an episode."""

LAST = ("final_observation", "final_timestamp")
"""Columns that have a value in the last row alone."""

NULLABLE = ("keys", "timestamp", "actor", "policy_probabilities", "metres", "mu_epsilon")
"""Columns that may have no value in any row."""

ARRAYS = {
    "action": "actions",
    "behaviour_probabilities": "behaviour_probabilities",
    "reward": "rewards",
    "actor": "actors",
    "policy_probabilities": "policy_probabilities",
}
"""Columns that are an array of `Episode`, and its name."""

DATASET, EPISODE = b"dataset", b"episode"
"""Names in Parquet's metadata: the description of the dataset, and what no column holds, each as JSON."""

EPISODE_FIELDS = ("origin", "start", "branch", "max_idle_frames", "created", "software_version")


def arrow_schema(info: DatasetInfo) -> pa.Schema:
    """Columns of the episodes' files of a dataset."""
    return pa.schema([(name, kind(info) if callable(kind) else kind) for name, (kind, _) in COLUMNS.items()])


def to_table(episode: Episode, info: DatasetInfo, number: int) -> pa.Table:
    """The table of the episode with this number, T rows."""
    schema, steps, times = arrow_schema(info), len(episode), episode.times
    last = np.arange(steps) == steps - 1
    pictures = info.observation.dtype == "uint8"
    rows = episode.observations.reshape(steps + 1, -1)
    observations: Any = [one.tobytes() for one in rows] if pictures else rows
    columns: dict[str, Any] = {
        "episode_index": np.full(steps, number),
        "step_index": np.arange(steps),
        "observation": observations[:-1],
        **{name: getattr(episode, array) for name, array in ARRAYS.items()},
        "terminated": last & episode.terminated,
        "truncated": last & episode.truncated,
        "final_observation": [None] * (steps - 1) + [observations[-1]],
        "keys": episode.keys,
        "timestamp": None if times is None else times[:-1],
        "final_timestamp": None if times is None else [None] * (steps - 1) + [times[-1]],
        **{name: getattr(episode, name) for name in FACTS},
        "seed": -1 if episode.seed is None else episode.seed,
    }
    return pa.table([_array(columns[one.name], one.type, steps) for one in schema], schema=schema)


def _array(values: Any, kind: pa.DataType, steps: int) -> pa.Array:
    """Values of T rows, or one for all, as a column; None: nulls."""
    if values is None:
        return pa.nulls(steps, kind)
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(steps, np.int32)), [values])
    if not isinstance(values, np.ndarray | list | tuple):
        return pa.repeat(pa.scalar(values, kind), steps)
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).reshape(-1)), values.shape[1])
    return pa.array(values, kind)


def to_parquet(episode: Episode, info: DatasetInfo, number: int) -> bytes:
    """The Parquet file of the episode with this number.

    Floating-point numbers are split into streams of their first, second … bytes, not put into a dictionary, in which
    each would be an entry: an episode of QWOP is a third smaller.
    """
    table, buffer = to_table(episode, info, number), io.BytesIO()
    floats = [name for name, kind in map(_leaf, table.schema) if pa.types.is_floating(kind)]
    others = [name for name, kind in map(_leaf, table.schema) if not pa.types.is_floating(kind)]
    fields = {
        **episode_fields(episode),
        "created": episode.created or datetime.now(UTC).isoformat(timespec="seconds"),
        "software_version": episode.software_version or version("qwop"),
    }
    with pq.ParquetWriter(
        buffer, table.schema, compression="zstd", use_byte_stream_split=floats, use_dictionary=others
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({DATASET: encoded(info.to_json()), EPISODE: encoded(fields)})
    return buffer.getvalue()


def episode_fields(episode: Episode) -> dict[str, Any]:
    """The fields of an episode that no column holds, as JSON values."""
    values = {name: getattr(episode, name) for name in EPISODE_FIELDS}
    return {name: one.to_json() if hasattr(one, "to_json") else one for name, one in values.items()}


def fields_of(metadata: Any) -> dict[str, Any]:
    """Inverse of `episode_fields`: keyword arguments of `Episode`; BadInput for anything else."""
    if not isinstance(metadata, Mapping) or {*metadata} != {*EPISODE_FIELDS}:
        raise BadInput(f"its metadata are {quoted(metadata)}, expected the fields {', '.join(EPISODE_FIELDS)}")
    return {
        **metadata,
        "origin": Origin.from_json(metadata["origin"]),
        "start": None if metadata["start"] is None else GameStart.from_json(metadata["start"]),
        "branch": Branch.from_json(metadata["branch"]),
    }


def identity(episode: Episode) -> str:
    """SHA-256 of an episode's fields and arrays, whatever its number, and whenever it was written."""
    fields = {**episode_fields(episode), **{name: getattr(episode, name) for name in FACTS}}
    del fields["created"], fields["software_version"]
    digest = hashlib.sha256(json.dumps([fields, episode.terminated, episode.truncated], sort_keys=True).encode())
    for array in (
        episode.observations, episode.actions, episode.behaviour_probabilities, episode.rewards, episode.times,
        episode.frames, episode.keys_of_frames, episode.actors, episode.policy_probabilities,
    ):  # fmt: skip
        digest.update(b"-" if array is None else f"{array.shape}".encode())
        digest.update(b"" if array is None else np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def encoded(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode()


def _leaf(field: pa.Field) -> tuple[str, pa.DataType]:
    """The path and type of the values in a column, which may be lists."""
    nested = pa.types.is_list(field.type) or pa.types.is_fixed_size_list(field.type)
    return (f"{field.name}.list.element", field.type.value_type) if nested else (field.name, field.type)


LARGEST = 4096 * MEGABYTE
"""Bytes of a file."""

ADVICE = "move it out of the dataset"


@contextmanager
def episode_table(path: Path, info: DatasetInfo, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Context manager: columns (None: all) of an episode's file of a dataset of `info`, as `table_of` has them. Errors
    about its content within the context become BadInput that names it."""
    with naming(path), _opened(path) as parquet:
        yield table_of(parquet, info, columns)


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
    steps, numbers = len(table), _values(table, "episode_index", info)
    if (numbers != (numbers[0] if number is None else number)).any():
        raise BadInput(
            f"column episode_index says {', '.join(map(str, np.unique(numbers)[:3]))}, expected the number of the "
            "file's name; the file was renamed, copied or changed"
        )
    if not np.array_equal(_values(table, "step_index", info), np.arange(steps)):
        raise BadInput("column step_index does not count from 0")
    final = table.column("final_timestamp")[-1].as_py()
    if has(table, "timestamp") != (final is not None):
        raise BadInput("column final_timestamp is not in the last row alone")
    ends: dict[str, Any] = {name: _values(table, name, info) for name in ("terminated", "truncated")}
    for name, flags in ends.items():
        if flags[:-1].any():
            raise BadInput(f"column {name} is true in row {int(flags.argmax())}, before the last")
    last = _values(table.slice(steps - 1), "final_observation", info)
    observations = np.concatenate([_values(table, "observation", info), last])
    arrays: dict[str, Any] = {
        array: _values(table, name, info) if has(table, name) else None for name, array in ARRAYS.items()
    }
    try:
        return Episode(
            observations=observations.reshape(steps + 1, *info.observation.shape),
            times=None if final is None else np.append(_values(table, "timestamp", info), final),
            keys=_keys(table) if has(table, "keys") else None,
            terminated=bool(ends["terminated"][-1]),
            truncated=bool(ends["truncated"][-1]),
            **arrays,
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


def _values(table: pa.Table, name: str, info: DatasetInfo) -> NDArray[Any]:
    """A column of numbers [T], or of lists of them or pictures' bytes [T, size]."""
    column = table.column(name)
    if pa.types.is_binary(column.type):
        pictures = column.to_pylist()
        if {len(one) for one in pictures} != {info.observation.size}:
            raise BadInput(f"column {name} holds pictures of other sizes than {info.observation}")
        return np.frombuffer(b"".join(pictures), np.uint8).reshape(len(table), -1)
    if pa.types.is_fixed_size_list(column.type):
        flat = column.combine_chunks().flatten()
        if flat.null_count:
            raise BadInput(f"column {name} has a null")
        return np.array(flat.to_numpy()).reshape(len(table), -1)
    # Copied, because Arrow's array is read-only and keeps the memory of the whole file alive.
    return np.array(column.to_numpy())


def _keys(table: pa.Table) -> tuple[NDArray[np.uint8], ...]:
    column = table.column("keys").combine_chunks()
    values, bounds = column.flatten(), column.offsets.to_numpy()
    if values.null_count:
        raise BadInput("column keys has a null")
    frames = np.array(values.to_numpy())
    return tuple(frames[begin:end] for begin, end in pairwise((bounds - bounds[0]).tolist()))

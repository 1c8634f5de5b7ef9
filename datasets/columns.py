"""The columns of an episode's Parquet file, and the conversion of an episode to it."""

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..common.errors import BadInput, quoted
from ..envs.qwop.session import GameStart
from .control import Branch
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
        "action": episode.actions,
        "behaviour_probabilities": episode.behaviour_probabilities,
        "reward": episode.rewards,
        "terminated": last & episode.terminated,
        "truncated": last & episode.truncated,
        "final_observation": [None] * (steps - 1) + [observations[-1]],
        "keys": episode.keys,
        "timestamp": None if times is None else times[:-1],
        "final_timestamp": None if times is None else [None] * (steps - 1) + [times[-1]],
        "actor": episode.actors,
        "policy_probabilities": episode.policy_probabilities,
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

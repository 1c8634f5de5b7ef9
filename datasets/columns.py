"""The columns of an episode's Parquet file, and the conversion of an episode to it."""

import hashlib
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..common.errors import BadInput, quoted
from ..envs.qwop.session import GameStart
from ..envs.spec import Observations
from .control import Branch
from .origin import Origin
from .schema import DatasetInfo, Episode

COLUMN_MEANINGS = {
    "episode_index": "number of the episode, as in the name of its file",
    "step_index": "0 … T − 1",
    "observation": "what the player saw before deciding",
    "action": "index of the action",
    "behaviour_probabilities": "probability of each action, as the player drew it",
    "reward": "reward of the action",
    "terminated": "true if the action ended the game",
    "truncated": "true if the game was left after the action, or cut by a limit",
    "final_observation": "what ended the game, in the last row; null in the others",
    "keys": "keys held in each frame of the decision (Q = 1, W = 2, O = 4, P = 8); null where unknown",
    "timestamp": "seconds on the game's clock before deciding; null where it has no clock",
    "final_timestamp": "seconds at the end of the game, in the last row; null in the others",
    "actor": "who acted: 0 the policy, 1 a person; null where one player has the whole episode",
    "policy_probabilities": "probabilities of the policy, also where a person acted; null where no policy was asked",
    "player": "name of the player",
    "source": "where the game comes from: a file, the page, …",
    "outcome": "how the game ended",
    "mu_kind": "origin of the behaviour probabilities: recorded, smoothed, cloned, …",
    "metres": "distance covered; null where there is none",
    "mu_epsilon": "ε of smoothed probabilities; null for others",
    "seed": "seed of the environment's reset; −1 where unknown",
}
"""Content of each column of an episode's file."""

TEXTS = ("player", "source", "outcome", "mu_kind")
NUMBERS = ("metres", "mu_epsilon")
FACTS = (*TEXTS, *NUMBERS, "seed")
"""Columns that are constant in an episode."""

DATASET, EPISODE = b"dataset", b"episode"
"""Names in Parquet's metadata: the description of the dataset, and what no column holds, each as JSON."""

EPISODE_FIELDS = ("origin", "start", "branch", "max_idle_frames", "created", "software_version")


def arrow_schema(info: DatasetInfo) -> pa.Schema:
    """Columns of an episode's file, T rows. An observation is a list of float32, or, for uint8, its bytes."""
    return _schema(info.observation.size, info.observation.dtype, info.actions)


@lru_cache(maxsize=32)
def _schema(size: int, dtype: str, actions: int) -> pa.Schema:
    observation = pa.binary() if dtype == "uint8" else pa.list_(pa.float32(), size)
    types = {
        "episode_index": pa.int32(), "step_index": pa.int32(), "observation": observation, "action": pa.int16(),
        "behaviour_probabilities": pa.list_(pa.float32(), actions), "reward": pa.float32(),
        "terminated": pa.bool_(), "truncated": pa.bool_(), "final_observation": observation,
        "keys": pa.list_(pa.uint8()), "timestamp": pa.float64(), "final_timestamp": pa.float64(), "actor": pa.int8(),
        "policy_probabilities": pa.list_(pa.float32(), actions),
        **{name: pa.dictionary(pa.int32(), pa.string()) for name in TEXTS},
        **{name: pa.float64() for name in NUMBERS}, "seed": pa.int64(),
    }  # fmt: skip
    return pa.schema(types.items())


def to_table(episode: Episode, info: DatasetInfo, number: int) -> pa.Table:
    """The table of the episode with this number, T rows."""
    schema, steps = arrow_schema(info), len(episode)
    last = np.arange(steps) == steps - 1
    nothing = np.zeros(steps, np.float64)
    times = episode.times
    facts = {**{name: getattr(episode, name) for name in FACTS}, "seed": -1 if episode.seed is None else episode.seed}
    columns = {
        "episode_index": np.full(steps, number, np.int32),
        "step_index": np.arange(steps, dtype=np.int32),
        "observation": _observations(episode.observations[:-1]),
        "action": episode.actions,
        "behaviour_probabilities": _lists(episode.behaviour_probabilities),
        "reward": episode.rewards,
        "terminated": last & episode.terminated,
        "truncated": last & episode.truncated,
        "final_observation": pa.chunked_array(
            [pa.nulls(steps - 1, schema.field("final_observation").type), _observations(episode.observations[-1:])]
        ),
        "keys": pa.array([*(episode.keys or [None] * steps)], type=schema.field("keys").type),
        "timestamp": pa.array(nothing if times is None else times[:-1], mask=np.full(steps, times is None)),
        "final_timestamp": pa.array(nothing + (0.0 if times is None else times[-1]), mask=~last | (times is None)),
        "actor": pa.nulls(steps, pa.int8()) if episode.actors is None else episode.actors,
        "policy_probabilities": pa.nulls(steps, schema.field("policy_probabilities").type)
        if episode.policy_probabilities is None
        else _lists(episode.policy_probabilities),
        **{name: pa.repeat(pa.scalar(facts[name], schema.field(name).type.value_type), steps).dictionary_encode()
           for name in TEXTS},
        **{name: pa.repeat(pa.scalar(facts[name], schema.field(name).type), steps) for name in (*NUMBERS, "seed")},
    }  # fmt: skip
    return pa.table(columns, schema=schema)


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
    start, branch = episode.start, episode.branch
    values = {name: getattr(episode, name) for name in EPISODE_FIELDS}
    own = {
        "origin": episode.origin.to_json(),
        "start": start and start.to_json(),
        "branch": branch and branch.to_json(),
    }
    return {**values, **own}


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


def _observations(rows: Observations) -> Any:
    """Observations [n, *shape] as a column."""
    if rows.dtype == np.uint8:
        return pa.array([row.tobytes() for row in rows], pa.binary())
    return _lists(rows.reshape(len(rows), -1))


def _lists(rows: NDArray[Any]) -> pa.Array:
    """Rows of numbers [n, size] as a column of lists."""
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(rows).reshape(-1)), rows.shape[1])

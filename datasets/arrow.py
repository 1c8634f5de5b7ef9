"""Conversion of an episode to an Arrow table and back."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..common.checks import quoted
from ..common.errors import BadInput
from ..common.reading import parse_json, whole_number
from ..envs.qwop.session import GameStart
from ..envs.spec import Observations
from .columns import arrow_schema
from .control import Branch
from .origin import Origin, from_words
from .schema import MOST_VERSIONS, DatasetInfo, Episode

DECISION_COLUMNS = ("action", "behaviour_probabilities", "reward")
"""Null in the last row and nowhere else."""

ENDINGS = ("terminated", "truncated")
"""Columns, since version 2, that are also null in the last row; true only in the last decision's row."""

CONTROL_COLUMNS = ("actor", "policy_probabilities")
"""Columns, since version 3, that are null everywhere or, like those of a decision, in the last row alone."""

EPISODE_FIELDS = (
    "player", "source", "terminated", "truncated", "outcome", "probabilities_from", "metres", "software_version",
    "created",
)  # fmt: skip
"""Fields of an `Episode` that are stored in the file's metadata under their names."""

METADATA_NAMES = ("schema_version", "environment", "observation_shape", "actions", *EPISODE_FIELDS)
"""Metadata that every episode's file has."""

HASH = "content_sha256"
"""Metadata, since version 2: `content_sha256` of all other metadata and of all columns."""

VERSION_METADATA = {
    1: (("seed",), ("observation_dtype", "start")),
    2: (("observation_dtype", "origin", "start", HASH), ()),
    3: (("observation_dtype", "origin", "start", "branch", HASH), ()),
}
"""Further metadata that a file must have, and may have, by version."""


def to_table(episode: Episode, info: DatasetInfo, number: int) -> pa.Table:
    """Make the table of the episode with this number: T + 1 rows, and the rest as metadata, a JSON value per name."""
    schema = arrow_schema(info)
    steps = len(episode)
    last = np.arange(steps + 1) == steps
    ends = np.arange(steps + 1) == steps - 1

    def probabilities(found: NDArray[np.float32] | None) -> pa.Array:
        rows = np.zeros((steps + 1, info.actions), dtype=np.float32)
        rows[:steps] = 0.0 if found is None else found
        mask = pa.array(last | (found is None))
        return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), info.actions, mask=mask)

    columns = {
        "episode": _episode_column(number, steps + 1),
        "step": pa.array(np.arange(steps + 1, dtype=np.int32)),
        "observation": _observation_column(episode.observations, schema.field("observation").type),
        "action": pa.array(np.append(episode.actions, np.int16(0)), mask=last),
        "behaviour_probabilities": probabilities(episode.behaviour_probabilities),
        "reward": pa.array(np.append(episode.rewards, np.float32(0)), mask=last),
        "terminated": pa.array(ends & episode.terminated, mask=last),
        "truncated": pa.array(ends & episode.truncated, mask=last),
        "keys": pa.array([*(episode.keys or [None] * steps), None], type=schema.field("keys").type),
        "time": pa.array(episode.times),
    }
    own = episode_metadata(episode)
    if info.shares_control:
        actors = np.zeros(steps, dtype=np.int8) if episode.actors is None else episode.actors
        columns["actor"] = pa.array(np.append(actors, np.int8(0)), mask=last | (episode.actors is None))
        columns["policy_probabilities"] = probabilities(episode.policy_probabilities)
    else:
        del own["branch"]
    metadata = {
        **info.to_json(),
        **own,
        "software_version": episode.software_version or version("qwop"),
        "created": episode.created or datetime.now(UTC).isoformat(timespec="seconds"),
    }
    encoded = encode_metadata(metadata)
    encoded[HASH.encode()] = json.dumps(content_sha256(encoded, episode)).encode()
    return pa.table(columns, schema=schema.with_metadata(encoded))


def renumbered(table: pa.Table, number: int) -> pa.Table:
    """The table of the same episode with another number."""
    place = table.schema.get_field_index("episode")
    return table.set_column(place, table.schema.field(place), _episode_column(number, table.num_rows))


def content_sha256(metadata: Mapping[bytes, bytes], episode: Episode) -> str:
    """SHA-256, in hexadecimal, of an episode: its file's metadata without this hash, then its arrays.

    A name, its value and an array are each preceded by their length in bytes, as 8 bytes, least significant first;
    names are in alphabetical order. The arrays are observations, actions, behaviour probabilities, rewards, times, the
    number of frames of every decision (int64) and the keys of all frames, the last two empty where keys are unknown;
    then, in shared control, the actors and the policy's probabilities, each only where the episode has it.
    The episode's number is no part of it, so a renumbered episode has the same hash.
    """
    digest = hashlib.sha256()

    def add(data: Any) -> None:
        content = memoryview(data).cast("B") if len(data) else b""
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)

    for name in sorted(metadata):
        if name != HASH.encode():
            add(name)
            add(metadata[name])
    arrays = (
        episode.observations, episode.actions, episode.behaviour_probabilities, episode.rewards, episode.times,
        episode.frames, episode.keys_of_frames,
        *(one for one in (episode.actors, episode.policy_probabilities) if one is not None),
    )  # fmt: skip
    for array in arrays:
        add(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).reshape(-1))
    return digest.hexdigest()


def identity(episode: Episode) -> str:
    """SHA-256 of an episode's fields and arrays, independent of its dataset's version and settings."""
    fields = episode_metadata(episode)
    return content_sha256({name.encode(): json.dumps(value).encode() for name, value in fields.items()}, episode)


def episode_metadata(episode: Episode) -> dict[str, Any]:
    """The fields of an episode other than arrays, as JSON values by their names in files."""
    return {
        **{name: getattr(episode, name) for name in EPISODE_FIELDS},
        "origin": episode.origin.to_json(),
        "start": _start_to_json(episode),
        "branch": None if episode.branch is None else episode.branch.to_json(),
    }


def episode_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Inverse of `episode_metadata`: keyword arguments of `Episode`; BadInput for anything else."""
    if missing := [name for name in (*EPISODE_FIELDS, "origin", "start") if name not in metadata]:
        raise BadInput(f"its metadata lacks {missing[0]}")
    start = metadata["start"]
    if not isinstance(start, dict):
        raise BadInput("its metadata start is not a game's start")
    return {
        **{name: metadata[name] for name in EPISODE_FIELDS},
        "seed": start.get("seed"),
        "max_idle_frames": start.get("max_idle_frames"),
        "start": GameStart.from_json(start["page"]) if start.get("page") is not None else None,
        "origin": Origin.from_json(metadata["origin"]),
        "branch": Branch.from_json(metadata.get("branch")),
    }


def encode_metadata(metadata: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Metadata as files hold them, a JSON value per name."""
    return {name.encode(): json.dumps(value, ensure_ascii=False).encode() for name, value in metadata.items()}


def decode_metadata(raw: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Decode the metadata of an episode's file; BadInput if it is incomplete, as in any other Parquet file.

    Those of version 1 are translated: its text of a source becomes `source`, `origin` and `start`.
    """
    found = raw or {}

    def take(names: tuple[str, ...], optional: bool = False) -> dict[str, Any]:
        missing = [name for name in names if name.encode() not in found]
        if missing and not optional:
            raise BadInput(f"its metadata lacks {missing[0]}, so it is not an episode recorded by qwop-record")
        try:
            return {name: parse_json(found[name.encode()]) for name in names if name not in missing}
        except ValueError as error:
            raise BadInput(f"its metadata cannot be read ({error})") from None

    metadata = take(METADATA_NAMES)
    try:
        number = whole_number(metadata["schema_version"], "schema_version", MOST_VERSIONS)
    except ValueError as error:
        raise BadInput(f"its metadata cannot be read ({error})") from None
    needed, optional = VERSION_METADATA.get(number, ((), ()))  # a later version is refused by its number
    metadata |= take(needed) | take(optional, optional=True)
    if number == 1:
        _translate(metadata)
    return metadata


def from_table(
    table: pa.Table, info: DatasetInfo, number: int | None = None, metadata: Mapping[str, Any] | None = None
) -> Episode:
    """Inverse of `to_table`; BadInput names the column that is wrong.

    number: the episode's, if it is known. metadata: the table's, where they are decoded already.
    """
    metadata = decode_metadata(table.schema.metadata) if metadata is None else metadata
    _require_columns(table, info, number)
    steps = table.num_rows - 1
    decisions = table.slice(0, steps)
    try:
        episode = Episode(
            observations=_observations(table).reshape(steps + 1, *info.observation.shape),
            actions=_numbers(decisions, "action"),
            behaviour_probabilities=_rows(decisions, "behaviour_probabilities").reshape(steps, info.actions),
            rewards=_numbers(decisions, "reward"),
            times=_numbers(table, "time"),
            keys=_keys(decisions),
            **_control(decisions, info),
            **episode_fields(metadata),
        )
    except (ValueError, OverflowError) as error:
        raise BadInput(str(error)) from None
    if info.version > 1:
        _require_ending(decisions, episode)
        if metadata[HASH] != content_sha256(table.schema.metadata, episode):
            raise BadInput(f"its content was changed: it does not have the hash {HASH} that its metadata give")
    return episode


def _require_columns(table: pa.Table, info: DatasetInfo, number: int | None) -> None:
    require_types(table.schema, info)
    steps = table.num_rows - 1
    if steps < 1:
        raise BadInput("it has no decision")
    if not np.array_equal(_numbers(table, "step"), np.arange(steps + 1)):
        raise BadInput("column step does not count from 0")
    if info.version > 1:
        numbers = _numbers(table, "episode")
        if (numbers != (numbers[0] if number is None else number)).any():
            raise BadInput(
                f"column episode says {', '.join(map(str, np.unique(numbers)[:3]))}, expected the number of the file's "
                "name; the file was renamed, copied or changed"
            )
    optional = [name for name in CONTROL_COLUMNS if info.shares_control and table.column(name).null_count <= steps]
    for name in (*DECISION_COLUMNS, *(ENDINGS if info.version > 1 else ()), *optional):
        column = table.column(name)
        if column.null_count != 1 or column[-1].is_valid:
            raise BadInput(f"column {name} must be null in the last row and only there")


def require_types(schema: pa.Schema, info: DatasetInfo) -> None:
    """Raise BadInput unless a table has every column of an episode once, in its type."""
    expected = arrow_schema(info)
    if schema.equals(expected):
        return
    for field in expected:
        found = schema.field(field.name).type if schema.names.count(field.name) == 1 else "missing"
        if found != field.type:
            raise BadInput(f"column {field.name} is {quoted(found)}, expected {field.type}")


def _require_ending(decisions: pa.Table, episode: Episode) -> None:
    for name in ENDINGS:
        ends = np.zeros(len(episode), dtype=np.bool_)
        ends[-1] = getattr(episode, name)
        wrong = np.flatnonzero(decisions.column(name).to_numpy() != ends)
        if len(wrong):
            raise BadInput(
                f"row {wrong[0]}: {name} is {str(not ends[wrong[0]]).lower()}, but the episode's metadata say "
                f"{name}={str(bool(ends[-1])).lower()}"
            )


def _start_to_json(episode: Episode) -> dict[str, Any]:
    return {
        "seed": episode.seed,
        "max_idle_frames": episode.max_idle_frames,
        "page": None if episode.start is None else episode.start.to_json(),
    }


def _translate(metadata: dict[str, Any]) -> None:
    """Turn the metadata of version 1 into those of version 2, except for the hash."""
    source, origin, idle = from_words(str(metadata["source"]))
    seed = metadata.pop("seed")
    metadata["start"] = {"seed": seed, "max_idle_frames": idle, "page": metadata.get("start")}
    metadata["source"], metadata["origin"] = source, origin.to_json()
    metadata["truncated"] = metadata["truncated"] or not metadata["terminated"]


def _episode_column(number: int, rows: int) -> pa.Array:
    return pa.array(np.full(rows, number, dtype=np.int32))


def _observation_column(observations: Observations, column_type: pa.DataType) -> pa.Array:
    flat = np.ascontiguousarray(observations).ravel()
    if pa.types.is_fixed_size_binary(column_type):
        return pa.FixedSizeBinaryArray.from_buffers(column_type, len(observations), [None, pa.py_buffer(flat)])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), column_type.list_size)


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    column = _whole(table, name)
    if column.null_count:
        raise BadInput(f"column {name} has a null")
    # Copied, because Arrow's array is read-only and keeps the memory of the whole file alive.
    return np.array(column.to_numpy(zero_copy_only=False))


def _whole(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece; copied only if it has several."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _observations(table: pa.Table) -> NDArray[Any]:
    column = _whole(table, "observation")
    if not pa.types.is_fixed_size_binary(column.type):
        return _rows(table, "observation")
    if column.null_count:
        raise BadInput("column observation has a null")
    _, data = column.buffers()
    size = column.type.byte_width
    return np.frombuffer(data, np.uint8, count=len(column) * size, offset=column.offset * size).copy()


def _rows(table: pa.Table, name: str) -> NDArray[np.float32]:
    column = _whole(table, name)
    values = column.flatten()
    if column.null_count or values.null_count:
        raise BadInput(f"column {name} has a null")
    return np.array(values.to_numpy())


def _control(decisions: pa.Table, info: DatasetInfo) -> dict[str, Any]:
    """The fields of shared control, without those whose column is empty."""
    if not info.shares_control:
        return {}
    found: dict[str, Any] = {}
    if decisions.column("actor").null_count < len(decisions):
        found["actors"] = _numbers(decisions, "actor")
    if decisions.column("policy_probabilities").null_count < len(decisions):
        found["policy_probabilities"] = _rows(decisions, "policy_probabilities").reshape(-1, info.actions)
    return found


def _keys(decisions: pa.Table) -> tuple[NDArray[np.uint8], ...] | None:
    column = _whole(decisions, "keys")
    if column.null_count == len(column):
        return None
    values = column.flatten()
    if column.null_count or values.null_count:
        raise BadInput("column keys is null in some decisions and not in others")
    frames = np.array(values.to_numpy())
    bounds = column.offsets.to_numpy()
    return tuple(frames[begin:end] for begin, end in pairwise((bounds - bounds[0]).tolist()))

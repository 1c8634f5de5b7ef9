"""The columns of an episode's Parquet file."""

from functools import lru_cache

import pyarrow as pa

from .schema import SHARED_CONTROL, DatasetInfo

COLUMN_MEANINGS = {
    "episode": "number of the episode, as in the name of its file",
    "step": "0 … T",
    "observation": "what the player saw before deciding",
    "action": "index of the action; null in the last row",
    "behaviour_probabilities": "probability of each action, as the player drew it; null in the last row",
    "reward": "reward of the action; null in the last row",
    "terminated": "true if the action ended the game; null in the last row",
    "truncated": "true if the game was left after the action, or cut by a limit; null in the last row",
    "keys": "keys held in each frame of the decision (Q = 1, W = 2, O = 4, P = 8); null where unknown",
    "time": "seconds on the game's clock, or decisions where it has none",
    "actor": "who acted: 0 the policy, 1 a person; null in the last row, and where one player has the whole episode",
    "policy_probabilities": "probabilities of the policy, also where a person acted; null where no policy was asked",
}
"""Content of each column of an episode's file."""


def arrow_schema(info: DatasetInfo) -> pa.Schema:
    """Columns of an episode's file: T + 1 rows; the columns of a decision are null in the last.

    Version 1 lacks `episode`, the number in the file's name, and `terminated` and `truncated`. Version 3, of shared
    control, also has `actor` and `policy_probabilities`.

    An observation is a list of float32, or, for uint8, its bytes: a list would take 20 % more space on disk and over
    ten times as long to read.
    """
    return _schema(info.version, info.observation.size, info.observation.dtype, info.actions)


@lru_cache(maxsize=32)
def _schema(version: int, size: int, dtype: str, actions: int) -> pa.Schema:
    observation = pa.binary(size) if dtype == "uint8" else pa.list_(pa.float32(), size)
    number = [pa.field("episode", pa.int32(), nullable=False)]
    ends = [pa.field("terminated", pa.bool_()), pa.field("truncated", pa.bool_())]
    shared = [pa.field("actor", pa.int8()), pa.field("policy_probabilities", pa.list_(pa.float32(), actions))]
    return pa.schema(
        [
            *(number if version > 1 else ()),
            pa.field("step", pa.int32(), nullable=False),
            pa.field("observation", observation, nullable=False),
            pa.field("action", pa.int16()),
            pa.field("behaviour_probabilities", pa.list_(pa.float32(), actions)),
            pa.field("reward", pa.float32()),
            *(ends if version > 1 else ()),
            pa.field("keys", pa.list_(pa.uint8())),
            pa.field("time", pa.float64(), nullable=False),
            *(shared if version >= SHARED_CONTROL else ()),
        ]
    )

"""Episodes as a pandas table, one row a step."""

from typing import Any

import numpy as np
import pandas as pd

from .control import ACTORS
from .schema import DatasetInfo, Episode


def step_table(episode: Episode, info: DatasetInfo, number: int | None) -> pd.DataFrame:
    """The T + 1 rows of one episode, which has this number; see `Dataset.steps` for the columns."""
    steps = len(episode)
    action_names = info.names
    taken = episode.behaviour_probabilities[np.arange(steps), episode.actions]
    columns: dict[str, Any] = {
        "episode": number,
        "step": np.arange(steps + 1),
        "time": episode.times,
        "action": pd.array([*episode.actions.tolist(), None], dtype="Int16"),
    }
    if action_names:
        columns["action_name"] = [*(action_names[action] for action in episode.actions), None]
    columns["reward"] = np.append(episode.rewards, np.float32(np.nan))
    for name in ("terminated", "truncated"):
        ends = [*[False] * (steps - 1), getattr(episode, name), None]
        columns[name] = pd.array(ends, dtype="boolean")
    if info.shares_control:
        acted = [None] * steps if episode.actors is None else [ACTORS[one] for one in episode.actors]
        columns["actor"] = pd.array([*acted, None], dtype="string")
    columns["probability"] = np.append(taken, np.float32(np.nan))
    return pd.DataFrame({**columns, **_observation_columns(episode, info)})


def _observation_columns(episode: Episode, info: DatasetInfo) -> dict[str, Any]:
    if len(info.observation.shape) > 1:
        return {"observation": list(episode.observations)}
    numbers = episode.observations.reshape(len(episode) + 1, -1).T
    names = info.environment.capabilities.observation_names or [f"observation.{i}" for i in range(len(numbers))]
    return dict(zip(names, numbers, strict=True))

"""Episodes as a pandas table, one row a step."""

from typing import Any

import numpy as np
import pandas as pd

from .control import ACTORS
from .schema import DatasetInfo, Episode


def step_table(episode: Episode, info: DatasetInfo, number: int | None) -> pd.DataFrame:
    """The T rows of one episode, which has this number; see `Dataset.steps` for the columns."""
    steps = np.arange(len(episode))
    columns: dict[str, Any] = {"episode": number, "step": steps}
    columns["time"] = np.nan if episode.times is None else episode.times[:-1]
    columns["action"] = episode.actions
    if names := info.names:
        columns["action_name"] = [names[action] for action in episode.actions]
    columns["reward"] = episode.rewards
    for name in ("terminated", "truncated"):
        columns[name] = (steps == steps[-1]) & getattr(episode, name)
    if episode.actors is not None:
        columns["actor"] = [ACTORS[one] for one in episode.actors]
    columns["probability"] = episode.behaviour_probabilities[steps, episode.actions]
    return pd.DataFrame({**columns, **_observation_columns(episode, info)})


def _observation_columns(episode: Episode, info: DatasetInfo) -> dict[str, Any]:
    if len(info.observation.shape) > 1:
        return {"observation": list(episode.observations[:-1])}
    numbers = episode.observations[:-1].reshape(len(episode), -1).T
    names = info.with_names.observation_names or [f"observation.{i}" for i in range(len(numbers))]
    return dict(zip(names, numbers, strict=True))

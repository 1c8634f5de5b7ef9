"""Comparison of an episode of QWOP with the replay of its keys, and of a branch with the episode that it left."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.names import ACTION_KEYS
from ..envs.qwop.session import Replay
from ..envs.qwop.task import QWOPTask
from .control import REPEATED
from .from_keys import decision_action, fields_along, own_bounds
from .schema import DatasetInfo, Episode


def can_replay(episode: Episode, info: DatasetInfo) -> bool:
    """True if the simulator is expected to reproduce the episode from its keys."""
    played_here = episode.keys is not None and episode.times is not None and not episode.origin.differs
    return info.environment.capabilities.keys and played_here


def differences_of_replay(episode: Episode, game: Replay, info: DatasetInfo) -> Iterator[str]:
    """Find values that differ in any bit from an episode's replay: row, field, recorded and replayed value."""
    frames, recorded = len(game.states) - 1, len(episode.keys_of_frames)
    if frames < recorded:
        row = int(np.searchsorted(np.cumsum(episode.frames), frames, side="right"))
        yield f"row {row}, keys: the game ends after {frames} frames, but keys of {recorded} are recorded"
        return
    task = QWOPTask(**info.environment.settings)
    bounds = np.unique(own_bounds(episode, game))
    replayed, names = fields_along(game, bounds, task), info.environment.capabilities.observation_names
    for field, array in (("observation", "observations"), ("reward", "rewards"), ("timestamp", "times")):
        record, replay = getattr(episode, array), replayed[array]
        if record.shape != replay.shape:
            yield f"{field}: {list(record.shape)} recorded, {list(replay.shape)} by replay"
            continue
        bits = f"u{record.itemsize}"
        if len(wrong := np.argwhere(record.view(bits) != replay.view(bits))):
            place = tuple(wrong[0].tolist())
            which = f" {names[place[1]]}" if len(place) > 1 and names else ""
            more = f"; {len(wrong) - 1:,} more differ" if len(wrong) > 1 else ""
            yield f"row {place[0]}, {field}{which}: {record[place]!s}, by replay {replay[place]!s}{more}"
    for field in ("terminated", "outcome", "metres"):
        if getattr(episode, field) != replayed[field]:
            yield f"{field}: {getattr(episode, field)}, by replay {replayed[field]}"
    yield from _wrong_actions(episode, task, int(bounds[0]))


def _wrong_actions(episode: Episode, task: QWOPTask, idle: int) -> Iterator[str]:
    """Find actions that are neither the keys that a decision ended with nor the most frequent ones of its frames.

    idle: frames of the first row's keys that came before its decision.
    """
    assert episode.keys is not None
    has_frames = episode.frames > 0
    last_keys = np.full(len(episode), 255)
    last_keys[has_frames] = episode.keys_of_frames[np.cumsum(episode.frames)[has_frames] - 1]
    for row in np.flatnonzero(last_keys != ACTION_KEYS[episode.actions]).tolist():
        keys = episode.keys[row][0 if row else idle :]
        # A late decision of one frame has none with its own keys.
        late = task.delay and len(keys) <= 1
        possible = {decision_action(keys), decision_action(keys[-task.frames_per_step :])} if len(keys) else set()
        if not late and int(episode.actions[row]) not in possible:
            yield f"row {row}, action: {episode.actions[row]}, which is not what the keys of its frames do"
            return


def differences_of_branch(branch: Episode, origin: Episode) -> str | None:
    """Name the first part of the shared decisions that differs in any bit from the episode that the branch left; None
    if none does."""
    assert branch.branch is not None
    step = branch.branch.step
    if step > len(origin):
        return f"the number of shared decisions, {step:,} of {len(origin):,},"
    for name in REPEATED:
        rows = step + 1 if name in ("observations", "times") else step
        if _bytes(getattr(branch, name), rows) != _bytes(getattr(origin, name), rows):
            return f"{name.replace('_', ' ')} before row {step}"
    frames = int(branch.frames[:step].sum())
    same = np.array_equal(branch.keys_of_frames[:frames], origin.keys_of_frames[:frames])
    return None if same and np.array_equal(branch.frames[:step], origin.frames[:step]) else f"keys before row {step}"


def _bytes(array: NDArray[Any] | None, rows: int) -> bytes | None:
    return None if array is None else np.ascontiguousarray(array[:rows]).tobytes()

"""Conversion of a person's game, given as the keys of every frame, to an episode."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..datasets.behaviour_probabilities import smoothed, smoothed_name
from ..datasets.folder import DESCRIPTION, read_info, require_same
from ..datasets.schema import DatasetInfo, Episode
from ..envs.names import ACTION_KEYS, ACTIONS, EVENT_COLUMNS, FEATURES, KEY_O, KEY_P, KEY_Q, KEY_W
from ..envs.qwop.observations import bent_knee, observe, observe_start
from ..envs.qwop.replay import Replay, replay
from ..envs.qwop.rewards import rewards_along
from ..envs.qwop.task import outcome_of
from ..envs.spec import EnvironmentSpec, ObservationSpec
from .settings import PersonSettings

_ENDED, _CLOCK = EVENT_COLUMNS.index("ended"), EVENT_COLUMNS.index("clock")


def person_info(frames_per_step: int, reward: str, observation_lag: int) -> DatasetInfo:
    """Description of a dataset of games that a person plays."""
    settings = {"frames_per_step": frames_per_step, "reward": reward, "observation_lag": observation_lag}
    return DatasetInfo(EnvironmentSpec("QWOP-v1", settings), ObservationSpec((len(FEATURES),)), len(ACTIONS))


def info_for(settings: PersonSettings, folder: Path) -> DatasetInfo:
    """Describe the dataset of a person's games before any is played.

    Raises BadInput for invalid settings, and if `folder` already holds a dataset with other settings.
    """
    info = person_info(settings.frames_per_step, settings.reward, settings.observation_lag)
    info.environment.make().close()
    if (folder / DESCRIPTION).exists():
        require_same(read_info(folder), info, folder)
    return info


def effective_action(keys: int) -> int:
    """Find the action with the same effect as these keys: in the game Q overrides W, and O overrides P."""
    known = np.flatnonzero(keys == ACTION_KEYS)
    if len(known):
        return int(known[0])
    thighs = KEY_Q if keys & KEY_Q else keys & KEY_W
    calves = KEY_O if keys & KEY_O else keys & KEY_P
    return int(np.flatnonzero(thighs | calves == ACTION_KEYS)[0])


def decision_action(keys: NDArray[np.uint8]) -> int:
    """Find the most frequent action among a decision's frames; the latest one wins a tie."""
    actions = [effective_action(int(held)) for held in keys]
    return max(reversed(actions), key=actions.count)


def episode_of(
    keys: NDArray[np.uint8],
    info: DatasetInfo,
    *,
    player: str,
    source: str,
    epsilon: float,
    stopped_by_limit: bool = False,
    game: Replay | None = None,
) -> Episode:
    """Make the episode of a game of `QWOP-v1` from the keys of its frames, uint8 [n ≥ 1].

    A decision lasts `frames_per_step` frames, the last one perhaps fewer. A person may change keys within a decision:
    the keys are stored frame by frame, so that the game can be replayed exactly, and the action is the most frequent
    one of the decision's frames. Behaviour probabilities are `smoothed` with ε. A game that has not ended was stopped,
    by the time limit (truncated) or by the player. `game` is the game as it was played elsewhere; None replays the
    keys.
    """
    settings = info.environment.settings
    frames = int(settings["frames_per_step"])
    game = replay(keys) if game is None else game
    played = np.asarray(keys, dtype=np.uint8)[: len(game.states) - 1]
    decisions = np.split(played, np.arange(frames, len(played), frames))
    bounds = np.cumsum([0, *map(len, decisions)])
    states = game.states[bounds]
    actions = np.array([decision_action(held) for held in decisions], dtype=np.int16)
    ended = bool(game.events[-1, _ENDED])
    return Episode(
        observations=_observations(game, bounds, int(settings["observation_lag"])),
        actions=actions,
        behaviour_probabilities=smoothed(actions, info.actions, epsilon),
        rewards=rewards_along(settings["reward"], states[:, 0, 0], states[:, 0, 1], bent_knee(states)).astype(
            np.float32
        ),
        times=game.events[bounds, _CLOCK],
        keys=tuple(decisions),
        terminated=ended,
        truncated=stopped_by_limit and not ended,
        outcome=outcome_of(game.events[-1]) if ended else "stopped",
        player=player,
        source=source,
        probabilities_from=smoothed_name(epsilon),
        metres=float(game.states[-1, 0, 0] / 10),
    )


def _observations(game: Replay, bounds: NDArray[np.int64], lag: int) -> NDArray[np.float32]:
    """Observations at the bounds of the decisions, `lag` frames late."""
    if lag == 0:
        return observe(game.states[bounds])
    return np.concatenate([observe_start()[None], observe(game.states[bounds[1:] - 1])])

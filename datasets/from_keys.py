"""Conversion of per-frame keys to episodes of QWOP, at any decision rate, and replay of episodes from their keys.

A person may change keys within a decision. The keys are stored frame by frame, so that the game can be replayed
exactly, and the decision's action is the most frequent one of its frames; of equally frequent ones, the latest.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common.errors import BadInput
from ..envs.names import ACTION_KEYS, ACTIONS, BODIES, CLOCK, ENDED, KEY_O, KEY_P, KEY_Q, KEY_W
from ..envs.qwop.observations import bent_knee, observe_as, observe_start
from ..envs.qwop.pixels import observe_pictures
from ..envs.qwop.rewards import rewards_along
from ..envs.qwop.session import GameStart, Replay
from ..envs.qwop.task import PIXELS, QWOPTask, outcome_of
from ..envs.spec import EnvironmentSpec, ObservationSpec
from .behaviour_probabilities import SMOOTHED, smoothed
from .origin import NO_ORIGIN, Origin
from .schema import DatasetInfo, Episode


def qwop_info(**task: Any) -> DatasetInfo:
    """Description of a dataset of games of `QWOP-v1` with these settings of the task."""
    observation = ObservationSpec.of(QWOPTask(**task).observation_space, "QWOP-v1")
    return DatasetInfo(EnvironmentSpec("QWOP-v1", task), observation, len(ACTIONS))


def effective_action(keys: int) -> int:
    """Find the action with the same effect as these keys: in the game Q overrides W, and O overrides P."""
    matches = np.flatnonzero(keys == ACTION_KEYS)
    if len(matches):
        return int(matches[0])
    thighs = KEY_Q if keys & KEY_Q else keys & KEY_W
    calves = KEY_O if keys & KEY_O else keys & KEY_P
    return int(np.flatnonzero(thighs | calves == ACTION_KEYS)[0])


_EFFECTIVE = tuple(effective_action(keys) for keys in range(16))


def decision_action(keys: NDArray[np.uint8]) -> int:
    """Find the most frequent action among a decision's frames; the latest one wins a tie."""
    actions: list[int] = [_EFFECTIVE[down] for down in keys.tolist()]
    return max(reversed(actions), key=actions.count)


def episode_from_keys(
    keys: ArrayLike,
    info: DatasetInfo,
    *,
    player: str,
    source: str,
    epsilon: float,
    start: GameStart | None = None,
    game: Replay | None = None,
    bounds: Sequence[int] | NDArray[np.int64] | None = None,
    origin: Origin = NO_ORIGIN,
) -> Episode:
    """Make the episode of a game from the keys of its frames, uint8 [n ≥ 1], those after its end ignored.

    info: a dataset of `QWOP-v1`, whose settings define decisions, observations and rewards. start: the beginning of
    the game. game: the recorded result of these keys; None replays them. bounds: int [T + 1], the frames at which
    decisions begin and the last one ends, if they do not last `frames_per_step` each from frame 0 on; the keys of
    earlier frames belong to the first decision. A game that has not ended is truncated. Behaviour probabilities are
    `smoothed` with ε, even if keys changed within a decision.
    """
    settings = QWOPTask(**info.environment.settings)
    if game is None:
        game = (start or GameStart()).session().play(keys)
    keys = np.asarray(keys, dtype=np.uint8)[: len(game.states) - 1]
    if bounds is None:
        bounds = [*range(0, len(keys), settings.frames_per_step), len(keys)]
    bounds = np.unique(np.minimum(bounds, len(keys)))
    decisions = np.split(keys[: bounds[-1]], bounds[1:-1])
    deciding = [decisions[0][bounds[0] :], *decisions[1:]]  # without the idle frames that come before the first
    actions = np.array([decision_action(down) for down in deciding], dtype=np.int16)
    along = fields_along(game, bounds, settings)
    return Episode(
        **along,
        actions=actions,
        behaviour_probabilities=smoothed(actions, info.actions, epsilon),
        keys=tuple(decisions),
        truncated=not along["terminated"],
        player=player,
        source=source,
        mu_kind=SMOOTHED,
        mu_epsilon=epsilon,
        start=start,
        origin=origin,
    )


def fields_along(game: Replay, bounds: NDArray[np.int64], settings: QWOPTask) -> dict[str, Any]:
    """The fields of an `Episode` that its game and the bounds of its decisions determine: observations, rewards, times,
    terminated, outcome, metres. bounds: int64 [T + 1], increasing frames."""
    states = game.states[bounds]
    ended = bool(game.events[-1, ENDED] and bounds[-1] == len(game.states) - 1)
    outcome = outcome_of(game.events[-1]) if ended else "stopped"
    x, y = states[:, 0, 0], states[:, 0, 1]
    hurdle = states[:, BODIES.index("hurdleBase"), 0]
    rewards = rewards_along(settings.reward, x, y, bent_knee(states), hurdle, **settings.prices, outcome=outcome)
    return {
        "observations": _observations(game, bounds, settings),
        "rewards": rewards.astype(np.float32),
        "times": game.events[bounds, CLOCK],
        "terminated": ended,
        "outcome": outcome,
        "metres": float(x[-1] / 10),
    }


def replay_episode(episode: Episode) -> Replay:
    """Replay an episode from its keys; BadInput if they are unknown."""
    return (episode.start or GameStart()).session().play(_keys(episode))


def states_along(
    episode: Episode, frames: Sequence[int] | NDArray[np.int64] | None = None
) -> list[dict[str, NDArray[Any]]]:
    """States of an episode from which a game can continue, as from `Session.get_state`. frames: increasing frame
    numbers, counted from the reset; None: those of its decisions. BadInput if its keys are unknown.
    """
    keys = _keys(episode)
    numbers = np.cumsum([0, *episode.frames]) if frames is None else np.asarray(frames, dtype=np.int64)
    session = (episode.start or GameStart()).session()
    states, now = [], 0
    for frame in numbers.tolist():
        session.play(keys[now:frame])
        states.append(session.get_state())
        now = frame
    return states


def first_frame(episode: Episode, game: Replay) -> int:
    """Find the frame of the first observation: 0, or the number of idle frames before it. game: the episode's replay.

    Those frames' keys are part of the first decision's.
    """
    if episode.times is None:
        return 0
    clock = game.events[: episode.frames[0] + 1, CLOCK]
    return int(np.abs(clock - episode.times[0]).argmin())


def own_bounds(episode: Episode, game: Replay) -> NDArray[np.int64]:
    """The frames at which an episode's decisions begin and the last one ends, int64 [T + 1]."""
    return np.concatenate([[first_frame(episode, game)], np.cumsum(episode.frames)])


KEPT = ("seed", "max_idle_frames", "created", "software_version")
DECIDED = ("actions", "behaviour_probabilities", "mu_kind", "mu_epsilon", "actors", "policy_probabilities", "branch")
"""Fields of an episode that a replay leaves as they are: always; with the same decisions."""


def relabelled(
    episode: Episode,
    info: DatasetInfo,
    epsilon: float,
    *,
    same_decisions: bool = False,
    from_first_key: bool = False,
) -> Episode:
    """Replay an episode with other observations and rewards, and at another decision rate.

    same_decisions: keep the episode's own decisions, of any length, with their actions and behaviour probabilities.
    Else the probabilities are `smoothed` with ε. from_first_key: the frames before the first key are idle ones, no
    decisions.
    """
    game = replay_episode(episode)
    if same_decisions:
        bounds = own_bounds(episode, game)
    else:
        first, last = first_frame(episode, game), len(game.states) - 1
        if from_first_key:
            first = max(first, int(np.argmax(_keys(episode) != 0)))
        frames = QWOPTask(**info.environment.settings).frames_per_step
        bounds = np.append(np.arange(first, last, frames), last)
    copy = episode_from_keys(
        _keys(episode), info, player=episode.player, source=episode.source, epsilon=epsilon, start=episode.start,
        game=game, bounds=bounds, origin=episode.origin,
    )  # fmt: skip
    names = (*KEPT, *DECIDED) if same_decisions else KEPT
    copy = replace(copy, **{name: getattr(episode, name) for name in names})
    return copy if same_decisions else _with_control(copy, episode, bounds)


def _with_control(copy: Episode, episode: Episode, bounds: NDArray[np.int64]) -> Episode:
    """The episode `copy` of other decisions, with those who acted in `episode`; a decision's last frame says who.

    The policy's actions at other moments are unknown. A branch's own decisions begin where all frames do.
    """
    actors = None if episode.actors is None else np.repeat(episode.actors, episode.frames)[bounds[1:] - 1]
    branch = episode.branch
    if branch is not None:
        frame = int(episode.frames[: branch.step].sum())
        branch = replace(branch, step=int(np.searchsorted(bounds[1:], frame, side="right")))
    return replace(copy, actors=actors, branch=branch)


def _keys(episode: Episode) -> NDArray[np.uint8]:
    if episode.keys is None:
        raise BadInput(
            f"{episode.label}: has no keys, so its game cannot be played again; qwop-dataset reconstruct finds them"
        )
    return episode.keys_of_frames


def _observations(game: Replay, bounds: NDArray[np.int64], settings: QWOPTask) -> NDArray[Any]:
    """Observations at the bounds of the decisions, late by the settings' lag."""
    if settings.observation == PIXELS:
        return observe_pictures(game.states[bounds], stack=settings.stack, size=settings.size, colour=settings.colour)
    late = settings.observation_lag
    at_start = late and bounds[0] == 0  # where there is no frame before
    rows = bounds[1:] - 1 if at_start else bounds - late
    hidden = None if game.hidden is None else game.hidden[rows]
    numbers = observe_as(settings.observation, game.states[rows], game.events[rows], hidden)
    return np.concatenate([observe_start(settings.observation)[None], numbers]) if at_start else numbers

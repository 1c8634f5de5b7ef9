"""Saved states as starts of games: of earlier games, and which of these to keep, or of demonstrations."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.from_keys import states_along
from ...datasets.reader import Dataset
from ...datasets.schema import Episode
from ...envs.names import outcome_name
from ...envs.qwop.env import QWOPEnv
from ...envs.qwop.vector import QWOPVectorEnv
from ...envs.spec import EnvironmentSpec
from ...envs.vector import Infos

CAPACITY = 256
"""Largest number of saved states of earlier games; beyond it, a new one replaces a random one."""

KEEP_SHARE = 0.25
"""Probability, for each step in which some game is in the stretch, of saving one of these games."""

NOT_BEFORE, NOT_AFTER = 5, 1
"""Whole seconds before a fall between which states are kept: enough time to prevent it, and little more."""

EVERY = 10
"""Frames between two states of a demonstration."""

LEFT = 10.0
"""Minimum seconds from a state to the game's time limit."""

_BEGUN = {"idle": 0, "commands": np.zeros(0, dtype=np.uint8)}


@dataclass(frozen=True)
class SavedState:
    """A game saved by `QWOPVectorEnv.save_game`, and the metres that its runner had reached."""

    metres: float
    game: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain data, for `saved_states`: the keys that led to it."""
        return {"metres": self.metres, "idle": self.game["idle"], "commands": self.game["commands"]}


class StateSource:
    """Saved states that a game may start from. Subclasses collect them from the games of a vector environment. Here
    they are fixed, such as those of demonstrations, and not part of checkpoints; a game that began from one has its
    place among them (`origin`)."""

    def __init__(self, states: Sequence[SavedState]) -> None:
        self.states = states

    def watch(self, games: QWOPVectorEnv, infos: Infos, ended: NDArray[np.bool_], whole: NDArray[np.bool_]) -> None:
        """Process the current step. ended, whole: bool [n], games that are over, and that began at the real start."""

    def clear(self) -> None:
        """Discard the collected states."""

    def get_state(self) -> dict[str, object]:
        return {}

    def set_state(self, state: dict[str, Any], games: QWOPVectorEnv) -> None:
        """Restore a state from `get_state`; the games play again what led to the saved states."""


class CollectedStates(StateSource):
    """States between two distances, `metres`, from games that began at the real start; at most `CAPACITY`."""

    states: list[SavedState]

    def __init__(self, metres: tuple[float, ...], generator: np.random.Generator) -> None:
        super().__init__([])
        self._low, self._high = metres
        self._generator = generator

    def keep(self, state: SavedState) -> None:
        """Add a state; once there are `CAPACITY`, it replaces a random one."""
        if len(self.states) < CAPACITY:
            self.states.append(state)
        else:
            self.states[int(self._generator.integers(CAPACITY))] = state

    def clear(self) -> None:
        self.states = []

    def get_state(self) -> dict[str, object]:
        return {"saved": [one.to_json() for one in self.states]}

    def set_state(self, state: dict[str, Any], games: QWOPVectorEnv) -> None:
        self.states = saved_states(state["saved"], games)


class PassedStates(CollectedStates):
    """States that games passed through."""

    def watch(self, games: QWOPVectorEnv, infos: Infos, ended: NDArray[np.bool_], whole: NDArray[np.bool_]) -> None:
        """Occasionally save a random game among those in the stretch."""
        metres = infos["distance"]
        rows = np.flatnonzero(~ended & whole & (self._low <= metres) & (metres < self._high))
        if not len(rows) or self._generator.random() >= KEEP_SHARE:
            return
        row = int(self._generator.choice(rows))
        self.keep(SavedState(float(metres[row]), games.save_game(row)))


class StatesBeforeFalls(CollectedStates):
    """One state a second, `NOT_BEFORE` to `NOT_AFTER` seconds before a fall. The policy fails from these states, so
    games practise its mistakes."""

    def __init__(self, games: QWOPVectorEnv, metres: tuple[float, ...], generator: np.random.Generator) -> None:
        super().__init__(metres, generator)
        self._a_second = max(round(games.task.decisions_per_second), 1)
        self._recent: list[deque[SavedState]] = [deque(maxlen=NOT_BEFORE) for _ in range(games.num_envs)]
        self._steps = np.zeros(games.num_envs, dtype=np.int64)

    def watch(self, games: QWOPVectorEnv, infos: Infos, ended: NDArray[np.bool_], whole: NDArray[np.bool_]) -> None:
        self._steps += 1
        for row in np.flatnonzero(whole & ~ended & (self._steps % self._a_second == 0)):
            self._recent[row].append(SavedState(float(infos["distance"][row]), games.save_game(int(row))))
        for row in np.flatnonzero(ended):
            if whole[row] and outcome_name(infos["outcome"][row]) == "fell":
                for state in list(self._recent[row])[:-NOT_AFTER]:
                    if self._low <= state.metres < self._high:
                        self.keep(state)
            self._recent[row].clear()
            self._steps[row] = 0

    def clear(self) -> None:
        super().clear()
        for recent in self._recent:
            recent.clear()
        self._steps[:] = 0

    def get_state(self) -> dict[str, object]:
        recent = [[one.to_json() for one in recent] for recent in self._recent]
        return {**super().get_state(), "recent": recent, "steps": self._steps.copy()}

    def set_state(self, state: dict[str, Any], games: QWOPVectorEnv) -> None:
        super().set_state(state, games)
        self._recent = [deque(saved_states(recent, games), maxlen=NOT_BEFORE) for recent in state["recent"]]
        self._steps[:] = state["steps"]


def saved_states(saved: Sequence[dict[str, Any]], games: QWOPVectorEnv) -> list[SavedState]:
    """The inverse of `SavedState.to_json`."""
    return [SavedState(one["metres"], game) for one, game in zip(saved, games.played_again(saved), strict=True)]


def demonstrated_states(
    dataset: Dataset, environment: EnvironmentSpec, metres: tuple[float, ...]
) -> tuple[SavedState, ...]:
    """Replay every episode and save its state every `EVERY` frames between these metres.

    environment: the one in which games will continue; its observations, decision rate and rewards may differ from the
    dataset's. Raises BadInput if an episode has no keys, or if there is no state between these metres.
    """
    env = environment.make(max_idle_frames=0, delay=0.0).unwrapped
    assert isinstance(env, QWOPEnv)
    env.reset()
    low, high = metres
    latest = env.task.time_limit - LEFT
    found: list[SavedState] = []
    for path, episode in zip(dataset.files, dataset, strict=True):
        if episode.keys is None:
            raise BadInput(
                f"{path}: has no keys to replay, so no game can start from its states; leave out restarts.source, or "
                "give demonstrations with keys"
            )
        for info, game in _states(env, episode):
            if low <= info["distance"] < high and info["clock"] <= latest:
                found.append(SavedState(info["distance"], {**game, **_BEGUN, "origin": len(found)}))
    if not found:
        raise BadInput(
            f"restarts.metres={list(metres)}: no demonstration in {dataset.folder} passes there {LEFT:g} s before the "
            f"phase's time limit of {env.task.time_limit:g} s; widen the stretch, or raise time_limit"
        )
    return tuple(found)


def _states(env: QWOPEnv, episode: Episode) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the info and the saved game every `EVERY` frames of an episode, to the end of the game."""
    keys = np.concatenate(episode.keys or ())
    frames = np.arange(EVERY, len(keys), EVERY)
    # Play the last frame before each state in `env`, so that it updates its observation and infos.
    for frame, page in zip(frames, states_along(episode, frames - 1), strict=True):
        env.continue_from(page, keys[: frame - 1])
        _, _, terminated, _, info = env.advance(int(keys[frame - 1]))
        if terminated:
            return
        yield info, env.save_game()

"""What is asked of the runner: the settings of `QWOP-v1`, and what every form of it shares."""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ..engine import batch, new_games, workspace
from ..engine import layout as at
from ..engine.features import FEATURES, FEATURES_ONLY, FULL, FULL_FEATURES
from ..names import FEATURES as FEATURE_NAMES
from ..names import FULL_FEATURES as FULL_NAMES
from .rewards import REWARDS

FRAMES_A_SECOND = 30


def outcome_of(events: NDArray[np.float64]) -> str:
    """How a game stands whose last events, float64 [6], these are; 'running' while it has not ended."""
    _, _, _, landed, ended, _ = events.tolist()
    if not ended:
        return "running"
    return "finished" if landed and events[0] >= batch.FINISH_SCORE else "fell"


OBSERVATIONS = {"features": (FEATURES_ONLY, FEATURES), "full": (FULL, FULL_FEATURES)}
"""By name: what the kernels call it, and how many numbers it has."""


@dataclass(frozen=True)
class QWOPTask:
    """The settings of `QWOP-v1`; see `QWOPEnv`."""

    frames_per_step: int = 3
    reward: str = "speed"
    observation_lag: int = 0
    max_idle_frames: int = 0
    time_limit: float = 120.0
    observation: str = "features"
    shaping: float = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        def refuse(name: str, expected: str) -> None:
            raise BadInput(f"QWOP-v1: {name}={getattr(self, name)!r}, expected {expected}")

        if not _is_whole(self.frames_per_step) or self.frames_per_step < 1:
            refuse("frames_per_step", "a whole number, at least 1")
        if self.reward not in REWARDS:
            refuse("reward", "one of " + ", ".join(REWARDS))
        if self.observation_lag not in (0, 1):
            refuse("observation_lag", "0 or 1")
        if not _is_whole(self.max_idle_frames) or self.max_idle_frames < 0:
            refuse("max_idle_frames", "a whole number, at least 0")
        if not self.time_limit > 0:
            refuse("time_limit", "seconds, more than 0")
        if self.observation not in OBSERVATIONS:
            refuse("observation", "one of " + ", ".join(OBSERVATIONS))
        if not self.shaping >= 0 or (self.shaping and self.reward != "race"):
            refuse("shaping", "a weight, at least 0, of reward=race alone")
        if not isinstance(self.delay, int | float) or not 0 <= self.delay <= 1:
            refuse("delay", "a probability, from 0 to 1")

    @property
    def observation_space(self) -> "gymnasium.spaces.Box[np.float32]":
        return gymnasium.spaces.Box(-np.inf, np.inf, (OBSERVATIONS[self.observation][1],), np.float32)

    @property
    def observation_names(self) -> tuple[str, ...]:
        return FULL_NAMES if self.observation == "full" else FEATURE_NAMES

    @property
    def decisions_per_second(self) -> float:
        """Of the game's clock."""
        return FRAMES_A_SECOND / self.frames_per_step

    def numbers(self) -> NDArray[np.float64]:
        """The settings as the kernels take them."""
        limit = min(self.time_limit * FRAMES_A_SECOND, 2**52)
        kind, _ = OBSERVATIONS[self.observation]
        reward = REWARDS[self.reward]
        return np.array([reward, self.observation_lag, round(limit), kind, self.shaping], dtype=np.float64)


class Games:
    """n games of one task, row by row in arrays: the state that both forms of `QWOP-v1` keep.

    `reals`, `integers`: the engine's; `counters`, `numbers`: see `engine.batch`; `observations` float32 [n, 71
    or 94]: what the players see now. Together they are everything, so copying them saves the games. `orders` (see there
    too) says what to do next; `final_observations` is what the players saw last of games that ended.
    """

    SAVED = ("reals", "integers", "counters", "numbers", "observations")

    def __init__(self, task: QWOPTask, count: int) -> None:
        self.task = task.numbers()
        fresh = new_games(1)
        self.fresh_reals, self.fresh_integers = fresh[0][0], fresh[1][0]
        self.reals, self.integers = new_games(count)
        self.counters = np.zeros((count, batch.COUNTERS), dtype=np.int64)
        self.numbers = np.zeros((count, batch.NUMBERS))
        self.observations = np.zeros((count, *task.observation_space.shape), dtype=np.float32)
        self.final_observations = np.zeros_like(self.observations)
        self.orders = np.zeros((count, batch.ORDERS), dtype=np.int64)
        self.orders[:, batch.DO] = batch.DECIDE
        self.orders[:, batch.FRAMES_TO_PLAY] = task.frames_per_step
        self.workspace = workspace()

    def reset(self, mask: NDArray[np.bool_], idle: NDArray[np.int64]) -> None:
        """New games where `mask`, bool [n], is true, with so many idle frames, int64 [n]."""
        self.orders[:, batch.DO] = np.where(mask, batch.BEGIN, batch.NOTHING)
        self.orders[:, batch.NEXT_IDLE] = idle
        self.play(0, len(self.orders), False, *self.workspace)
        self.orders[:, batch.DO] = batch.DECIDE

    def play(self, first: int, last: int, follow: bool, memory: NDArray[np.float64], work: NDArray[np.int64]) -> None:
        """Carry out the orders for some rows, in a workspace that no other thread uses now; see `batch.play_games`."""
        batch.play_games(
            self.reals, self.integers, self.counters, self.numbers, self.observations, self.final_observations,
            self.orders, self.task, self.fresh_reals, self.fresh_integers, memory, work, first, last, follow,
        )  # fmt: skip

    @property
    def states(self) -> NDArray[np.float64]:
        """The bodies now, float64 [n, 14, 6]."""
        return self.reals[:, : at.EVENTS].reshape(-1, at.MOVING, 6).copy()

    @property
    def events(self) -> NDArray[np.float64]:
        """The events now, float64 [n, 6]."""
        return self.reals[:, at.EVENTS : at.EVENTS + 6].copy()

    def saved(self) -> dict[str, NDArray[Any]]:
        return {name: rows.copy() for name, rows in self.arrays().items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `saved` copies, itself."""
        return {name: getattr(self, name) for name in self.SAVED}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        for name, mine in self.arrays().items():
            given = saved[name]
            if mine.shape != given.shape or mine.dtype != given.dtype:
                raise BadInput(
                    f"saved games: {name} is {given.dtype} {list(given.shape)}, expected {mine.dtype} "
                    f"{list(mine.shape)}; it was saved by another version or with another number of games"
                )
            mine[...] = given


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)

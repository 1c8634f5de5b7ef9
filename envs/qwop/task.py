"""The task of `QWOP-v1`: its settings, and the games that its single and vector forms play."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...common.errors import BadInput, quoted
from ...common.settings import NotNegative, Settings, Share
from ...common.shared_settings import LONGEST_IDLE, IdleFrames
from ..actions import whole
from ..engine import batch, native, new_games, workspace
from ..engine import layout as at
from ..engine.batch import CONTACT, FEATURES_ONLY, FULL
from ..names import CONTACT_FEATURES, FEATURES, FULL_FEATURES, LONGEST_GAME, Reward
from ..names import FRAMES_A_SECOND as FRAMES_A_SECOND
from .pixels import Pictures, picture_shape
from .rewards import KINDS


def outcome_of(events: NDArray[np.float64]) -> str:
    """Return the outcome of a game from its last events, float64 [6]; 'running' if it has not ended."""
    _, _, _, landed, ended, _ = events.tolist()
    if not ended:
        return "running"
    return "finished" if landed and events[0] >= batch.FINISH_SCORE else "fell"


PIXELS = "pixels"
OBSERVATIONS = {
    "features": (FEATURES_ONLY, FEATURES),
    "full": (FULL, FULL_FEATURES),
    "contact": (CONTACT, CONTACT_FEATURES),
    PIXELS: (CONTACT, CONTACT_FEATURES),  # the kernels' numbers; pictures are drawn beside them
}
"""Kinds of observations by name: the kernels' constant, and the names of the numbers."""


class QWOPTask(Settings):
    """The settings of `QWOP-v1`; see `QWOPEnv`."""

    called: ClassVar[str] = "QWOP-v1"

    frames_per_step: Annotated[int, Field(ge=1, le=3600)] = 3
    """Game frames (30 a second) per decision."""
    reward: Reward = "speed"
    """Reward of a decision; see qwop.envs.qwop.rewards."""
    observation_lag: Literal[0, 1] = 0
    """Frames by which observations lag the physics; the published recordings have 1."""
    max_idle_frames: IdleFrames = 0
    time_limit: Annotated[float, Field(gt=0, le=LONGEST_GAME)] = 120.0
    """Seconds of the game clock after which a game is truncated."""
    observation: Literal["features", "full", "contact", "pixels"] = "features"
    """The 71 features of the published recordings, 94 (full), 112 (contact), or pictures (pixels)."""
    stack: Annotated[int, Field(ge=1, le=16)] = 1
    """Newest pictures in an observation=pixels."""
    size: Annotated[int, Field(ge=16, le=256)] = 84
    """Height and width of a picture of observation=pixels, in pixels."""
    colour: bool = False
    """Colours in observation=pixels, instead of grey."""
    shaping: NotNegative = 0.0
    """Weight of the reward shaping in reward=race."""
    fall_penalty: NotNegative = 1.0
    """Reward that a fall costs in reward=race, where a metre earns 1."""
    push_penalty: NotNegative = 0.0
    """Reward that each metre costs by which the hurdle is pushed forward in reward=race."""
    delay: Share = 0.0
    """Probability that the keys of a decision come a frame late; its first frame has those of the decision before."""

    def check(self) -> None:
        usual = {name: one.default for name, one in QWOPTask.model_fields.items()}
        for name, price in self.prices.items():
            if self.reward != "race" and price != usual[name]:
                expected = f"expected {usual[name]:g} with reward={self.reward}"
                raise BadInput(f"{name}={quoted(price)}: {expected}; only race has it")
        if self.observation == PIXELS and self.observation_lag:
            raise BadInput(f"observation_lag={self.observation_lag}: expected 0 with observation={PIXELS}")
        for name in ("stack", "size", "colour"):
            if self.observation != PIXELS and getattr(self, name) != usual[name]:
                value = quoted(getattr(self, name))
                raise BadInput(f"{name}={value}: only observation={PIXELS} has it, not {self.observation}")

    @property
    def observation_space(self) -> "gymnasium.spaces.Box[Any]":
        if self.observation == PIXELS:
            return gymnasium.spaces.Box(0, 255, picture_shape(self.stack, self.size, self.colour), np.uint8)
        return gymnasium.spaces.Box(-np.inf, np.inf, (len(OBSERVATIONS[self.observation][1]),), np.float32)

    @property
    def observation_names(self) -> tuple[str, ...] | None:
        return None if self.observation == PIXELS else self.feature_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the kernels' features: the observed ones, or all if pictures are observed."""
        return OBSERVATIONS[self.observation][1]

    @property
    def decisions_per_second(self) -> float:
        """Decisions per second of the game's clock."""
        return FRAMES_A_SECOND / self.frames_per_step

    @property
    def prices(self) -> dict[str, float]:
        """The settings of reward=race, by name."""
        return {"shaping": self.shaping, "fall_penalty": self.fall_penalty, "push_penalty": self.push_penalty}

    def numbers(self) -> NDArray[np.float64]:
        """Return the settings as the kernels take them."""
        kind, _ = OBSERVATIONS[self.observation]
        limit = round(self.time_limit * FRAMES_A_SECOND)
        return np.array([KINDS[self.reward], self.observation_lag, limit, kind, *self.prices.values()], np.float64)


def idle_frames_of(options: Mapping[str, Any] | None, usual: int) -> int:
    """Return the idle frames that `options={"idle_frames": k}` of a reset choose, or the number drawn.

    Raises ValueError unless k is a whole number from 0 to `LONGEST_IDLE`.
    """
    choice = (options or {}).get("idle_frames")
    if choice is None:
        return usual
    if not 0 <= whole(choice) <= LONGEST_IDLE:
        raise ValueError(f"idle_frames {choice!r}, expected a whole number, 0 ... {LONGEST_IDLE}")
    return int(choice)


def infos_of(numbers: Any, counters: Any) -> dict[str, Any]:
    """Infos of a game, or of n, from its `numbers` and `counters` (see `GameArrays`), a column each."""
    return {
        "distance": numbers[batch.DISTANCE],
        "score": numbers[batch.SCORE],
        "clock": numbers[batch.CLOCK],
        "time": numbers[batch.TIME],
        "frames": counters[batch.PLAYED],
        "idle_frames": counters[batch.IDLE_BEFORE],
        "outcome": counters[batch.OUTCOME],
    }


class GameArrays:
    """n games of one task as rows of arrays: the state behind both forms of `QWOP-v1`.

    `reals`, `integers`: the engine's state; `counters`, `numbers`: see `engine.batch`; `observations` float32 [n, 71,
    94 or 112]: the current ones; `pictures`: those of observation=pixels, else None. Copying these saves the games.
    `orders` (see `engine.batch` too) holds the next commands; `final_observations` are the last ones of the games that
    ended.
    """

    SAVED = ("reals", "integers", "counters", "numbers", "observations")

    def __init__(self, task: QWOPTask, count: int) -> None:
        self.settings = task.numbers()
        self._width = 1 if count == 1 else native.MANY
        fresh = new_games(1)
        self.fresh_reals, self.fresh_integers = fresh[0][0], fresh[1][0]
        self.reals, self.integers = new_games(count)
        self.counters = np.zeros((count, batch.COUNTERS), dtype=np.int64)
        self.numbers = np.zeros((count, batch.NUMBERS))
        self.observations = np.zeros((count, len(task.feature_names)), dtype=np.float32)
        self.pictures: Pictures | None = None
        if task.observation == PIXELS:
            self.pictures = Pictures(count, task.stack, task.size, task.colour)
        self.final_observations = np.zeros_like(self.observations)
        self.orders = np.zeros((count, batch.ORDERS), dtype=np.int64)
        self.orders[:, batch.DO] = batch.DECIDE
        self.orders[:, batch.FRAMES_TO_PLAY] = task.frames_per_step
        self.workspace = workspace()
        self._arguments = (
            self.reals, self.integers, self.counters, self.numbers, self.observations,
            self.final_observations, self.orders, self.settings, self.fresh_reals, self.fresh_integers,
        )  # fmt: skip
        self._calls: dict[int, native.Call] = {}

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("games are not copied: their get_state and set_state continue them elsewhere")

    def reset(self, mask: NDArray[np.bool_], idle: NDArray[np.int64]) -> None:
        """Begin new games where `mask`, bool [n], is true, with `idle` frames, int64 [n], without a key."""
        self.orders[:, batch.DO] = np.where(mask, batch.BEGIN, batch.NOTHING)
        self.orders[:, batch.NEXT_IDLE] = idle
        self.play(0, len(self.orders), False, *self.workspace)
        self.orders[:, batch.DO] = batch.DECIDE

    def play(self, first: int, last: int, follow: bool, memory: NDArray[np.float64], work: NDArray[np.int64]) -> None:
        """Carry out the orders of rows first … last − 1, in a workspace of this thread; see `batch.play_games`."""
        call = self._calls.get(id(memory))  # which the call keeps
        if call is None:
            call = native.bind("play_games", *self._arguments, memory, work, first, last, follow, width=self._width)
            self._calls[id(memory)] = call
        call.table[-3:] = first, last, follow
        call()

    def observed(self) -> NDArray[Any]:
        """Copy the current observations: [n, *shape]."""
        return self.observations.copy() if self.pictures is None else self.pictures.observed()

    @property
    def states(self) -> NDArray[np.float64]:
        """Current bodies, float64 [n, 14, 6]."""
        return self.reals[:, : at.EVENTS].reshape(-1, at.MOVING, 6).copy()

    @property
    def events(self) -> NDArray[np.float64]:
        """Current events, float64 [n, 6]."""
        return self.reals[:, at.EVENTS : at.EVENTS + 6].copy()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of which a row is a game."""
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in self.SAVED}
        return arrays if self.pictures is None else {**arrays, "pictures": self.pictures.stacks}

    def saved_row(self, row: int) -> dict[str, NDArray[Any]]:
        """Copy a game."""
        return {name: rows[row].copy() for name, rows in self.arrays().items()}

    def restore_row(self, row: int, saved: Mapping[str, Any]) -> None:
        """Put one game, of `saved_row`, into this row."""
        for name, mine in self.arrays().items():
            mine[row] = saved[name]

"""The original game as a Gymnasium environment."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ..names import BODIES, CLOCK, FEATURES, SCORE, UNITS_A_METRE
from ..qwop.env import GameStep, QWOPBase
from ..qwop.observations import observe_as, observe_start
from ..qwop.rewards import rewards_along
from ..qwop.task import FRAMES_A_SECOND, PIXELS, outcome_of
from .page import Frames, OriginalPage, PageSettings

_TORSO, _HURDLE = BODIES.index("torso"), BODIES.index("hurdleBase")
_JOINTS = [column for column, name in enumerate(FEATURES) if name.startswith("joint.")]
_KNEES = [place for place, column in enumerate(_JOINTS) if FEATURES[column].endswith("Knee")]


class QWOPOriginalEnv(QWOPBase):
    """`QWOPOriginal-v1`: `QWOP-v1` played in the page of the original game, in Chrome or Chromium.

    Observations, actions, rewards, infos and the settings of the task are those of `QWOP-v1` (see `QWOPEnv`), and so is
    every game, to the bit, as long as the page's game is the one that the engine follows. All numbers are read from the
    page.

    Further settings are those of `PageSettings`. With `live=False` the game advances by `frames_per_step` in each step
    and pauses between steps, as fast as the browser can. With `live=True` the page's own loop plays, 30 frames a
    second, drawn; a late decision pauses the game, so that each step still has `frames_per_step` frames and recorded
    keys replay exactly.

    BadInput without a browser or a game. Version history: v1, first.
    """

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        page = {name: settings.pop(name) for name in PageSettings.model_fields if name in settings}
        super().__init__(render_mode, settings)
        if self.task.observation == PIXELS:
            raise BadInput(f"QWOPOriginal-v1: observation={PIXELS} is drawn by the simulator alone (QWOP-v1)")
        self.page = OriginalPage(PageSettings(**page))

    @property
    def state(self) -> NDArray[np.float64]:
        return np.array(self._now.states[-1])

    @property
    def events(self) -> NDArray[np.float64]:
        return np.array(self._now.events[-1])

    def close(self) -> None:
        super().close()
        self.page.close()

    def _begin(self, idle: int) -> NDArray[np.float32]:
        self._frames, self._first_key, self._outcome = 0, 0, "running"
        self._rows = np.stack([observe_start(self.task.observation)] * 2)
        self._take(self.page.new_game(), np.zeros(1, np.uint8))
        without = np.zeros(idle, np.uint8)
        self._idle = self._count = self._take(self.page.play(without), without) if idle else 0
        return self._observation()

    def _play(self, first: int, keys: int, frames: int) -> GameStep:
        before = self._now
        pressed = np.full(frames, keys, np.uint8)
        pressed[0] = first
        self._count = self._take(self.page.play(pressed), pressed)
        self._outcome = outcome = outcome_of(self.events)
        ended = outcome != "running"
        stopped = not ended and self._frames >= round(self.task.time_limit * FRAMES_A_SECOND)
        if stopped:
            self._outcome = "stopped"
        return self._observation(), self._reward(before, self._now, outcome), ended, stopped, self._info()

    def _take(self, frames: Frames, keys: NDArray[np.uint8]) -> int:
        """Take over the frames that the page played of these keys; return their number (0 after the game's end)."""
        if len(frames):
            down = np.flatnonzero(keys[: len(frames)])
            if len(down) and not self._first_key:
                self._first_key = self._frames + 1 + int(down[0])
            self._frames += len(frames)
            self._rows = np.concatenate([self._rows, self._observed(frames)])[-2:]
            self._now = frames
        return len(frames)

    def _observed(self, frames: Frames) -> NDArray[np.float32]:
        """Return observations float32 [n, 71, 94 or 112], with the page's own joint angles."""
        observations = observe_as(self.task.observation, frames.states, frames.events, frames.hidden)
        observations[:, _JOINTS] = frames.joints
        return observations

    def _observation(self) -> NDArray[np.float32]:
        observation: NDArray[np.float32] = self._rows[-1 - self.task.observation_lag].copy()
        return observation

    def _reward(self, before: Frames, now: Frames, outcome: str) -> float:
        ends = [before, now]
        torso = np.array([frames.states[-1, _TORSO] for frames in ends])
        knee = [frames.joints[-1, _KNEES].min() for frames in ends]
        x, y = torso[:, 0], torso[:, 1]
        hurdle = [frames.states[-1, _HURDLE, 0] for frames in ends]
        return float(rewards_along(self.task.reward, x, y, knee, hurdle, **self.task.prices, outcome=outcome)[0])

    def _info(self) -> dict[str, Any]:
        return {
            "distance": float(self._now.states[-1, _TORSO, 0] / UNITS_A_METRE),
            "score": float(self._now.events[-1, SCORE]),
            "clock": float(self._now.events[-1, CLOCK]),
            "time": (self._frames - self._first_key + 1) / FRAMES_A_SECOND if self._first_key else 0.0,
            "frames": self._count,
            "idle_frames": self._idle,
            "late": self._late,
            "outcome": self._outcome,
        }

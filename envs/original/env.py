"""The original game as a Gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..drawing import Drawing
from ..names import ACTION_KEYS, BODIES, EVENT_COLUMNS, FEATURES
from ..observations import observe, observe_full, observe_start
from ..rewards import rewards_along
from ..task import FRAMES_A_SECOND, QWOPTask, outcome_of
from .page import Frames, OriginalPage, PageSettings

Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]

_SCORE, _CLOCK = EVENT_COLUMNS.index("score"), EVENT_COLUMNS.index("clock")
_TORSO = BODIES.index("torso")
_JOINTS = [column for column, name in enumerate(FEATURES) if name.startswith("joint.")]
_KNEES = [place for place, column in enumerate(_JOINTS) if FEATURES[column].endswith("Knee")]


class QWOPOriginalEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """`QWOPOriginal-v1`: `QWOP-v1` played in the page of the original game, in Chrome or Chromium.

    Observations, actions, rewards, infos and the settings of the task are those of `QWOP-v1` (see `QWOPEnv`), and so is
    every game, to the bit, as long as the page's game is the one that the engine follows. All numbers are read from the
    page.

    Settings besides the task's: those of `PageSettings`. By hand (`live=False`) the game moves by `frames_per_step` in
    each step and rests between steps, as fast as the browser can. With `live=True` the page's own loop plays, 30
    frames a second, drawn; a decision that comes late holds the game, so that a step has `frames_per_step` frames then
    too and recorded keys replay exactly.

    BadInput where there is no browser or no game. Version history: v1, first.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": FRAMES_A_SECOND}  # noqa: RUF012  (Gymnasium's form)

    def __init__(
        self,
        url: str | None = None,
        folder: str | None = None,
        headless: bool = True,
        live: bool = False,
        fresh_page: bool = False,
        browser: str | None = None,
        timeout: float = PageSettings.timeout,
        frames_per_step: int = 3,
        reward: str = "speed",
        observation_lag: int = 0,
        max_idle_frames: int = 0,
        time_limit: float = 120.0,
        observation: str = "features",
        shaping: float = 0.0,
        delay: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        self.task = QWOPTask(
            frames_per_step, reward, observation_lag, max_idle_frames, time_limit, observation, shaping, delay
        )
        self.render_mode = render_mode
        self.observation_space = self.task.observation_space
        self.action_space = gymnasium.spaces.Discrete(len(ACTION_KEYS))
        self.page = OriginalPage(PageSettings(url, folder, headless, live, fresh_page, browser, timeout))
        self._delays = np.random.default_rng()
        self._drawing: Drawing | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        most = self.task.max_idle_frames
        idle = int(self.np_random.integers(0, most, endpoint=True)) if most else 0
        if seed is not None:
            (self._delays,) = self.np_random.spawn(1)
        self._frames, self._first_key, self._keys, self._late = 0, 0, 0, False
        self._seen = np.stack([observe_start(self.task.observation)] * 2)
        self._take(self.page.new_game(), np.zeros(1, np.uint8))
        without = np.zeros(idle, np.uint8)
        self._idle = self._take(self.page.play(without), without) if idle else 0
        return self._observation(), self._info(self._idle, "running")

    def step(self, action: Any) -> Step:
        if not 0 <= action < len(ACTION_KEYS):
            raise ValueError(f"action {action!r}, expected 0 ... {len(ACTION_KEYS) - 1}")
        self._late = self.task.delay > 0 and self._delays.random() < self.task.delay
        return self._play(int(ACTION_KEYS[action]), self.task.frames_per_step)

    def advance(self, keys: int) -> Step:
        """Play one frame with any keys down (Q = 1, W = 2, O = 4, P = 8); returns what `step` does."""
        self._late = False
        return self._play(keys, 1)

    @property
    def state(self) -> NDArray[np.float64]:
        """The bodies now, float64 [14, 6], as `replay` gives them."""
        return np.array(self._now.states[-1])

    @property
    def events(self) -> NDArray[np.float64]:
        """The events now, float64 [6], in the order of `names.EVENT_COLUMNS`."""
        return np.array(self._now.events[-1])

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        if self.render_mode is None:
            gymnasium.logger.warn("nothing to render: make the environment with render_mode='rgb_array'")
            return None
        if self._drawing is None:
            self._drawing = Drawing()
        info = self._info(0, "running")
        return self._drawing.picture(self.state, metres=info["score"], seconds=info["time"], keys=self._keys)

    def close(self) -> None:
        self.page.close()

    def _play(self, keys: int, frames: int) -> Step:
        before = self._now
        pressed = np.full(frames, keys, np.uint8)
        if self._late:
            pressed[0] = self._keys
        played = self._take(self.page.play(pressed), pressed)
        self._keys = keys
        outcome = outcome_of(self.events)
        ended = outcome != "running"
        stopped = not ended and self._frames >= round(self.task.time_limit * FRAMES_A_SECOND)
        reward = self._reward(before, self._now, outcome)
        return self._observation(), reward, ended, stopped, self._info(played, "stopped" if stopped else outcome)

    def _take(self, frames: Frames, keys: NDArray[np.uint8]) -> int:
        """What the page has played of these keys; how many frames (none once the game has ended)."""
        if len(frames):
            down = np.flatnonzero(keys[: len(frames)])
            if len(down) and not self._first_key:
                self._first_key = self._frames + 1 + int(down[0])
            self._frames += len(frames)
            self._seen = np.concatenate([self._seen, self._observed(frames)])[-2:]
            self._now = frames
        return len(frames)

    def _observed(self, frames: Frames) -> NDArray[np.float32]:
        """Observations float32 [n, 71 or 94]; the joints' angles are the page's own."""
        full = self.task.observation == "full"
        seen = observe_full(frames.states, frames.events, frames.hidden) if full else observe(frames.states)
        seen[:, _JOINTS] = frames.joints
        return seen

    def _observation(self) -> NDArray[np.float32]:
        seen: NDArray[np.float32] = self._seen[-1 - self.task.observation_lag].copy()
        return seen

    def _reward(self, before: Frames, now: Frames, outcome: str) -> float:
        ends = [before, now]
        torso = np.array([frames.states[-1, _TORSO] for frames in ends])
        knee = [frames.joints[-1, _KNEES].min() for frames in ends]
        x, y = torso[:, 0], torso[:, 1]
        return float(rewards_along(self.task.reward, x, y, knee, shaping=self.task.shaping, outcome=outcome)[0])

    def _info(self, played: int, outcome: str) -> dict[str, Any]:
        return {
            "distance": float(self._now.states[-1, _TORSO, 0] / 10.0),
            "score": float(self._now.events[-1, _SCORE]),
            "clock": float(self._now.events[-1, _CLOCK]),
            "time": (self._frames - self._first_key + 1) / FRAMES_A_SECOND if self._first_key else 0.0,
            "frames": played,
            "idle_frames": self._idle,
            "late": self._late,
            "outcome": outcome,
        }

"""What `QWOP-v1` and `QWOPOriginal-v1` have in common: settings, decisions and when their keys come, pictures."""

from dataclasses import fields
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..capabilities import Capabilities
from ..names import ACTION_KEYS, ACTIONS
from ..pictures.drawing import Drawing
from .task import FRAMES_A_SECOND, QWOPTask

Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]


class OneGame(gymnasium.Env[NDArray[np.float32], np.int64]):
    """A game, decision by decision, wherever it is played: `_begin`, `_play`, `_info` and `state` know how.

    `task` are settings of `QWOPTask`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": FRAMES_A_SECOND}  # noqa: RUF012  (Gymnasium's form)

    original: ClassVar[str | None] = None
    """The id of this task in the original's page, of a form that is not there."""

    saved_games: ClassVar[bool] = False
    """Its vector form saves and restores single games."""

    @classmethod
    def capabilities(cls, **settings: Any) -> Capabilities:
        """What shared code may rely on; `settings` are those of `gymnasium.make`."""
        known = {field.name for field in fields(QWOPTask)}
        task = QWOPTask(**{name: value for name, value in settings.items() if name in known})
        return Capabilities(
            decisions_per_second=task.decisions_per_second,
            idle_start=True,
            runs=True,
            keys=True,
            saved_games=cls.saved_games,
            original=cls.original,
            action_names=ACTIONS,
            observation_names=task.observation_names,
        )

    def __init__(self, render_mode: str | None, task: dict[str, Any]) -> None:
        self.task = QWOPTask(**task)
        self.render_mode = render_mode
        self.observation_space = self.task.observation_space
        self.action_space = gymnasium.spaces.Discrete(len(ACTION_KEYS))
        self._keys = 0
        self._late = False
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
        self._keys, self._late = 0, False
        return self._begin(idle), self._info()

    def step(self, action: Any) -> Step:
        if not 0 <= action < len(ACTION_KEYS):
            raise ValueError(f"action {action!r}, expected 0 ... {len(ACTION_KEYS) - 1}")
        before, self._keys = self._keys, int(ACTION_KEYS[action])
        self._late = self.task.delay > 0 and self._delays.random() < self.task.delay
        return self._play(before if self._late else self._keys, self._keys, self.task.frames_per_step)

    def advance(self, keys: int) -> Step:
        """Play one frame with any keys down (Q = 1, W = 2, O = 4, P = 8); returns what `step` does."""
        self._keys, self._late = keys, False
        return self._play(keys, keys, 1)

    @property
    def state(self) -> NDArray[np.float64]:
        """The bodies now, float64 [14, 6], as `replay` gives them."""
        raise NotImplementedError

    @property
    def events(self) -> NDArray[np.float64]:
        """The events now, float64 [6], in the order of `names.EVENT_COLUMNS`."""
        raise NotImplementedError

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        if self.render_mode is None:
            gymnasium.logger.warn("nothing to render: make the environment with render_mode='rgb_array'")
            return None
        if self._drawing is None:
            self._drawing = Drawing()
        info = self._info()
        return self._drawing.picture(self.state, metres=info["score"], seconds=info["time"], keys=self._keys)

    def _begin(self, idle: int) -> NDArray[np.float32]:
        """A new game and so many frames without a key; the observation then."""
        raise NotImplementedError

    def _play(self, first: int, keys: int, frames: int) -> Step:
        """So many frames, with the keys `first` down in the first of them and `keys` in the others."""
        raise NotImplementedError

    def _info(self) -> dict[str, Any]:
        raise NotImplementedError

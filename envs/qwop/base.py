"""The part that `QWOP-v1` and `QWOPOriginal-v1` share: settings, decisions and the timing of their keys, pictures."""

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...common.shared_settings import LONGEST_IDLE
from ..actions import number_below, whole
from ..names import ACTION_KEYS, ACTIONS
from ..pictures.drawing import Drawing
from ..spec import Capabilities
from ..vector import require_render_mode
from .task import FRAMES_A_SECOND, QWOPTask

GameStep = tuple[NDArray[Any], float, bool, bool, dict[str, Any]]

_NO_GAME, _CLOSED = "no game has begun", "closed"

_KEYS = tuple(ACTION_KEYS.tolist())
ALL_KEYS = 16

RENDER_MODES = ["rgb_array"]


def idle_frames_of(options: dict[str, Any] | None, usual: int) -> int:
    """Return the idle frames that `options={"idle_frames": k}` of a reset choose, or the number drawn.

    Raises ValueError unless k is a whole number from 0 to `LONGEST_IDLE`.
    """
    choice = (options or {}).get("idle_frames")
    if choice is None:
        return usual
    if not 0 <= whole(choice) <= LONGEST_IDLE:
        raise ValueError(f"idle_frames {choice!r}, expected a whole number, 0 ... {LONGEST_IDLE}")
    return int(choice)


class QWOPBase(gymnasium.Env[NDArray[Any], np.int64]):
    """One game, decision by decision. Subclasses play it: `_begin`, `_play`, `_info`, `state`, `events`.

    `task` are settings of `QWOPTask`.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": FRAMES_A_SECOND}  # noqa: RUF012  (Gymnasium's form)

    original: ClassVar[str | None] = None
    """Id of the same task in the original's page."""

    compiled: ClassVar[bool] = False
    """True if the vector form is the compiled batch, which saves single games."""

    @classmethod
    def capabilities(cls, **settings: Any) -> Capabilities:
        """Return the abilities of the environment that `gymnasium.make` makes with these settings."""
        fields = {*QWOPTask.model_fields}
        task = QWOPTask(**{name: value for name, value in settings.items() if name in fields})
        return Capabilities(
            decisions_per_second=task.decisions_per_second,
            idle_start=True,
            deterministic=not task.delay,
            runs=True,
            keys=True,
            saved_games=cls.compiled,
            original=cls.original,
            action_names=ACTIONS,
            observation_names=task.observation_names,
            feature_names=task.feature_names,
            settings=dict(task),
        )

    def __init__(self, render_mode: str | None, task: dict[str, Any]) -> None:
        self.task = QWOPTask(**task)
        require_render_mode(render_mode, self.metadata)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": self.task.decisions_per_second}
        self.observation_space = self.task.observation_space
        self.action_space = gymnasium.spaces.Discrete(len(ACTION_KEYS))
        self._keys = 0
        self._late = False
        self._needs_reset = _NO_GAME
        self._delays = np.random.default_rng()
        self._drawing: Drawing | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        self._require_open()
        if options is not None and not isinstance(options, Mapping):
            raise BadInput(f"options={options!r:.60}: expected a dictionary, or None")
        if isinstance(seed, bool):  # which Gymnasium takes for 0 or 1
            raise BadInput(f"seed={seed}: expected a whole number, at least 0, or None")
        super().reset(seed=seed)
        most = self.task.max_idle_frames
        idle = int(self.np_random.integers(0, most, endpoint=True)) if most else 0
        idle = idle_frames_of(options, idle)
        if seed is not None:
            (self._delays,) = self.np_random.spawn(1)
        self._keys, self._late = 0, False
        observation = self._begin(idle)
        self._needs_reset = ""
        return observation, self._info()

    def step(self, action: Any) -> GameStep:
        number = number_below(len(_KEYS), "action", action)
        self._require_game()
        before, self._keys = self._keys, _KEYS[number]
        self._late = self.task.delay > 0 and self._delays.random() < self.task.delay
        first = before if self._late else self._keys
        return self._after(self._play(first, self._keys, self.task.frames_per_step))

    def advance(self, keys: int) -> GameStep:
        """Play one frame with any keys down (Q = 1, W = 2, O = 4, P = 8); return what `step` does."""
        bits = number_below(ALL_KEYS, "keys", keys)
        self._require_game()
        self._keys, self._late = bits, False
        return self._after(self._play(bits, bits, 1))

    def _require_open(self) -> None:
        if self._needs_reset == _CLOSED:
            raise gymnasium.error.ClosedEnvironmentError("the game is closed: make a new one")

    def _require_game(self) -> None:
        self._require_open()
        if self._needs_reset:
            raise gymnasium.error.ResetNeeded(f"{self._needs_reset}: call reset before the next step")

    def _after(self, step: GameStep) -> GameStep:
        if step[2] or step[3]:
            self._needs_reset = "the game has ended"
        return step

    def get_keys_to_action(self) -> dict[tuple[int, ...], int]:
        """Return the action of each combination of keys, for `gymnasium.utils.play.play(env, noop=10)`."""
        return {tuple(map(ord, name)): action for action, name in enumerate(ACTIONS) if name != "none"}

    @property
    def state(self) -> NDArray[np.float64]:
        """Current bodies, float64 [14, 6], as `replay` gives them."""
        raise NotImplementedError

    @property
    def events(self) -> NDArray[np.float64]:
        """Current events, float64 [6], in the order of `names.EVENT_COLUMNS`."""
        raise NotImplementedError

    def render(self) -> NDArray[np.uint8] | None:
        """Return a picture, uint8 [400, 640, 3]; None for an environment made without render_mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("nothing to render: make the environment with render_mode='rgb_array'")
        self._require_open()
        if self._needs_reset == _NO_GAME:
            raise gymnasium.error.ResetNeeded(f"{_NO_GAME}: call reset before the first picture")
        if self.render_mode is None:
            return None
        self._drawing = self._drawing or Drawing()
        info = self._info()
        return self._drawing.picture(self.state, metres=info["score"], seconds=info["time"], keys=self._keys)

    def close(self) -> None:
        self._needs_reset = _CLOSED

    def _begin(self, idle: int) -> NDArray[Any]:
        """Begin a game with `idle` frames without a key; return the observation then."""
        raise NotImplementedError

    def _play(self, first: int, keys: int, frames: int) -> GameStep:
        """Play some frames, with the keys `first` down in the first of them and `keys` in the others."""
        raise NotImplementedError

    def _info(self) -> dict[str, Any]:
        raise NotImplementedError

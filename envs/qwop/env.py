"""QWOP as a Gymnasium environment, and the part that it shares with the one in the original's page."""

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ..actions import number_below
from ..engine import batch
from ..engine import layout as at
from ..names import ACTION_KEYS, ACTIONS, OUTCOMES
from ..pictures.drawing import Drawing
from ..spec import Capabilities
from ..vector import require_render_mode
from .session import checked_keys
from .task import FRAMES_A_SECOND, GameArrays, QWOPTask, idle_frames_of, infos_of

GameStep = tuple[NDArray[Any], float, bool, bool, dict[str, Any]]

_NO_GAME, _CLOSED = "no game has begun", "closed"

_KEYS = tuple(ACTION_KEYS.tolist())
_EVERY = np.ones(1, dtype=np.bool_)


class QWOPBase(gymnasium.Env[NDArray[Any], np.int64]):
    """One game, decision by decision. Subclasses play it: `_begin`, `_play`, `_info`, `state`, `events`.

    `task` are settings of `QWOPTask`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": FRAMES_A_SECOND}  # noqa: RUF012  (Gymnasium's form)

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
        bits = number_below(16, "keys", keys)
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


class QWOPEnv(QWOPBase):
    """`QWOP-v1`: run 100 metres with the four keys of QWOP, in a simulator that follows the original game.

    Observation ("features"): float32 [71], in the order of `qwop.envs.names.FEATURES` (that of the published
    recordings). Lengths are units (10 to a metre, y downwards), speeds units a second, angles radians; x is relative to
    the torso.

    | index | name | unit |
    |---|---|---|
    | 0-4 | head: angle, velocity_x, velocity_y, position_x, position_y | rad, u/s, u/s, u, u |
    | 5-10 | joints: leftAnkle, leftElbow, leftHip, leftKnee, leftShoulder, neck | rad |
    | 11-15 | joints: rightAnkle, rightElbow, rightHip, rightKnee, rightShoulder | rad |
    | 16-20 | leftArm: angle, velocity_x, velocity_y, position_x, position_y | rad, u/s, u/s, u, u |
    | 21-25, 26-30, 31-35, 36-40 | leftCalf, leftFoot, leftForearm, leftThigh: the same five | |
    | 41-45, 46-50, 51-55, 56-60, 61-65 | rightArm, rightCalf, rightFoot, rightForearm, rightThigh | |
    | 66-70 | torso: the same five; its position_x, 69, is always 0 | |

    Observation ("full"): float32 [94], those 71 and then, in the order of `qwop.envs.names.FULL_FEATURES`:

    | index | name | within | unit |
    |---|---|---|---|
    | 71-82 | angular_velocity of the 12 bodies, in the order of `names.BODIES` | | rad/s |
    | 83 | hurdle.distance: of its top from the torso, ahead is positive; 2.5 if far | −1.5, 2.5 | m |
    | 84 | hurdle.near: 1 if it is nearer than those limits; if 0, the next four are 0 too | 0, 1 | |
    | 85 | hurdle.angle: of its top | −4, 4 | rad |
    | 86 | hurdle.height: position_y of its top − 5 | −10, 10 | u |
    | 87 | hurdle.velocity_x: of its top | −10, 10 | m/s |
    | 88 | hurdle.lean: x of its base − x of its top | −10, 10 | u |
    | 89 | finish.distance: of the line from the torso | −1, 4 | m |
    | 90 | finish.jumped: 1 once the last jump has begun | 0, 1 | |
    | 91 | hidden.head_torque: torque that the game has accumulated on the head, in 100 N·m | −10, 10 | |
    | 92, 93 | hidden.left_hip_out, hidden.right_hip_out: the limits that O or P set last | 0, 1 | |

    Observation ("contact"): float32 [112], those 94 and then, in the order of `qwop.envs.names.CONTACT_FEATURES`, nine
    of the left foot and nine of the right one. They show when a foot is about to touch the track:

    | index | name | within | unit |
    |---|---|---|---|
    | 94, 103 | heel.height: of the foot's lower rear corner above the track | −1, 3 | u |
    | 95, 104 | heel.touch: the same, ten times as large, where it is about to touch | −0.5, 1.5 | 0.1 u |
    | 96-97, 105-106 | heel.velocity_x, velocity_y: of that corner | | u/s |
    | 98-101, 107-110 | toe: the same four of the lower front corner | | |
    | 102, 111 | seam: from the nearest seam between two boxes of the track to the foot's centre | −3, 3 | u |

    Observation ("pixels"): uint8, a small picture of the runner and the track, [size, size]; with `colour`
    [size, size, 3], with a `stack` of more than one [stack, size, size] or [stack, size, size, 3], oldest first. The
    view is 2.2 m wide and follows the torso; a bar along the top grows over the 100 m.

    Action: Discrete(11), the keys held for the decision.

    | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 |
    |---|---|---|---|---|---|---|---|---|---|---|
    | qw | qo | qp | q | wo | wp | w | op | o | p | none |

    Settings of the task: see `qwop.envs.qwop.task.QWOPTask`. `reset(options={"idle_frames": k})` begins the game with k
    frames without a key, instead of a number drawn up to `max_idle_frames`.

    Ends: `terminated` when the game ends (the runner fell or the jump landed), `truncated` at the time limit. Raises
    BadInput for wrong settings.

    | info | unit | meaning |
    |---|---|---|
    | distance | m | the torso's x |
    | score | m | the game's own score |
    | clock | s | the game clock, 30 frames a second |
    | time | s | from the first key down to now; 0 before |
    | frames | frames | played in this step (at a reset: the idle ones) |
    | idle_frames | frames | without a key at the start of this game |
    | late | | True if this decision's keys came a frame late |
    | outcome | | running, finished (landed with a score of at least 100), fell, stopped (time limit) |

    Version history: v1, first.
    """

    original = "QWOPOriginal-v1"
    compiled = True

    def __init__(self, render_mode: str | None = None, **task: Any) -> None:
        super().__init__(render_mode, task)
        self._games = games = GameArrays(self.task, 1)
        # The one row of each array, taken once: making a view costs more than the bookkeeping of a frame.
        self._counters, self._numbers, self._orders = games.counters[0], games.numbers[0], games.orders[0]
        self._observation: NDArray[np.float32] = games.observations[0]

    @property
    def state(self) -> NDArray[np.float64]:
        return self._games.states.reshape(14, 6)

    @property
    def events(self) -> NDArray[np.float64]:
        return self._games.events.reshape(6)

    @property
    def hidden(self) -> NDArray[np.float64]:
        """Current numbers that bodies and events do not show, float64 [3], in the order of `names.HIDDEN_COLUMNS`."""
        limits = (at.JOINT + at.JOINT_REALS * hip + at.LOWER for hip in (at.LEFT_HIP, at.RIGHT_HIP))
        return self._games.reals[0, [at.HEAD_TORQUE, *limits]]

    def get_state(self) -> dict[str, Any]:
        """Return all state that decides the game's future, for `set_state`, including future idle frames and delays."""
        return {
            **self.save_game(),
            "generator": self.np_random.bit_generator.state,
            "delays": self._delays.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> NDArray[Any]:
        """Restore what `get_state` of any environment with the same settings gave; return the observation there."""
        self._require_open()
        self._games.restore_row(0, state)
        self._keys = state["keys"]
        self.np_random.bit_generator.state = state["generator"]
        self._delays.bit_generator.state = state["delays"]
        over = self._counters[batch.TERMINATED] or self._counters[batch.TRUNCATED]
        self._needs_reset = "the game has ended" if over else ""
        return self._current()

    def continue_from(self, page: Mapping[str, NDArray[Any]], keys: NDArray[np.uint8]) -> None:
        """Continue a game from the state of its page (`Session.get_state`) after these keys, uint8 [n], one a frame.

        The observation follows with the next frame.
        """
        self._require_open()
        keys = checked_keys(keys)
        self._games.reset(np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.int64))
        self._games.reals[0], self._games.integers[0] = page["reals"], page["integers"]
        self._needs_reset = ""
        pressed = np.flatnonzero(keys)
        # The frame that a reset plays counts as the first.
        self._counters[batch.FRAMES] = 1 + len(keys)
        self._counters[batch.FIRST_KEY] = 2 + pressed[0] if len(pressed) else 0
        self._keys = int(keys[-1]) if len(keys) else 0
        self._look(is_first=True)

    def save_game(self) -> dict[str, Any]:
        """Return the game as it is now, for `QWOPVectorEnv.put_game`."""
        return {**self._games.saved_row(0), "keys": self._keys}

    def _begin(self, idle: int) -> NDArray[Any]:
        self._games.reset(np.ones(1, dtype=np.bool_), np.array([idle], dtype=np.int64))
        self._look(is_first=True)
        return self._current()

    def _play(self, first: int, keys: int, frames: int) -> GameStep:
        self._orders[batch.FIRST_KEYS_DOWN] = first
        self._orders[batch.KEYS_DOWN] = keys
        self._orders[batch.FRAMES_TO_PLAY] = frames
        self._games.play(0, 1, False, *self._games.workspace)
        self._look(is_first=False)
        numbers, counters = self._numbers.tolist(), self._counters.tolist()
        reward, ended, stopped = numbers[batch.REWARD], counters[batch.TERMINATED] != 0, counters[batch.TRUNCATED] != 0
        return self._current(), reward, ended, stopped, self._described(numbers, counters)

    def _look(self, is_first: bool) -> None:
        if self._games.pictures is not None:
            self._games.pictures.draw(self._games.reals, _EVERY, _EVERY if is_first else ~_EVERY)

    def _current(self) -> NDArray[Any]:
        if self._games.pictures is not None:
            picture: NDArray[np.uint8] = self._games.observed()[0]
            return picture
        return self._observation.copy()

    def _info(self) -> dict[str, Any]:
        return self._described(self._numbers.tolist(), self._counters.tolist())

    def _described(self, numbers: list[float], counters: list[int]) -> dict[str, Any]:
        return {
            **infos_of(numbers, counters), "late": self._late, "outcome": OUTCOMES[counters[batch.OUTCOME]],
        }  # fmt: skip

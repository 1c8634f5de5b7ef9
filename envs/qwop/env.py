"""QWOP as a Gymnasium environment."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import batch
from ..engine import layout as at
from ..names import OUTCOMES
from .base import GameStep, QWOPBase
from .session import checked_keys
from .task import GameArrays, infos_of

_EVERY = np.ones(1, dtype=np.bool_)


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

"""QWOP as the stage of a coached game: frame by frame, with states to go back to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...datasets.from_keys import decision_action, episode_from_keys
from ...datasets.schema import DatasetInfo, Episode
from ...envs.names import ACTION_KEYS, FRAMES_A_SECOND
from ...envs.pictures.frame_rows import ROW, rows_of_states
from ...envs.qwop.env import QWOPEnv
from ...envs.qwop.pixels import observe_pictures
from ...envs.qwop.task import PIXELS, QWOPTask
from ..live_game import FrameByFrame
from ..page import messages
from .stage import Decision, Facts


class QwopStage(FrameByFrame):
    """See `Stage`. info: the dataset's description, of the policy's environment. idle: frames before the first
    decision."""

    fps = float(FRAMES_A_SECOND)

    def __init__(self, info: DatasetInfo, idle: int) -> None:
        self._info = info
        self.task = QWOPTask(**info.environment.settings)
        self.frames_per_step = self.task.frames_per_step
        self._pictures = self.task.observation == PIXELS
        plain: dict[str, Any] = {
            "frames_per_step": 1,
            "observation": "features" if self._pictures else self.task.observation,
            **{name: getattr(self.task, name) for name in ("observation_lag", "reward", "time_limit")},
            **self.task.prices,
        }
        super().__init__(QWOPEnv(**plain), idle)
        self._rewards: list[float] = [0.0] * idle
        self._seen: list[NDArray[np.float64]] = []

    @property
    def frame(self) -> int:
        return len(self.keys)

    def observe(self) -> NDArray[Any]:
        if not self._pictures:
            return self._observation
        self._seen.append(self.env.state)
        task = self.task
        recent = np.stack(self._seen[-task.stack :])
        seen: NDArray[Any] = observe_pictures(recent, stack=task.stack, size=task.size, colour=task.colour)[-1]
        return seen

    def play(self, held: int, action: int | None) -> None:
        keys = held if action is None else int(ACTION_KEYS[action])
        self._observation, reward, *_, self.info = self.env.advance(keys)
        self.keys.append(keys)
        self._rewards.append(float(reward))

    def chosen(self, first: int) -> tuple[int, float]:
        return decision_action(np.array(self.keys[first:], dtype=np.uint8)), sum(self._rewards[first:])

    def mark(self) -> Any:
        return self.env.get_state(), self._observation, self.info, len(self.keys), len(self._seen)

    def go_back(self, mark: Any) -> None:
        state, self._observation, self.info, frames, seen = mark
        self.env.set_state(state)
        del self.keys[frames:], self._rewards[frames:], self._seen[seen:]

    def result(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "metres": self.metres, "seconds": self.seconds}

    def episode(self, decisions: Sequence[Decision], facts: Facts) -> Episode:
        return episode_from_keys(
            self.keys, self._info, player=facts.player, source=facts.source, epsilon=facts.epsilon, origin=facts.origin,
            bounds=[*(one.frame for one in decisions), len(self.keys)],
        )  # fmt: skip

    def shown(self) -> Any:
        figures = np.array([[self.metres, self.seconds, self.last_keys]])
        return rows_of_states(self.state[None], figures)[0]

    def message(self, number: int, first: int, frames: Sequence[NDArray[np.float32]]) -> bytes:
        """See `Stage`: rows of numbers, which the page draws."""
        return messages.frames(number, first, np.stack(frames) if frames else np.empty((0, ROW), dtype="<f4"))

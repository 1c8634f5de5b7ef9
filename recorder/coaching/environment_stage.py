"""Any Gymnasium environment as the stage of a coached game: a frame is a decision."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.schema import DatasetInfo, Episode
from ...envs.actions import Env
from ..page import messages
from ..page.environment_keys import KeyMap
from ..page.environment_play import EnvironmentPlay
from .stage import Decision, Facts

REPEATED = 50
"""Decisions that are played twice to see if games can go back."""


class EnvironmentStage:
    """See `Stage`. It goes back by playing again from the seed, which needs no environment that can be copied; one
    whose observations then differ cannot go back.

    keys: the actions of a person's keys; None: the bits of `held` are the action's number plus 1.
    """

    frames_per_step = 1

    def __init__(self, env: Env, keys: KeyMap | None, info: DatasetInfo, seed: int, fps: float) -> None:
        self.game = EnvironmentPlay(env, info, seed)
        self._keys, self._info, self.fps = keys, info, fps

    @property
    def frame(self) -> int:
        return len(self.game.actions)

    @property
    def over(self) -> bool:
        return self.game.over

    def observe(self) -> NDArray[Any]:
        return self.game.observations[-1]

    def play(self, held: int, action: int | None) -> None:
        if action is None:
            action = self._meant(held)
        if action is not None:
            self.game.step(action)

    def _meant(self, held: int) -> int | None:
        if self._keys is None:
            return held - 1 if held else None
        return self._keys.action(held)

    def chosen(self, first: int) -> tuple[int, float]:
        return self.game.actions[first], sum(self.game.rewards[first:])

    def mark(self) -> Any:
        return self.frame

    def go_back(self, mark: Any) -> None:
        """See `Stage`. A game that cannot go back is over there, with all that was played."""
        try:
            self.game = self.game.again(mark)
        except BadInput:
            self.game.truncated = True
            raise

    def result(self) -> dict[str, Any]:
        return self.game.result()

    def episode(self, decisions: Sequence[Decision], facts: Facts) -> Episode:
        return self.game.episode(facts.player, facts.source, facts.epsilon, facts.origin)

    def shown(self) -> None:
        """See `Stage`: nothing, for only the last picture is sent."""

    def message(self, number: int, first: int, frames: Sequence[None]) -> bytes:
        """See `Stage`: the environment's own picture, after the last of the frames."""
        last = first + len(frames) - 1
        return messages.picture(number, last, sum(self.game.rewards), self.game.picture())


def repeats_games(env: Env, info: DatasetInfo) -> bool:
    """True if the same seed and actions give the same observations twice, so that its games can go back."""
    game = EnvironmentPlay(env, info, seed=1)
    for action in np.random.default_rng(0).integers(info.actions, size=REPEATED).tolist():
        game.step(action)
        if game.over:
            break
    try:
        game.again(len(game.actions))
    except BadInput:
        return False
    return True

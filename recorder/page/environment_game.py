"""A game of any Gymnasium environment on the page, which shows the environment's own pictures."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from ...common.checks import quoted
from ...common.shared_settings import LARGEST_SEED
from ...datasets.schema import DatasetInfo, Episode
from ...envs.actions import Env
from . import messages
from .environment_keys import KeyMap
from .environment_play import EnvironmentPlay


class EnvironmentGame:
    """Plays a game of an environment from a reset with a seed of its own; see `PageGame`.

    A frame is a decision. Without a matching key or a default action it is skipped: the game waits for the player. env
    renders `rgb_array` and is played by one game at a time. If it fails, the game ends as truncated with the
    decision before, and `report` is called with the reason.
    """

    def __init__(
        self,
        env: Env,
        keys: KeyMap,
        info: DatasetInfo,
        player: str,
        epsilon: float,
        report: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._keys, self._info, self._player, self._epsilon = keys, info, player, epsilon
        self._report, self._problem = report, ""
        self._play = EnvironmentPlay(env, info, secrets.randbelow(LARGEST_SEED + 1))
        self._pressed = False
        self._frames = 0

    @property
    def over(self) -> bool:
        return self._play.over

    @property
    def played(self) -> bool:
        return self._pressed and bool(self._play.actions)

    def first(self, number: int) -> bytes:
        return messages.picture(number, 0, 0.0, self._play.picture())

    def advance(self, number: int, keys: Sequence[int]) -> bytes:
        before = len(self._play.actions)
        for held in keys:
            if self.over:
                break
            self._frames += 1
            self._pressed = self._pressed or held > 0
            if (action := self._keys.action(held)) is not None:
                self._step(action)
        seen = self._play.picture() if len(self._play.actions) > before else b""
        return messages.picture(number, self._frames, sum(self._play.rewards), seen)

    def result(self) -> dict[str, Any]:
        found = self._play.result()
        return {**found, "problem": self._problem} if self._problem else found

    def episode(self) -> Episode:
        return self._play.episode(self._player, "page", self._epsilon)

    def so_far(self) -> Episode | None:
        return self.episode() if self.played else None

    def _step(self, action: int) -> None:
        try:
            self._play.step(action)
        except Exception as error:  # of any environment
            self._play.truncated = True
            self._problem = quoted(error, 300) or type(error).__name__
            self._report(f"{self._problem}; the game is kept up to the {len(self._play.actions)} decisions before")

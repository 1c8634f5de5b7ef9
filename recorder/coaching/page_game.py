"""A coached game on the page."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ...common.checks import quoted
from ...common.errors import BadInput
from ...datasets.schema import Episode
from ..page import messages
from .game import CoachedGame
from .qwop_stage import QwopStage


class CoachedPageGame:
    """Shows a coached game; see `PageGame`. back: seconds that one goes back at a time; 0: it cannot go back.

    report: called with what went wrong in an environment.
    """

    def __init__(self, game: CoachedGame, back: float, report: Callable[[str], None] = lambda text: None) -> None:
        self._game, self._back, self._report = game, back, report
        self._lock = threading.Lock()  # between the play and the copies of the game
        self._held = 0
        self._shown = 0
        self._told: tuple[bool, bool] | None = None
        self._problem = ""

    @property
    def over(self) -> bool:
        return self._game.over or bool(self._problem)

    @property
    def played(self) -> bool:
        return not self._game.recorded

    def result(self) -> dict[str, Any]:
        return {**self._game.stage.result(), **({"problem": self._problem} if self._problem else {})}

    def episode(self) -> Episode:
        with self._lock:
            return self._game.record()

    def so_far(self) -> Episode | None:
        with self._lock:
            return None if self._game.recorded else self._game.episode()

    def go_back(self) -> Episode | None:
        """Return to an earlier state; the line that is left, if it is not in an episode yet."""
        self._shown, self._told = 0, None
        if not self._back or self._problem:
            return None
        try:
            with self._lock:
                return self._game.go_back(self._back, self._held)
        except BadInput as error:
            self._fail(str(error))
            return None

    def hand_over(self) -> None:
        """Give control to the other side."""
        self._game.hand_over(self._held)

    def news(self, number: int) -> str | None:
        """Message about who has control; None if it was told already."""
        control = self._game.control
        now = control.person, control.waiting
        if now == self._told:
            return None
        self._told = now
        return messages.encode(type="control", game=number, person=control.person, waiting=control.waiting)

    def first(self, number: int) -> bytes:
        return self._game.stage.message(number, 0, [self._game.stage.shown()])

    def advance(self, number: int, keys: Sequence[int]) -> bytes:
        stage, first, seen = self._game.stage, self._shown + 1, []
        for held in keys:
            if self.over:
                break
            self._held = held
            with self._lock:
                self._play(held)
            seen.append(stage.shown())
        self._shown += len(seen)
        return stage.message(number, first, seen)

    def _play(self, held: int) -> None:
        try:
            self._game.frame(held)
        except Exception as error:  # of any environment
            if isinstance(self._game.stage, QwopStage):
                raise
            self._fail(quoted(error, 300) or type(error).__name__)

    def _fail(self, problem: str) -> None:
        """End the game because of its environment."""
        self._problem = problem
        self._report(f"{problem}; the game is kept as far as it was played")

"""The games of one recording, reconstructed one after the other, as the page played them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...envs.engine import layout as at
from ...envs.engine import native, page
from ...envs.engine.bodies import CLOCK_TICK
from ...envs.qwop.session import GameStart, Opening, PlayedGame, Session
from ...envs.qwop.task import outcome_of
from ..from_keys import states_along
from ..schema import Episode
from .search import EFFECTIVE_KEYS, Explained, Game, Search

RESETS = (1, 2, 3)
"""Numbers of resets to try before a game: the recorder pressed two keys for a reset, which could cause two."""

LONGEST_WAIT = 3000
"""Numbers of frames to try before the first click: the first game of a page may have been reset before it."""

ENDING = 8
"""Frames after the last sample within which a recorded game has ended. Their keys are unknown: the last sample's keys
are held if the game ends with them, otherwise other keys."""

ENOUGH_TO_CHOOSE = 40
"""Samples that decide between the mathematical libraries: their roundings show after a few."""


@dataclass(frozen=True)
class ReconstructedGame:
    """A game of a recording, frame by frame.

    samples: of the recording. explained: how many of them, from the first on, the keys reproduce to the last bit; the
    first ones may show a game that was given up for another reset, whose keys `start` has. start, keys: what `replay`
    needs, keys uint8 [n] of the frames after the reset's. certain: how many of them the samples prove; those after end
    the game as it ended, see `ENDING`.
    """

    samples: int
    explained: int
    start: GameStart
    keys: NDArray[np.uint8]
    certain: int

    @property
    def whole(self) -> bool:
        return self.explained == self.samples


@dataclass(frozen=True)
class _Attempt:
    """A search from one opening on one page."""

    explanation: Explained
    before: tuple[PlayedGame, ...]
    resets: int
    waiting: int


class RecordingSearch:
    """Reconstructs the games of a recording in their order; each continues the page that played those before it.

    frames: that usually pass between samples. Games that are known already are taken with `continue_after`.
    """

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._search = Search("fdlibm", frames)
        self._is_chosen = False
        self._before: tuple[PlayedGame, ...] | None = ()
        self._resets = 1

    def continue_after(self, episode: Episode, samples: NDArray[np.float64]) -> None:
        """Continue after a game that was reconstructed earlier. samples: of the recording's game, float64 [n, 71]; if
        the episode's last frames do not show the last one, the page that it left is unknown."""
        start, keys = episode.start or GameStart(), episode.keys_of_frames
        self._search, self._is_chosen = Search(start.trigonometry, self._frames), True
        last = states_along(episode, range(max(len(keys) - ENDING - 1, 0), len(keys) + 1))
        away = [self._search.distances(state["reals"][None], samples[-1])[0] for state in last]
        self._carry_on(start, keys, min(away) == 0)

    def reconstruct(self, samples: NDArray[np.float64], *, outcome: str) -> ReconstructedGame:
        """The recording's next game, from its samples, float64 [n, 71], x relative, and the outcome after them."""
        if not self._is_chosen:
            self._search, self._is_chosen = Search(self._better_trigonometry(samples), self._frames), True
        attempt, abandoned = self._best(samples), 0
        if attempt.explanation.samples < len(samples):
            attempt, abandoned = self._after_another_reset(samples, attempt)
        game = self._complete(samples, attempt, abandoned, outcome)
        self._carry_on(game.start, game.keys, game.whole)
        return game

    def _carry_on(self, start: GameStart, keys: NDArray[np.uint8], whole: bool) -> None:
        # After a partly known game the state of the page is unknown.
        self._before = (*start.before, PlayedGame(keys, start.opening)) if whole else None
        self._resets = start.opening.resets

    def _better_trigonometry(self, samples: NDArray[np.float64]) -> str:
        """The library that explains more of the first samples; fdlibm if both explain all."""
        reached = {}
        for name in ("fdlibm", "current"):
            self._search = Search(name, self._frames)
            reached[name] = self._best(samples[:ENOUGH_TO_CHOOSE]).explanation.samples
            if reached[name] == len(samples[:ENOUGH_TO_CHOOSE]):
                break
        return max(reached, key=lambda name: reached[name])

    def _best(self, samples: NDArray[np.float64]) -> _Attempt:
        """The attempt that explains most: on the known page, else on a freshly loaded page."""
        pages = [self._before, ()] if self._before else [()]
        attempts: list[_Attempt] = []
        for before in pages:
            waiting: int | None = None
            for resets in (self._resets, *(number for number in RESETS if number != self._resets)):
                attempt = self._attempt(samples, before, resets, waiting or 0)
                if not before and waiting is None and _stuck_at_start(attempt.explanation, samples):
                    waiting = self._waiting(samples, attempt.explanation.samples)
                    attempt = self._attempt(samples, before, resets, waiting)
                place = attempt.explanation.samples
                if place == len(samples) or self._begins_anew(samples[place]):
                    return attempt
                attempts.append(attempt)
        return max(attempts, key=lambda one: one.explanation.samples)

    def _after_another_reset(self, samples: NDArray[np.float64], first: _Attempt) -> tuple[_Attempt, int]:
        """The first attempt, or one at the later samples if these show a new game, and where they begin. If a player
        resets the game by hand, the recording continues as if nothing had happened.
        """
        place, pressed = first.explanation.samples, first.explanation.keys()
        if not len(pressed) or not self._begins_anew(samples[place]):
            return first, 0
        given_up = PlayedGame(pressed[1:], Opening(first.resets, int(pressed[0]), first.waiting))
        again = self._attempt(samples[place:], (*first.before, given_up), 1)
        return (again, place) if again.explanation.samples > 2 else (first, 0)

    def _begins_anew(self, sample: NDArray[np.float64]) -> bool:
        """True if a sample shows the first frames of a game."""
        return self._search.comes_near(self._before_first_frame((), 1), sample)

    def _attempt(
        self, samples: NDArray[np.float64], before: tuple[PlayedGame, ...], resets: int, waiting: int = 0
    ) -> _Attempt:
        start = self._before_first_frame(before, resets)
        page.wait(start[0], waiting)
        return _Attempt(self._search.explain(samples, start), before, resets, waiting)

    def _waiting(self, samples: NDArray[np.float64], place: int) -> int:
        """The frames of waiting, without a key, that make the first sample which moves, at `place`; 0 if none do."""
        start = self._before_first_frame((), self._resets)
        reals, integers = np.repeat(start[0], LONGEST_WAIT, axis=0), np.repeat(start[1], LONGEST_WAIT, axis=0)
        for row in range(1, LONGEST_WAIT):
            reals[row, at.HEAD_TORQUE] = reals[row - 1, at.HEAD_TORQUE]
            page.wait(reals[row : row + 1], 1)
        for _ in range(2 * self._frames + 2):
            self._search.play((reals, integers), np.zeros(LONGEST_WAIT, dtype=np.uint8))
            away = self._search.distances(reals, samples[place])
            if away.min() == 0:
                return int(away.argmin())
        return 0

    def _before_first_frame(self, before: Sequence[PlayedGame], resets: int) -> Game:
        """The page after the last reset, before that plays its frame."""
        session = Session(self._search.trigonometry)
        for game in before:
            session.begin(game.opening)
            session.play(game.keys)
        if resets > 1:
            session.begin(Opening(resets - 1))
        state = session.get_state()
        reals, integers = state["reals"][None], state["integers"][None]
        native.call("reset_page", reals[0], integers[0], trigonometry=self._search.trigonometry)
        return reals, integers

    def _complete(
        self, samples: NDArray[np.float64], attempt: _Attempt, abandoned: int, outcome: str
    ) -> ReconstructedGame:
        """The game of an attempt, with keys after the last sample that end it."""
        explanation = attempt.explanation
        pressed = explanation.keys()
        first, keys = (int(pressed[0]), pressed[1:]) if len(pressed) else (0, pressed)
        certain = len(keys)
        explained = abandoned + explanation.samples
        if explained == len(samples) and len(pressed):
            keys = np.concatenate([keys, self._ending(explanation.last, int(pressed[-1]), outcome)])
        return ReconstructedGame(
            samples=len(samples),
            explained=explained,
            start=GameStart(attempt.before, Opening(attempt.resets, first, attempt.waiting), self._search.trigonometry),
            keys=keys,
            certain=certain,
        )

    def _ending(self, last: Game, last_keys: int, outcome: str) -> NDArray[np.uint8]:
        """The keys of the frames after the last sample; empty if no held keys end the game as recorded."""
        order = np.concatenate([[last_keys], EFFECTIVE_KEYS[last_keys != EFFECTIVE_KEYS]]).astype(np.uint8)
        reals, integers = np.repeat(last[0], len(order), axis=0), np.repeat(last[1], len(order), axis=0)
        for _ in range(ENDING):
            self._search.play((reals, integers), order)
        ended = [outcome_of(row[at.EVENTS : at.EVENTS + 6]) == outcome for row in reals]
        frames = np.rint((reals[:, at.CLOCK] - last[0][0, at.CLOCK]) / CLOCK_TICK).astype(int)
        if not any(ended):
            return np.empty(0, dtype=np.uint8)
        choice = int(np.argmax(ended))
        return np.full(frames[choice], order[choice], dtype=np.uint8)


def _stuck_at_start(explanation: Explained, samples: NDArray[np.float64]) -> bool:
    """True if only samples of the start are explained, though there are more."""
    return len(explanation.candidates) == 1 and 0 < explanation.samples < len(samples)

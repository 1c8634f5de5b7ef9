"""`source=keyboard`: a person plays the game in a window, in real time."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ...common.errors import BadInput
from ...datasets.schema import DatasetInfo, Episode
from ...datasets.writer import DESCRIPTION, read_info, require_same
from ...envs.pictures.drawing import Drawing
from ...envs.qwop.task import FRAMES_A_SECOND
from ..page.live import LiveGame
from ..person import episode_of, person_info
from ..settings import KeyboardSettings
from ..source import Source
from .hearing import advice, hearing
from .held import HeldKeys
from .window import Window

_FRAME = 1 / FRAMES_A_SECOND

_DEAF_AFTER = 1.0
"""Seconds after which a key that the window was given and pynput did not hear means that pynput hears nothing."""

_LATE = 0.25
"""Seconds that the game makes up for when the machine was busy; beyond, it goes on later instead."""


def open_keyboard(settings: KeyboardSettings, folder: Path) -> Source:
    """The games played in the window that this opens, each given as soon as it has ended.

    Returns when the first key was heard. BadInput, saying why and what to do, where none can be, and for settings that
    cannot be.
    """
    info = person_info(settings.frames_per_step, settings.reward, settings.observation_lag)
    info.environment.make()  # is refused now rather than when the first game has ended
    if (folder / DESCRIPTION).exists():
        require_same(read_info(folder), info, folder)
    with ExitStack() as opened:
        held = opened.enter_context(hearing())
        LiveGame().advance([0])  # compiles the engine where that is still to be done, rather than in the first game
        drawing = Drawing()
        window = opened.enter_context(Window("qwop", drawing.width, drawing.height))
        _probe(window, held, drawing)
        rest = opened.pop_all()
    return Source(
        info=info,
        episodes=_episodes(rest, window, held, drawing, settings, info),
        total=settings.episodes,
        notes=["the keyboard is heard; Q, W, O, P to run, R to begin again, Esc (or Ctrl-C here) when you are done"],
    )


def _probe(window: Window, held: HeldKeys, drawing: Drawing) -> None:
    """Wait for a first key. BadInput where the window is given one that pynput does not hear, or is closed."""
    missed_at, game = None, LiveGame()
    while not held.presses:
        _draw(window, drawing, game, 0, "Press any key: is the keyboard heard?")
        if window.closed:
            raise BadInput("the window was closed before a key was heard; nothing was recorded")
        if window.pressed and missed_at is None:
            missed_at = time.monotonic()
        if missed_at is not None and time.monotonic() - missed_at > _DEAF_AFTER:
            raise BadInput(f"the window is given keys, but pynput hears none: {advice()}")
        time.sleep(_FRAME)
    held.others()


def _episodes(
    opened: ExitStack,
    window: Window,
    held: HeldKeys,
    drawing: Drawing,
    settings: KeyboardSettings,
    info: DatasetInfo,
) -> Iterator[Episode]:
    recorded = 0
    with opened:
        player = _Player(window, held, drawing)
        while settings.episodes is None or recorded < settings.episodes:
            game = player.next_game()
            if game.played:
                recorded += 1
                yield episode_of(
                    game.keys,
                    info,
                    player=settings.player,
                    source="keyboard",
                    epsilon=settings.epsilon,
                    stopped_by_limit=game.stopped_by_limit,
                )
            if player.done:
                return


class _Player:
    """The person at the window. done: whether they want no other game."""

    def __init__(self, window: Window, held: HeldKeys, drawing: Drawing) -> None:
        self._window, self._held, self._drawing = window, held, drawing
        self._last, self._ended = LiveGame(), ""
        self.done = False

    def next_game(self) -> LiveGame:
        """A game played in real time, from the first of its keys until it is over or left."""
        if self._ended:
            self._wait_for_again()
        game = LiveGame()
        keys = self._wait_for_key(game)
        due = time.monotonic()
        while not (self.done or game.over or self._wants_another()):
            if self._paused(game):
                due, keys = time.monotonic(), self._held.frame()
                continue
            game.advance([keys])
            due = max(due + _FRAME, time.monotonic() - _LATE)
            if time.monotonic() < due:  # a frame that is late is not drawn
                _draw(self._window, self._drawing, game, keys)
            else:
                self._window.refresh()
            time.sleep(max(0.0, due - time.monotonic()))
            keys = self._held.frame()
        told = game.summary()
        self._last = game
        self._ended = f"{told['outcome']}: {told['metres']:.1f} m in {told['seconds']:.2f} s" if game.over else ""
        return game

    def _wants_another(self) -> bool:
        """Whether R (or space) was pressed; hears of Esc and of the closed window as well."""
        pressed = self._held.others() if self._window.focused else []
        self.done = self.done or self._window.closed or "esc" in pressed
        return any(name in ("r", "space") for name in pressed)

    def _wait_for_again(self) -> None:
        while not (self.done or self._wants_another()):
            _draw(self._window, self._drawing, self._last, 0, f"{self._ended}\nR: again    Esc: done")
            time.sleep(_FRAME)

    def _wait_for_key(self, game: LiveGame) -> int:
        """The keys of the game's first frame."""
        self._held.frame()
        while not self.done:
            _draw(self._window, self._drawing, game, 0, "Q, W, O, P to run")
            time.sleep(_FRAME)
            self._wants_another()
            keys = self._held.frame()
            if keys and self._window.focused:
                return keys
        return 0

    def _paused(self, game: LiveGame) -> bool:
        """Whether the keys are meant for another window now; the game waits."""
        if self._window.focused or self._window.closed:
            return False
        _draw(self._window, self._drawing, game, 0, "waiting: click here to go on")
        time.sleep(_FRAME)
        self._held.forget()
        return True


def _draw(window: Window, drawing: Drawing, game: LiveGame, keys: int, text: str = "") -> None:
    if window.closed:
        return
    told = game.summary()
    picture = drawing.picture(game.state, metres=float(told["metres"]), seconds=float(told["seconds"]), keys=keys)
    window.show(picture, text)

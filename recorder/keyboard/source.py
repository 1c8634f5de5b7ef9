"""`source=keyboard`: a person plays in a window, in real time."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from ...common.errors import BadInput
from ...datasets.from_keys import episode_from_keys
from ...datasets.schema import Episode
from ...envs.pictures.drawing import Drawing
from ...envs.qwop.task import FRAMES_A_SECOND
from ..game_writer import GameWriter
from ..settings import KeyboardSettings
from ..source import Source, info_for
from .held_keys import HeldKeys
from .listener import advice, listening
from .live_game import LiveGame
from .window import Window

_FRAME = 1 / FRAMES_A_SECOND

_UNHEARD_AFTER = 1.0
"""Seconds after which a key seen by the window but not by pynput means that pynput cannot listen to the keyboard."""

_MAX_LAG = 0.25
"""Largest delay in seconds that the game catches up after the machine was busy; the rest is skipped."""


def open_keyboard(settings: KeyboardSettings, folder: Path) -> Source:
    """Open a window; the games played in it are yielded as they end.

    Returns once a first key was heard. Raises BadInput if no key can be heard, saying why and what to do, and for
    invalid settings.
    """
    info = info_for(settings, folder)
    with ExitStack() as opened:
        held = opened.enter_context(listening())
        LiveGame().advance(0)  # compiles the engine now if necessary, rather than during the first game
        drawing = Drawing()
        window = opened.enter_context(Window("qwop", drawing.width, drawing.height))
        _probe(window, held, drawing)
        rest = opened.pop_all()
    player = _Player(window, held, drawing)

    def episode(game: LiveGame) -> Episode:
        return episode_from_keys(
            [*game.keys],  # which may grow meanwhile
            info,
            player=settings.player,
            source="keyboard",
            epsilon=settings.epsilon,
        )

    def play(games: GameWriter) -> None:
        recorded = 0
        player.follow = lambda game: games.note(None, lambda: episode(game) if game.played else None)
        while not player.done and (settings.episodes is None or recorded < settings.episodes):
            game = player.next_game()
            if game.played:
                recorded += 1
                games.write(episode(game))

    def finish() -> list[Episode]:
        rest.close()
        left = player.under_way
        return [episode(left)] if left is not None and left.played else []

    return Source(
        info=info,
        play=play,
        total=settings.episodes,
        notes=["the keyboard works; Q, W, O, P to run, R to restart, Esc (or Ctrl-C here) when you are done"],
        finish=finish,
    )


def _probe(window: Window, held: HeldKeys, drawing: Drawing) -> None:
    """Wait for a first key. BadInput if one reaches the window but not pynput, or if the window is closed."""
    missed_at, game = None, LiveGame()
    while not held.presses:
        _draw(window, drawing, game, "Press any key to test the keyboard")
        if window.closed:
            raise BadInput("the window was closed before a key was heard; nothing was recorded")
        if window.pressed and missed_at is None:
            missed_at = time.monotonic()
        if missed_at is not None and time.monotonic() - missed_at > _UNHEARD_AFTER:
            raise BadInput(f"keys reach the window, but pynput hears none: {advice()}")
        time.sleep(_FRAME)
    held.other_presses()


class _Player:
    """The person at the window.

    done: true once they want no further game. under_way: the game that they play and have not left. follow: called
    after each of its frames.
    """

    def __init__(self, window: Window, held: HeldKeys, drawing: Drawing) -> None:
        self._window, self._held, self._drawing = window, held, drawing
        self._last, self._result = LiveGame(), ""
        self.done = False
        self.under_way: LiveGame | None = None
        self.follow: Callable[[LiveGame], object] = lambda game: None

    def next_game(self) -> LiveGame:
        """Let them play a game in real time, from its first key until it is over or abandoned."""
        if self._result:
            self._wait_for_restart()
        game = self.under_way = LiveGame()
        keys = self._wait_for_key(game)
        due = time.monotonic()
        while not (self.done or game.over or self._restarts()):
            if self._waits_for_focus(game):
                due, keys = time.monotonic(), self._held.next_frame()
                continue
            game.advance(keys)
            self.follow(game)
            due = max(due + _FRAME, time.monotonic() - _MAX_LAG)
            if time.monotonic() < due:  # late frames are not drawn
                _draw(self._window, self._drawing, game, keys=keys)
            else:
                self._window.refresh()
            time.sleep(max(0.0, due - time.monotonic()))
            keys = self._held.next_frame()
        self._last, self.under_way = game, None
        self._result = f"{game.outcome}: {game.metres:.1f} m in {game.seconds:.2f} s" if game.over else ""
        return game

    def _restarts(self) -> bool:
        """Handle other keys and the closing of the window; True if R or space was pressed."""
        pressed = self._held.other_presses() if self._window.focused else []
        self.done = self.done or self._window.closed or "esc" in pressed
        return any(name in ("r", "space") for name in pressed)

    def _wait_for_restart(self) -> None:
        while not (self.done or self._restarts()):
            _draw(self._window, self._drawing, self._last, f"{self._result}\nR: restart    Esc: done")
            time.sleep(_FRAME)

    def _wait_for_key(self, game: LiveGame) -> int:
        """Wait for a key of the game; return the keys of its first frame, or 0 if they want no further game."""
        self._held.next_frame()
        while not self.done:
            _draw(self._window, self._drawing, game, "Q, W, O, P to run")
            time.sleep(_FRAME)
            self._restarts()
            keys = self._held.next_frame()
            if keys and self._window.focused:
                return keys
        return 0

    def _waits_for_focus(self, game: LiveGame) -> bool:
        """Pause for a frame and return True while another window has the keyboard focus."""
        if self._window.focused or self._window.closed:
            return False
        _draw(self._window, self._drawing, game, "Paused: click here to continue")
        time.sleep(_FRAME)
        self._held.forget()
        return True


def _draw(window: Window, drawing: Drawing, game: LiveGame, text: str = "", keys: int = 0) -> None:
    if not window.closed:
        window.show(drawing.picture(game.state, metres=game.metres, seconds=game.seconds, keys=keys), text)

"""`source=keyboard`: a person plays in a window, in real time."""

import time
from contextlib import ExitStack
from pathlib import Path

from PIL import Image

from ..common.errors import BadInput
from ..datasets.from_keys import episode_from_keys
from ..datasets.schema import Episode
from ..envs.pictures.drawing import Drawing
from ..envs.qwop.env import QWOPEnv
from ..envs.qwop.task import FRAMES_A_SECOND
from .game_writer import GameWriter
from .keyboard_listener import ALTERNATIVE, HeldKeys, advice, listening
from .settings import KeyboardSettings
from .source import Source, info_for

_FRAME = 1 / FRAMES_A_SECOND

_UNHEARD_AFTER = 1.0
"""Seconds after which a key seen by the window but not by pynput means that pynput cannot listen to the keyboard."""

_MAX_LAG = 0.25
"""Largest delay in seconds that the game catches up after the machine was busy; the rest is skipped."""


def open_keyboard(settings: KeyboardSettings, folder: Path) -> Source:
    """Open a window; the games played in it are recorded as they end.

    Returns once a first key was heard. Raises BadInput if no key can be heard, saying why and what to do, and for
    invalid settings.
    """
    info = info_for(settings, folder)
    with ExitStack() as opened:
        keyboard = opened.enter_context(listening())
        LiveGame().advance(0)  # loads the engine now, rather than during the first game
        window = Window("qwop")
        opened.callback(window.close)
        _require_heard(window, keyboard)
        rest = opened.pop_all()
    player = _Player(window, keyboard)

    def episode(game: LiveGame) -> Episode:
        keys = [*game.keys]  # which may grow meanwhile
        return episode_from_keys(keys, info, player=settings.player, source="keyboard", epsilon=settings.epsilon)

    def play(games: GameWriter) -> None:
        while (game := player.begin()) is not None:
            while player.frame(game):
                games.note(None, lambda game=game: episode(game) if game.has_keys else None)  # type: ignore[misc]
            player.under_way = None
            if game.has_keys:
                games.write(episode(game))

    def finish() -> list[Episode]:
        rest.close()
        game = player.under_way
        return [episode(game)] if game is not None and game.has_keys else []

    return Source(
        info=info,
        play=play,
        notes=["the keyboard works; Q, W, O, P to run, R to restart, Esc (or Ctrl-C here) when you are done"],
        finish=finish,
    )


class LiveGame:
    """A game of QWOP, one frame at a time. keys: of every frame so far. info: of the last one; see `QWOPEnv`."""

    def __init__(self) -> None:
        self.env = QWOPEnv(frames_per_step=1)
        _, self.info = self.env.reset()
        self.keys: list[int] = []

    def advance(self, keys: int) -> None:
        """Play one frame with these keys (Q = 1, W = 2, O = 4, P = 8)."""
        *_, self.info = self.env.advance(keys)
        self.keys.append(keys)

    @property
    def over(self) -> bool:
        """True once the game has ended by itself."""
        return bool(self.info["outcome"] != "running")

    @property
    def has_keys(self) -> bool:
        """True once a key was pressed."""
        return any(self.keys)


def _require_heard(window: "Window", keyboard: HeldKeys) -> None:
    """Wait for a first key. BadInput if one reaches the window but not pynput, or if the window is closed."""
    missed_at, game = None, LiveGame()
    while not keyboard.presses:
        window.show(game, "Press any key to test the keyboard")
        if window.closed:
            raise BadInput("the window was closed before a key was heard; nothing was recorded")
        if window.pressed and missed_at is None:
            missed_at = time.monotonic()
        if missed_at is not None and time.monotonic() - missed_at > _UNHEARD_AFTER:
            raise BadInput(f"keys reach the window, but pynput hears none: {advice()}")
        time.sleep(_FRAME)
    keyboard.other_presses()


class _Player:
    """The person at the window. under_way: the game that they play and have not left."""

    def __init__(self, window: "Window", keyboard: HeldKeys) -> None:
        self._window, self._held = window, keyboard
        self._last, self._done = LiveGame(), False
        self._keys, self._due = 0, 0.0
        self.under_way: LiveGame | None = None

    def begin(self) -> LiveGame | None:
        """Wait until they press the first key of a game; None if they want none."""
        if self._last.over:
            info = self._last.info
            result = f"{info['outcome']}: {info['score']:.1f} m in {info['time']:.2f} s"
            while not (self._done or self._restarts()):
                self._window.show(self._last, f"{result}\nR: restart    Esc: done")
                time.sleep(_FRAME)
        game = self._last = LiveGame()
        self._held.next_frame()
        while not self._done:
            self._window.show(game, "Q, W, O, P to run")
            time.sleep(_FRAME)
            self._restarts()
            self._keys, self._due = self._held.next_frame(), time.monotonic()
            if self._keys and self._window.focused:
                self.under_way = game
                return game
        return None

    def frame(self, game: LiveGame) -> bool:
        """Play a frame in real time; False once the game is over or left."""
        while not (self._done or game.over or self._restarts()):
            if self._window.focused or self._window.closed:
                game.advance(self._keys)
                self._due = max(self._due + _FRAME, time.monotonic() - _MAX_LAG)
                if time.monotonic() < self._due:  # late frames are not drawn
                    self._window.show(game, keys=self._keys)
                else:
                    self._window.refresh()
                time.sleep(max(0.0, self._due - time.monotonic()))
                self._keys = self._held.next_frame()
                return True
            self._window.show(game, "Paused: click here to continue")
            time.sleep(_FRAME)
            self._held.forget()
            self._keys, self._due = self._held.next_frame(), time.monotonic()
        return False

    def _restarts(self) -> bool:
        """Handle other keys and the closing of the window; True if R or space was pressed."""
        pressed = self._held.other_presses() if self._window.focused else []
        self._done = self._done or self._window.closed or "esc" in pressed
        return any(name in ("r", "space") for name in pressed)


class Window:
    """A window with the picture of a game and a line of text.

    closed: true once the window was closed. focused: true while it has the keyboard focus. pressed: number of key
    presses that the window system sent to it, repeats included. Raises BadInput if no window can be opened.
    """

    def __init__(self, title: str) -> None:
        try:
            import tkinter

            from PIL import ImageTk
        except ImportError as error:
            raise BadInput(
                f"the game's window needs tkinter, which this Python lacks ({error}); install it (Debian: apt install "
                f"python3-tk), {ALTERNATIVE}"
            ) from None
        try:
            root = tkinter.Tk()
        except tkinter.TclError as error:
            raise BadInput(
                f"the game's window cannot be opened ({error}); run this on a desktop, {ALTERNATIVE}"
            ) from None
        self.closed, self.focused, self.pressed = False, True, 0
        self._drawing = Drawing()
        width, height = self._drawing.width, self._drawing.height
        root.title(title)
        root.resizable(False, False)
        self._photo = ImageTk.PhotoImage("RGB", (width, height))
        tkinter.Label(root, image=self._photo, borderwidth=0).pack()
        self._text = tkinter.Label(
            root, background="#242c3c", foreground="#ffffff", font=("TkDefaultFont", 15), padx=12, pady=12,
            wraplength=width - 60,
        )  # fmt: skip
        root.protocol("WM_DELETE_WINDOW", self.close)
        root.bind("<KeyPress>", lambda _: setattr(self, "pressed", self.pressed + 1))
        root.bind("<FocusIn>", lambda _: setattr(self, "focused", True))
        root.bind("<FocusOut>", lambda _: setattr(self, "focused", False))
        self._root = root
        root.lift()
        root.focus_force()
        self.refresh()

    def show(self, game: LiveGame, text: str = "", keys: int = 0) -> None:
        """Show a game with a text over it, unless the window is closed. keys: that are down in it."""
        if self.closed:
            return
        info = game.info
        picture = self._drawing.picture(game.env.state, metres=info["score"], seconds=info["time"], keys=keys)
        self._photo.paste(Image.fromarray(picture))
        self._text.configure(text=text)
        if text:
            self._text.place(relx=0.5, rely=0.25, anchor="center")
        else:
            self._text.place_forget()
        self.refresh()

    def refresh(self) -> None:
        """Process the window system's pending events."""
        if not self.closed:
            self._root.update()

    def close(self) -> None:
        """Close the window, if it is still open."""
        if not self.closed:
            self.closed = True
            self._root.destroy()

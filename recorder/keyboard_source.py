"""`source=keyboard`: a person plays in a window, in real time."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from PIL import Image

from ..common.errors import BadInput
from ..datasets.from_keys import episode_from_keys
from ..datasets.origin import Origin
from ..datasets.schema import Episode
from ..envs.pictures.drawing import Drawing
from ..envs.qwop.env import QWOPEnv
from ..envs.qwop.task import FRAMES_A_SECOND
from .game_writer import GameWriter, new_name
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

    def episode(game: LiveGame) -> Episode:
        keys, origin = [*game.keys], Origin(page_game=game.name)  # keys may grow meanwhile
        more = {"player": settings.player, "epsilon": settings.epsilon}
        return episode_from_keys(keys, info, source="keyboard", origin=origin, **more)  # type: ignore[arg-type]

    return Source(
        info=info,
        play=lambda games: _play(games, window, keyboard, episode),
        notes=["the keyboard works; Q, W, O, P to run, R to restart, Esc (or Ctrl-C here) when you are done"],
        finish=rest.close,
    )


class LiveGame:
    """A game of QWOP, one frame at a time. keys: of every frame so far. info: of the last one; see `QWOPEnv`. name: see
    `Origin.page_game`."""

    def __init__(self) -> None:
        self.env = QWOPEnv(frames_per_step=1)
        _, self.info = self.env.reset()
        self.keys: list[int] = []
        self.name = new_name()

    def advance(self, keys: int) -> None:
        """Play one frame with these keys (Q = 1, W = 2, O = 4, P = 8)."""
        *_, self.info = self.env.advance(keys)
        self.keys.append(keys)

    @property
    def over(self) -> bool:
        """True once the game has ended by itself."""
        return bool(self.info["outcome"] != "running")


def _require_heard(window: "Window", keyboard: HeldKeys) -> None:
    """Wait for a first key. BadInput if one reaches the window but not pynput, or if the window is closed."""
    missed_at, game = None, LiveGame()
    while not keyboard.presses:
        window.show(game, "Press any key to test the keyboard")
        if window.closed:
            raise BadInput("the window was closed before a key was heard; nothing was recorded")
        if window.presses and missed_at is None:
            missed_at = time.monotonic()
        if missed_at is not None and time.monotonic() - missed_at > _UNHEARD_AFTER:
            raise BadInput(f"keys reach the window, but pynput hears none: {advice()}")
        time.sleep(_FRAME)


def _play(games: GameWriter, window: "Window", keyboard: HeldKeys, episode: Callable[["LiveGame"], Episode]) -> None:
    """Play games in real time until the person leaves; each is written as it ends. Its clock starts with the first key;
    it pauses while another window has the focus."""
    game, in_dataset, due = LiveGame(), False, time.monotonic()

    def keep() -> None:
        nonlocal in_dataset
        if game.keys and not in_dataset:
            in_dataset = True
            games.write(episode(game))

    window.take_presses(), keyboard.next_frame()  # of the test
    try:
        while not window.closed and "escape" not in (presses := window.take_presses()):
            if not {"r", "space"}.isdisjoint(presses):
                keep()
                game, in_dataset = LiveGame(), False
            if not window.focused:
                keyboard.forget()
            keys, text = keyboard.next_frame(), ""
            if game.over:
                info = game.info
                text = f"{info['outcome']}: {info['score']:.1f} m in {info['time']:.2f} s\nR: restart    Esc: done"
            elif not window.focused:
                text = "Paused: click here to continue"
            elif not (keys or game.keys):
                text = "Q, W, O, P to run"
            else:
                game.advance(keys)
                games.note(game.name, partial(episode, game))
                if game.over:
                    keep()
            due = max(due + _FRAME, time.monotonic() - _MAX_LAG)
            if text or time.monotonic() < due:  # late frames are not drawn
                window.show(game, text, keys)
            else:
                window.refresh()
            time.sleep(max(0.0, due - time.monotonic()))
    finally:
        keep()


class Window:
    """A window with the picture of a game and a line of text.

    closed: true once the window was closed. focused: true while it has the keyboard focus. presses: the keys that the
    window system sent to it, repeats included. Raises BadInput if no window can be opened.
    """

    def __init__(self, title: str) -> None:
        try:
            import tkinter

            from PIL import ImageTk

            root = tkinter.Tk()
        except Exception as error:  # without tkinter, its own error has no name
            raise BadInput(
                f"the game's window cannot be opened ({error}): it needs a desktop and tkinter (Debian: apt install "
                f"python3-tk); install it, {ALTERNATIVE}"
            ) from None
        self.closed, self.focused, self.presses = False, True, list[str]()
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
        root.bind("<KeyPress>", lambda event: self.presses.append(event.keysym.lower()))
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

    def take_presses(self) -> list[str]:
        """The keys that were pressed since the last call."""
        presses, self.presses = self.presses, []
        return presses

    def refresh(self) -> None:
        """Process the window system's pending events."""
        if not self.closed:
            self._root.update()

    def close(self) -> None:
        """Close the window, if it is still open."""
        if not self.closed:
            self.closed = True
            self._root.destroy()

"""`source=keyboard`: a person plays in a window, in real time; pynput listens to the keyboard."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from PIL import Image

from ..common.errors import BadInput
from ..datasets.from_keys import episode_from_keys
from ..datasets.origin import Origin
from ..datasets.schema import Episode
from ..envs.names import KEY_BITS
from ..envs.pictures.drawing import Drawing
from ..envs.qwop.env import QWOPEnv
from ..envs.qwop.task import FRAMES_A_SECOND
from .game_writer import GameWriter, new_name
from .settings import KeyboardSettings
from .source import Source, info_for

_FRAME = 1 / FRAMES_A_SECOND

_MAX_LAG = 0.25
"""Largest delay in seconds that the game catches up after the machine was busy; the rest is skipped."""

ALTERNATIVE = "or play on the page in your browser, which needs none of this: source=page"

ADVICE = (
    "it takes a desktop; Wayland hides the keyboard from programs, so log in to an Xorg (X11) session; on macOS, allow "
    "your terminal under System Settings > Privacy & Security > Input Monitoring and Accessibility and restart it; "
    f"{ALTERNATIVE}"
)
"""Advice where no key is heard."""


def open_keyboard(settings: KeyboardSettings, folder: Path) -> Source:
    """Open a window; the games played in it are recorded as they end.

    Returns once a first key was heard. Raises BadInput if the window is closed before, and for invalid settings.
    """
    info = info_for(settings, folder)
    with ExitStack() as opened:
        keyboard = Keyboard()
        listener = _listener(keyboard)
        listener.start()
        opened.callback(listener.stop)
        LiveGame().advance(0)  # loads the engine now, rather than during the first game
        window = Window("qwop")
        opened.callback(window.close)
        while not keyboard.next_frame()[1]:
            window.show(LiveGame(), f"Press any key to test the keyboard.\n\nNothing happens? {ADVICE}")
            if window.closed:
                raise BadInput(f"the window was closed before a key was heard; if none is: {ADVICE}")
            time.sleep(_FRAME)
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


def _play(games: GameWriter, window: "Window", keyboard: "Keyboard", episode: Callable[[LiveGame], Episode]) -> None:
    """Play games in real time until the person leaves; each is written as it ends. Its clock starts with the first key;
    it pauses while another window has the focus."""
    game, in_dataset, due = LiveGame(), False, time.monotonic()

    def keep() -> None:
        nonlocal in_dataset
        if game.keys and not in_dataset:
            in_dataset = True
            games.write(episode(game))

    try:
        while not window.closed:
            keys, presses = keyboard.next_frame()
            if not window.focused:  # the keys are not ours
                keyboard.forget()
                keys, presses, text = 0, set(), "Paused: click here to continue"
            if "esc" in presses:
                break
            if not presses.isdisjoint({"r", "space"}):
                keep()
                game, in_dataset = LiveGame(), False
            if game.over:
                info = game.info
                text = f"{info['outcome']}: {info['score']:.1f} m in {info['time']:.2f} s\nR: restart    Esc: done"
            elif window.focused:
                text = "" if keys or game.keys else "Q, W, O, P to run"
            if not text:
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

    closed: true once the window was closed. focused: true while it has the keyboard focus. Raises BadInput if no window
    can be opened.
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
        self.closed, self.focused = False, True
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


class Keyboard:
    """The keys that are held. `event` is called in pynput's thread, the rest in the game's."""

    def __init__(self) -> None:
        self._events: SimpleQueue[tuple[str, bool]] = SimpleQueue()
        self._down: set[str] = set()

    def event(self, name: str, down: bool) -> None:
        """Note that a key went down or up; a held key may go down again and again."""
        self._events.put((name, down))

    def next_frame(self) -> tuple[int, set[str]]:
        """The game's keys of the next frame, as bits, and the keys that went down since the last call.

        A key that went down and up between two frames counts as held in the next one.
        """
        presses: set[str] = set()
        while not self._events.empty():
            name, down = self._events.get()
            if not down:
                self._down.discard(name)
            elif name not in self._down:
                self._down.add(name)
                presses.add(name)
        return sum(KEY_BITS.get(name, 0) for name in self._down | presses), presses

    def forget(self) -> None:
        """Assume that nothing is held."""
        self._down.clear()


def _listener(keys: Keyboard) -> Any:
    """pynput's listener, which notes the keys; BadInput if it is impossible to listen."""
    try:
        from pynput import keyboard
    except ModuleNotFoundError:
        raise BadInput(
            "source=keyboard needs pynput, which is not installed: pip install 'qwop[keyboard]' (on Linux it needs a C "
            f"compiler), {ALTERNATIVE}"
        ) from None
    except ImportError as error:
        raise BadInput(f"cannot listen to the keyboard ({str(error).splitlines()[0]}): {ADVICE}") from None
    return keyboard.Listener(
        on_press=lambda key: keys.event(_name_of(key), True), on_release=lambda key: keys.event(_name_of(key), False)
    )


def _name_of(key: Any) -> str:
    """A letter in lower case, or the name of another key ('esc', 'space'), as pynput has it."""
    return str(getattr(key, "char", None) or getattr(key, "name", None) or "").lower()

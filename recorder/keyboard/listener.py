"""Listening to the keyboard with pynput, and explanations of why it fails."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...common.errors import BadInput
from .held_keys import HeldKeys

ALTERNATIVE = "or play on the page in your browser, which needs none of this: source=page"

PLACES: Mapping[str, Mapping[int, str]] = {
    "linux": {24: "q", 25: "w", 27: "r", 32: "o", 33: "p"},
    "darwin": {12: "q", 13: "w", 15: "r", 31: "o", 35: "p"},
    "win32": {ord(letter.upper()): letter for letter in "qwrop"},
}
"""Keys of the game and of restarting by their place, for keyboards without Latin letters: X11's key codes, and the
virtual key codes of macOS and Windows."""

_READY_WITHIN = 5.0
"""Seconds that pynput may take to start."""


@contextmanager
def listening() -> Iterator[HeldKeys]:
    """Context in which the keys held on the keyboard are tracked. BadInput if it is impossible to listen."""
    keyboard = _pynput_keyboard(sys.platform, os.environ)
    held, place_of = HeldKeys(), _places(sys.platform)
    listener = keyboard.Listener(
        on_press=_callback(held.press, place_of, sys.platform),
        on_release=_callback(held.release, place_of, sys.platform),
    )
    listener.start()
    ready = threading.Thread(target=listener.wait, daemon=True)  # waits forever if the listener dies
    ready.start()
    ready.join(_READY_WITHIN)
    try:
        if ready.is_alive():
            raise BadInput(f"cannot listen to the keyboard: pynput does not start; {advice()}")
        if sys.platform == "darwin" and not getattr(listener, "IS_TRUSTED", True):
            raise BadInput(f"cannot listen to the keyboard: macOS does not permit it; {advice()}")
        yield held
    finally:
        listener.stop()


def advice(platform: str = sys.platform, environment: Mapping[str, str] = os.environ) -> str:
    """Return advice for keys that pynput does not report."""
    if platform == "darwin":
        allow = "allow your terminal under System Settings > Privacy & Security > Input Monitoring and Accessibility"
        return f"{allow}, restart the terminal, {ALTERNATIVE}"
    if _wayland(environment):
        return f"Wayland hides the keyboard from programs: log in to an Xorg (X11) session, {ALTERNATIVE}"
    return f"click the window and press a key again, {ALTERNATIVE}"


def _pynput_keyboard(platform: str, environment: Mapping[str, str]) -> Any:
    """Import `pynput.keyboard`; BadInput with the reason if that fails."""
    if platform not in ("darwin", "win32") and not environment.get("DISPLAY"):
        if _wayland(environment):
            raise BadInput(f"cannot listen to the keyboard: {advice(platform, environment)}")
        raise BadInput(
            "cannot listen to the keyboard: there is no display (DISPLAY is not set); run this on a desktop, "
            f"{ALTERNATIVE}"
        )
    try:
        from pynput import keyboard
    except ModuleNotFoundError:
        raise BadInput(
            "source=keyboard needs pynput, which is not installed: pip install 'qwop[keyboard]' (on Linux it needs a C "
            f"compiler), {ALTERNATIVE}"
        ) from None
    except ImportError as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"cannot listen to the keyboard ({reason}); run this on a desktop, {ALTERNATIVE}") from None
    return keyboard


def _wayland(environment: Mapping[str, str]) -> bool:
    return environment.get("XDG_SESSION_TYPE") == "wayland" or bool(environment.get("WAYLAND_DISPLAY"))


def _places(platform: str) -> Callable[[int], int | None]:
    """A function from pynput's `vk` to the code of a key's place on the keyboard; None if it is unknown.

    On X11, `vk` is the symbol on the key, which changes with the layout; elsewhere it is the place.
    """
    if platform in ("darwin", "win32"):
        return lambda symbol: symbol
    from Xlib.display import Display  # pynput needs it, too

    display = Display()
    return lambda symbol: display.keysym_to_keycode(symbol) or None


def _callback(
    handle: Callable[[str, int | None], None], place_of: Callable[[int], int | None], platform: str
) -> Callable[[Any], None]:
    """Adapt `handle` to pynput: it gets a letter in lower case, or the name of another key ('esc', 'space'), and the
    place of the key. The place names a key whose character is no Latin one, or that Ctrl has changed.
    """
    named = PLACES.get(platform, {})

    def callback(key: Any) -> None:
        symbol = getattr(getattr(key, "value", key), "vk", None)
        place = None if symbol is None else place_of(symbol)
        name = str(getattr(key, "char", None) or getattr(key, "name", None) or "").lower()
        plain = name != "" and name.isascii() and name.isprintable()
        handle(name if plain or place is None else named.get(place, name), place)

    return callback

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

_READY_WITHIN = 5.0
"""Seconds that pynput may take to start."""


@contextmanager
def listening() -> Iterator[HeldKeys]:
    """Context in which the keys held on the keyboard are tracked. BadInput if it is impossible to listen."""
    keyboard = _pynput_keyboard(sys.platform, os.environ)
    held = HeldKeys()
    listener = keyboard.Listener(on_press=_callback(held.press), on_release=_callback(held.release))
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


def _callback(handle: Callable[[str], None]) -> Callable[[Any], None]:
    """Adapt `handle` to pynput: it gets a letter in lower case, or the name of another key ('esc', 'space')."""

    def callback(key: Any) -> None:
        name = getattr(key, "char", None) or getattr(key, "name", None)
        if name:
            handle(str(name).lower())

    return callback

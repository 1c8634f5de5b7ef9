"""Hearing the keyboard with pynput, and saying plainly why it cannot be heard."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...common.errors import BadInput
from .held import HeldKeys

ELSEWHERE = "or play at the page, which needs none of this: source=page"

_READY_WITHIN = 5.0
"""Seconds that pynput may take to begin."""


@contextmanager
def hearing() -> Iterator[HeldKeys]:
    """What is down on the keyboard while the context lasts. BadInput where it cannot be heard."""
    keyboard = _pynput_keyboard(sys.platform, os.environ)
    held = HeldKeys()
    listener = keyboard.Listener(on_press=_told(held.press), on_release=_told(held.release))
    listener.start()
    ready = threading.Thread(target=listener.wait, daemon=True)  # waits for ever where the listener dies
    ready.start()
    ready.join(_READY_WITHIN)
    try:
        if ready.is_alive():
            raise BadInput(f"the keyboard cannot be heard: pynput does not begin; {advice()}")
        if sys.platform == "darwin" and not getattr(listener, "IS_TRUSTED", True):
            raise BadInput(f"the keyboard cannot be heard: macOS does not permit it; {advice()}")
        yield held
    finally:
        listener.stop()


def advice(platform: str = sys.platform, environment: Mapping[str, str] = os.environ) -> str:
    """What to do where keys are pressed and pynput hears none."""
    if platform == "darwin":
        allow = "allow your terminal under System Settings > Privacy & Security > Input Monitoring and Accessibility"
        return f"{allow}, start it again, {ELSEWHERE}"
    if _wayland(environment):
        return f"Wayland keeps the keyboard from programs: log in to a session with Xorg (or X11), {ELSEWHERE}"
    return f"click the window and press again, {ELSEWHERE}"


def _pynput_keyboard(platform: str, environment: Mapping[str, str]) -> Any:
    """The module; BadInput with the reason where it cannot be had."""
    if platform not in ("darwin", "win32") and not environment.get("DISPLAY"):
        if _wayland(environment):
            raise BadInput(f"the keyboard cannot be heard: {advice(platform, environment)}")
        raise BadInput(
            f"the keyboard cannot be heard: there is no display (DISPLAY is not set); run it on a desktop, {ELSEWHERE}"
        )
    try:
        from pynput import keyboard
    except ModuleNotFoundError:
        raise BadInput(
            "source=keyboard needs pynput, which is not installed: pip install 'qwop[keyboard]' (on Linux it needs a C "
            f"compiler), {ELSEWHERE}"
        ) from None
    except ImportError as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"the keyboard cannot be heard ({reason}); run it on a desktop, {ELSEWHERE}") from None
    return keyboard


def _wayland(environment: Mapping[str, str]) -> bool:
    return environment.get("XDG_SESSION_TYPE") == "wayland" or bool(environment.get("WAYLAND_DISPLAY"))


def _told(tell: Callable[[str], None]) -> Callable[[Any], None]:
    """pynput's callback: a letter in lower case, or the name of another key ('esc', 'space')."""

    def callback(key: Any) -> None:
        name = getattr(key, "char", None) or getattr(key, "name", None)
        if name:
            tell(str(name).lower())

    return callback

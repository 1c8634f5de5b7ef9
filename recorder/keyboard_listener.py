"""The keys that are held, as pynput hears them; and explanations of why it hears none."""

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..common.errors import BadInput
from ..envs.names import KEY_BITS

ALTERNATIVE = "or play on the page in your browser, which needs none of this: source=page"

_READY_WITHIN = 5.0
"""Seconds that pynput may take to start."""


class HeldKeys:
    """The game's keys that are held. Safe to call from any thread.

    A held key sends repeated press events, of which only the first counts. A key pressed and released between two
    frames still counts as held in the next frame.

    presses: number of presses of any key, without repeats.
    """

    def __init__(self) -> None:
        self.presses = 0
        self._down: set[str] = set()
        self._tapped = 0
        self._lock = threading.Lock()

    def press(self, name: str) -> None:
        """Handle a press event, which may be a repeat."""
        with self._lock:
            if name and name not in self._down:
                self._down.add(name)
                self.presses += 1
                self._tapped |= KEY_BITS.get(name, 0)

    def release(self, name: str) -> None:
        """Handle a release event."""
        with self._lock:
            self._down.discard(name)

    def next_frame(self) -> int:
        """Take the keys of the next frame: those held, and those pressed since the last call."""
        with self._lock:
            keys, self._tapped = self._tapped, 0
            for name in self._down:
                keys |= KEY_BITS.get(name, 0)
        return keys

    def forget(self) -> None:
        """Assume that nothing is held or was pressed, since events while the window lacks focus are not ours."""
        with self._lock:
            self._down.clear()
            self._tapped = 0


@contextmanager
def listening() -> Iterator[HeldKeys]:
    """Context in which the keys held on the keyboard are tracked. BadInput if it is impossible to listen."""
    try:
        from pynput import keyboard
    except ModuleNotFoundError:
        raise BadInput(
            "source=keyboard needs pynput, which is not installed: pip install 'qwop[keyboard]' (on Linux it needs a C "
            f"compiler), {ALTERNATIVE}"
        ) from None
    except ImportError as error:
        reason = str(error).splitlines()[0]
        where = advice() if _wayland(os.environ) else f"run this on a desktop, {ALTERNATIVE}"
        raise BadInput(f"cannot listen to the keyboard ({reason}); {where}") from None
    keys = HeldKeys()
    listener = keyboard.Listener(
        on_press=lambda key: keys.press(_name_of(key)), on_release=lambda key: keys.release(_name_of(key))
    )
    listener.start()
    ready = threading.Thread(target=listener.wait, daemon=True)  # waits forever if the listener dies
    ready.start()
    ready.join(_READY_WITHIN)
    try:
        if ready.is_alive() or (sys.platform == "darwin" and not getattr(listener, "IS_TRUSTED", True)):
            raise BadInput(f"cannot listen to the keyboard: pynput does not start; {advice()}")
        yield keys
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


def _wayland(environment: Mapping[str, str]) -> bool:
    return environment.get("XDG_SESSION_TYPE") == "wayland" or bool(environment.get("WAYLAND_DISPLAY"))


def _name_of(key: Any) -> str:
    """A letter in lower case, or the name of another key ('esc', 'space'), as pynput has it."""
    return str(getattr(key, "char", None) or getattr(key, "name", None) or "").lower()

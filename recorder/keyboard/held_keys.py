"""The keys that are held, tracked from a keyboard's press and release events."""

import threading
from collections import deque

from ...envs.names import KEY_BITS


class HeldKeys:
    """The game's keys that are held, and presses of any other keys. Safe to call from any thread.

    A held key sends repeated press events, of which only the first counts. A key pressed and released between two
    frames still counts as held in the next frame.

    presses: number of presses of any key, without repeats.
    """

    def __init__(self) -> None:
        self.presses = 0
        self._down: dict[object, str] = {}
        self._tapped = 0
        self._others: deque[str] = deque()
        self._lock = threading.Lock()

    def press(self, name: str, place: int | None = None) -> None:
        """Handle a press event, which may be a repeat. place: code of the key's place on the keyboard, if known."""
        with self._lock:
            if name and self._held(name, place) is None:
                self._down[name if place is None else place] = name
                self.presses += 1
                if name in KEY_BITS:
                    self._tapped |= KEY_BITS[name]
                else:
                    self._others.append(name)

    def release(self, name: str, place: int | None = None) -> None:
        """Handle a release event. The name may be another one than at the press, with Ctrl or in another layout."""
        with self._lock:
            self._down.pop(self._held(name, place), None)

    def _held(self, name: str, place: int | None) -> object:
        """The held entry of a key: by its place, or by its name where one of the two events has no place."""
        if place in self._down:
            return place
        same = (held for held, other in self._down.items() if other == name and (place is None or held == name))
        return next(same, None)

    def next_frame(self) -> int:
        """Take the keys of the next frame: those held, and those pressed since the last call."""
        with self._lock:
            keys = self._tapped
            for name in self._down.values():
                keys |= KEY_BITS.get(name, 0)
            self._tapped = 0
        return keys

    def other_presses(self) -> list[str]:
        """Take the other keys that were pressed since the last call, in order."""
        with self._lock:
            pressed = list(self._others)
            self._others.clear()
        return pressed

    def forget(self) -> None:
        """Assume that nothing is held or was pressed, since events while the window lacks focus are not ours."""
        with self._lock:
            self._down.clear()
            self._others.clear()
            self._tapped = 0

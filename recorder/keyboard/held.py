"""Which keys are down, from presses and releases as a keyboard tells them."""

import threading
from collections import deque

from ...envs.names import KEY_O, KEY_P, KEY_Q, KEY_W

GAME_KEYS = {"q": KEY_Q, "w": KEY_W, "o": KEY_O, "p": KEY_P}


class HeldKeys:
    """The keys of the game that are down, and the others that were pressed. Any thread may tell it.

    A key that is held repeats; only its first press counts. A key that is pressed and let go between two frames is
    down in the next one all the same.

    presses: how many there were, of any key, repeats not counted.
    """

    def __init__(self) -> None:
        self.presses = 0
        self._down: set[str] = set()
        self._tapped = 0
        self._others: deque[str] = deque()
        self._lock = threading.Lock()

    def press(self, name: str) -> None:
        with self._lock:
            if name in self._down:
                return
            self._down.add(name)
            self.presses += 1
            if name in GAME_KEYS:
                self._tapped |= GAME_KEYS[name]
            else:
                self._others.append(name)

    def release(self, name: str) -> None:
        with self._lock:
            self._down.discard(name)

    def frame(self) -> int:
        """The keys of the next frame: those that are down, and those pressed since the last frame."""
        with self._lock:
            keys = self._tapped
            for name in self._down:
                keys |= GAME_KEYS.get(name, 0)
            self._tapped = 0
        return keys

    def others(self) -> list[str]:
        """The other keys that were pressed since the last call, in order."""
        with self._lock:
            pressed = list(self._others)
            self._others.clear()
        return pressed

    def forget(self) -> None:
        """Nothing is down, and nothing was pressed: nobody knows what happened while the window was not looked at."""
        with self._lock:
            self._down.clear()
            self._others.clear()
            self._tapped = 0

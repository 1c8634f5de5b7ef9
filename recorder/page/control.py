"""Shared control of a game on the page."""

from ...datasets.control import PERSON, POLICY


class Control:
    """Decides who acts. A pressed key gives control to the person; some frames without a key give it back.

    release_frames: frames without a key after which the policy has control again. person: true while the person has
    control. waiting: true after going back, until a key is pressed or control is handed over.
    """

    def __init__(self, release_frames: int) -> None:
        self._release_frames = release_frames
        self._idle = 0
        self._ignored = 0
        self._holds = False
        self.person = False
        self.waiting = False

    def actor(self, held: int) -> int | None:
        """Actor of the next frame, in which the person holds these keys (bits); None while the game waits."""
        self._ignored &= held
        held &= ~self._ignored
        if held:
            self.person, self.waiting, self._holds, self._idle = True, False, False, 0
        elif self.waiting:
            return None
        elif self.person and not self._holds:
            self._idle += 1
            if self._idle > self._release_frames:
                self.person = False
        return PERSON if self.person else POLICY

    def hand_over(self, held: int = 0) -> None:
        """Give control to the other side. The policy keeps it until one of the keys `held` is pressed anew, or another
        one; the person keeps it without a key until the first one."""
        self.waiting = False
        self.person = not self.person
        self._holds, self._ignored = self.person, held
        self._idle = 0

    def wait(self, held: int = 0) -> None:
        """Wait, after going back, until one of the keys `held` is pressed anew, or another one."""
        self.person, self.waiting, self._idle, self._holds, self._ignored = False, True, 0, False, held

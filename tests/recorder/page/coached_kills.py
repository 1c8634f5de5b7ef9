"""SIGKILLs in the middle of coached games, of recorder, browser or both: python -m tests.recorder.page.coached_kills 50

A real browser takes over, hands over and goes back by key events. Before each kill, and each time that it goes back,
the clock that the page shows is read. In the end every line is an episode, in the order of play and as long as its
clock was, but for the last moment of one that a kill of the browser cut short; no copy of a game is left, and
`qwop-dataset verify replay=true` finds nothing wrong.
"""

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from qwop.datasets import open_dataset
from selenium import webdriver

from .kills import BROWSER as BROWSER
from .kills import DRIVER as DRIVER
from .kills import World, clock_of, command_path, main
from .kills import run as run

BACKSPACE = "\ue003"


@dataclass
class CoachedWorld(World):
    """A recorder that coaches the champion, and a browser."""

    ARGUMENTS: ClassVar[tuple[str, ...]] = (
        "source=page", "source.player=me", "source.policy=champion", "source.release=0.3", "source.back=1",
    )  # fmt: skip
    KINDS: ClassVar[tuple[str, ...]] = ("kill_recorder", "kill_browser", "kill_both")
    KEPT: ClassVar[str] = "every line is there once, as long as its clock was, and all of them verify by replay"
    LAST: ClassVar[float] = 3.0
    """Seconds that what was sent may be old: half a second, and what a busy machine takes."""

    @property
    def state(self) -> str:
        return str(self.value("document.body.dataset.state"))

    @property
    def who(self) -> str:
        return str(self.value("document.getElementById('who').dataset.who"))

    def key(self, key: str) -> None:
        webdriver.ActionChains(self.driver, duration=0).send_keys(key).perform()

    def play(self) -> None:
        """Begin a game and make a few moves; the clocks of its lines are noted."""
        self.key("r")
        self.wait(lambda: self.state == "playing", "playing")
        self.wait(lambda: self.clock() > 0.3, "begun")
        for _ in range(self.random.randint(1, 5)):
            move = self.random.choice([self.take_over, self.hand_over, self.look_on, self.go_back])
            move()
        self.clocks.append(self.clock())
        if self.random.random() < 0.3:
            self.key(BACKSPACE)  # killed while it goes back

    def take_over(self) -> None:
        self.press(self.random.uniform(0.1, 1.0))

    def hand_over(self) -> None:
        self.key("t")
        self.look_on()

    def look_on(self) -> None:
        time.sleep(self.random.uniform(0.1, 1.0))

    def go_back(self) -> None:
        """Go back, once or twice, and take over there, until something was played that no other line has."""
        self.clocks.append(self.clock())
        for _ in range(self.random.randint(1, 2)):
            self.key(BACKSPACE)
            self.wait(lambda: self.who == "waiting", "back")
        left = self.clock()
        while self.state != "over" and (self.who == "waiting" or self.clock() <= left):
            self.press(0.2)  # a key that is let go before the page has the state does nothing

    def clock(self) -> float:
        """Seconds that the page shows, once it has drawn what it knows."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        return super().clock()

    def kill_recorder(self, number: int = signal.SIGKILL) -> None:
        self.end_recorder(number)
        self.start_recorder()
        self.open()

    def kill_both(self) -> None:
        """Kill both within a second, in either order."""
        ends: list[Callable[[], None]] = [self.end_recorder, self.end_browser]
        first, second = self.random.sample(ends, 2)
        first()
        time.sleep(self.random.uniform(0, 0.5))
        second()
        self.start_recorder()
        self.start_browser()
        self.open()

    def end_recorder(self, number: int = signal.SIGKILL) -> None:
        assert self.recorder is not None
        self.recorder.send_signal(number)
        self.recorder.wait(timeout=120)  # a busy machine takes a while to sum up

    def copies(self) -> list[Path]:
        return [*self.folder.glob("data/aside/under-way-*/game-*.partial")]

    def check(self) -> None:
        data = self.folder / "data"
        lines = sorted(open_dataset(data), key=lambda one: one.origin.game or 0)
        assert len(lines) == len(self.clocks), f"{len(lines)} lines, {len(self.clocks)} were played"
        for clock, line in zip(self.clocks, lines, strict=True):
            assert clock_of(line) > clock - self.LAST, f"{clock_of(line):.2f} s recorded, {clock:.2f} s played"
        assert not self.copies(), "a copy is left"
        done = subprocess.run([command_path("qwop-dataset"), "verify", str(data), "replay=true"], capture_output=True)
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


if __name__ == "__main__":
    main(CoachedWorld)

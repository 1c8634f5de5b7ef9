"""Kills of the browser, the recorder and the connection while games run, played by a real browser with key events.

Before each kill the clock that the page shows is read. In the end the dataset has every game once, at least as long as
its clock was, and each one replays. Coached games begin with the champion, and are taken over, handed over and taken
back; of them every line of play is an episode.
"""

import os
import random
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from qwop.datasets import Episode, open_dataset
from qwop.datasets.from_keys import replay_episode
from selenium.common.exceptions import WebDriverException

from ..play.page import open_browser
from ..recorder.page.recording_page import SCRIPTS, RecordingPage

KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends window.WebSocket {
  constructor(...given) { super(...given); window.sockets.push(this); }
};
"""

BACKSPACE = "\ue003"

LAST = 3.0
"""Seconds that what was sent of a coached game may be old: half a second, and what a busy machine takes."""


class World(RecordingPage):
    """A recorder and a browser, which are killed and come back."""

    ARGUMENTS: tuple[str, ...] = ("source.ghost=none",)
    KINDS: tuple[str, ...] = (
        "kill_browser", "kill_recorder", "stop_recorder", "cut_connection", "load", "close_tab",
    )  # fmt: skip

    def __init__(self, folder: Path, draw: random.Random) -> None:
        self.folder, self.profile, self.random = folder / "data", folder / "profile", draw
        self.clocks: list[float] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.arguments = ("source=page", "source.player=me", *self.ARGUMENTS, f"source.port={port}")

    def start_browser(self) -> None:
        self.browser = open_browser(False, "720,540", f"--user-data-dir={self.profile}")
        self.open_tab()

    def open_tab(self) -> None:
        self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": KEEP_SOCKETS})
        self.load()

    def load(self) -> None:
        self.browser.get(self.address)
        self.wait_until(lambda: self.value("document.body.dataset.recorder") == "connected", "connected")

    def clock(self) -> float:
        """Seconds that the page shows, once it has drawn what it knows."""
        self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        return self.seconds()

    def hold_keys(self, seconds: float) -> None:
        """Hold random keys for about this long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            actions, down = self.keys(), self.random.choice(["q", "w", "o", "p", "qp", "wo"])
            for key in down:
                actions.key_down(key)
            actions.pause(self.random.uniform(0.05, 0.3))
            for key in down:
                actions.key_up(key)
            actions.perform()

    def play(self) -> None:
        """Begin a game and play it for a while; its clock is noted."""
        self.press("r")
        self.wait("playing")
        self.hold_keys(self.random.uniform(0.1, 2.5))
        self.wait_until(lambda: self.clock() > 0, "begun")
        self.clocks.append(self.clock())

    # --- kills ---

    def kill_browser(self) -> None:
        self.end_browser()
        self.start_browser()

    def end_browser(self) -> None:
        driver = str(self.browser.service.process.pid)
        processes = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", driver], capture_output=True, text=True
        ).stdout.split()
        for process in map(int, processes):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(WebDriverException, OSError):
            self.browser.quit()
        for lock in self.profile.glob("Singleton*"):
            lock.unlink()

    def kill_recorder(self, number: int = signal.SIGKILL) -> None:
        """The game goes on for a while without it, and others may begin."""
        self.end_recorder(number)
        self.without_recorder()
        self.start_recorder()
        self.load()

    def end_recorder(self, number: int = signal.SIGKILL) -> None:
        self.recorder.send_signal(number)
        self.recorder.wait(timeout=120)

    def without_recorder(self) -> None:
        if self.random.random() < 0.5:
            self.hold_keys(self.random.uniform(0, 1))
        if self.random.random() < 0.3:
            self.play()

    def stop_recorder(self) -> None:
        self.kill_recorder(self.random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))

    def kill_both(self) -> None:
        """Kill both within half a second, in either order."""
        ends: list[Callable[[], None]] = [self.end_recorder, self.end_browser]
        first, second = self.random.sample(ends, 2)
        first()
        time.sleep(self.random.uniform(0, 0.5))
        second()
        self.start_recorder()
        self.start_browser()

    def cut_connection(self) -> None:
        """The game goes on, and the page connects again."""
        self.value("window.sockets.at(-1).close(4000)")
        self.hold_keys(self.random.uniform(0, 1.5))

    def close_tab(self) -> None:
        old = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        new = self.browser.current_window_handle
        self.browser.switch_to.window(old)
        self.browser.close()
        self.browser.switch_to.window(new)
        self.open_tab()

    # --- the end ---

    def finish(self) -> None:
        """Wait until everything is recorded, and stop."""
        self.load()
        self.wait_until(lambda: self.unsent() == 0, "all sent")
        self.end_recorder(signal.SIGINT)

    def end(self) -> None:
        with suppress(WebDriverException, OSError, AttributeError):
            self.browser.quit()
        with suppress(AttributeError):  # nothing has begun
            self.recorder.kill()
            self.recorder.wait()

    def check(self) -> None:
        """Every game is there once, as long as its clock was, and replays."""
        lengths, games = [], Counter[str]()
        for episode in open_dataset(self.folder):
            assert len(replay_episode(episode).states) == len(episode.keys_of_frames) + 1
            assert episode.origin.page_game is not None
            games[episode.origin.page_game] += 1
            lengths.append(clock_of(episode))
        assert not [game for game, count in games.items() if count > 1], "recorded twice"
        assert len(lengths) == len(self.clocks), f"{len(lengths)} games, {len(self.clocks)} were played"
        for clock, length in zip(sorted(self.clocks), sorted(lengths), strict=True):
            assert length > clock - 0.02, f"{length:.2f} s recorded, {clock:.2f} s played"


class CoachedWorld(World):
    """A recorder that coaches the champion, and a browser."""

    ARGUMENTS = ("source.policy=champion", "source.release=0.3", "source.back=1")
    KINDS = ("kill_recorder", "kill_browser", "kill_both")

    def play(self) -> None:
        """Begin a game and make a few moves; the clocks of its lines are noted."""
        self.press("r")
        self.wait("playing")
        self.wait_until(lambda: self.clock() > 0.3, "begun")
        for _ in range(self.random.randint(1, 5)):
            move = self.random.choice(["take over", "hand over", "look on", "go back"])
            if move == "go back":
                self.go_back()
            elif move == "take over":
                self.hold_keys(self.random.uniform(0.1, 1.0))
            else:
                if move == "hand over":
                    self.press("t")
                time.sleep(self.random.uniform(0.1, 1.0))
        self.clocks.append(self.clock())
        if self.random.random() < 0.3:
            self.press(BACKSPACE)  # killed while it goes back

    def go_back(self) -> None:
        """Go back, once or twice, and take over there, until something was played that no other line has."""
        self.clocks.append(self.clock())
        for _ in range(self.random.randint(1, 2)):
            self.press(BACKSPACE)
            self.wait_for("waiting")
        left = self.clock()
        while self.state != "over" and (self.who() == "waiting" or self.clock() <= left):
            self.hold_keys(0.2)  # a key that is let go before the page has the state does nothing

    def without_recorder(self) -> None:
        """Nothing: without it nobody plays."""

    def check(self) -> None:
        """The lines are there in the order of play; a kill of the browser may cut the last moment of one."""
        lines = sorted(open_dataset(self.folder), key=lambda one: one.origin.game or 0)
        assert len(lines) == len(self.clocks), f"{len(lines)} lines, {len(self.clocks)} were played"
        for clock, line in zip(self.clocks, lines, strict=True):
            assert clock_of(line) > clock - LAST, f"{clock_of(line):.2f} s recorded, {clock:.2f} s played"
        assert not [*self.folder.glob("aside/under-way-*/game-*.partial")], "a copy is left"
        done = subprocess.run([SCRIPTS / "qwop-dataset", "verify", self.folder, "replay=true"], capture_output=True)
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


class Browsers:
    """Worlds of two games and two kills each, in one folder. only: whether the games are coached."""

    NAMES, QUICK = ("played", "coached"), ("played",)

    def __init__(self, folder: Path, only: Sequence[str]) -> None:
        self.folder, self.only = folder, only

    def run(self, seed: int) -> str:
        """Kill whatever the seed says, twice; what was killed, in words."""
        draw, name = random.Random(seed), self.only[seed % len(self.only)]
        folder = self.folder / f"world-{seed}"
        folder.mkdir()
        world = (CoachedWorld if name == "coached" else World)(folder, draw)
        kinds = [draw.choice(world.KINDS) for _ in range(2)]
        try:
            world.start_recorder()
            world.start_browser()
            for kind in kinds:
                world.play()
                getattr(world, kind)()
            world.finish()
        finally:
            world.end()
        world.check()
        return f"{name}: {' and '.join(kinds)}"


def clock_of(episode: Episode) -> float:
    """Seconds from the first key of a game to its end."""
    keys = episode.keys_of_frames
    return (len(keys) - int(np.flatnonzero(keys)[0])) / 30

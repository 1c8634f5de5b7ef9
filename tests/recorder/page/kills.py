"""Kills of the browser, the recorder and the connection while games run: python -m tests.recorder.page.kills 100

A real browser plays by key events, and something is killed at a random moment. Before each kill the clock that the page
shows is read. In the end the dataset has every game once, at least as long as its clock was, and each one replays.
"""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from qwop.datasets import Episode, open_dataset
from qwop.datasets.from_keys import replay_episode
from selenium import webdriver
from selenium.common.exceptions import WebDriverException

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=720,540")

KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends window.WebSocket {
  constructor(...given) { super(...given); window.sockets.push(this); }
};
"""


@dataclass
class World:
    """A recorder and a browser, which are killed and come back."""

    ARGUMENTS: ClassVar[tuple[str, ...]] = ("source=page", "source.player=me", "source.ghost=none")
    KINDS: ClassVar[tuple[str, ...]] = (
        "kill_browser", "kill_recorder", "stop_recorder", "cut_connection", "reload", "close_tab",
    )  # fmt: skip
    KEPT: ClassVar[str] = "every game is there once, as long as its clock was, and replays"

    folder: Path
    random: random.Random
    recorder: subprocess.Popen[str] | None = None
    driver: Any = None
    address: str = ""
    clocks: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start_recorder(self) -> None:
        command = [command_path("qwop-record"), *self.ARGUMENTS, "source.open=false", f"source.port={self.port}",
                   f"dataset={self.folder / 'data'}"]  # fmt: skip
        self.recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.recorder.stdout is not None
        said = []
        for line in self.recorder.stdout:
            said.append(line)
            if found := re.search(r"http://\S+", line):
                self.address = found[0]
                return
        raise AssertionError(f"no address: {said}")

    def start_browser(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER or ""
        for flag in (*FLAGS, f"--user-data-dir={self.folder / 'profile'}"):
            options.add_argument(flag)
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": KEEP_SOCKETS})

    def open(self) -> None:
        self.driver.get(self.address)
        self.wait(lambda: self.value("document.body.dataset.recorder") == "connected", "connected")

    def value(self, script: str) -> Any:
        return self.driver.execute_script(f"return {script}")

    def wait(self, true: Callable[[], Any], what: str) -> None:
        until = time.monotonic() + 60
        while not true():
            assert time.monotonic() < until, f"never {what}"
            time.sleep(0.02)

    def press(self, seconds: float) -> None:
        """Hold random keys for about this long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            keys = webdriver.ActionChains(self.driver, duration=0)
            held = self.random.choice(["q", "w", "o", "p", "qp", "wo"])
            for key in held:
                keys.key_down(key)
            keys.pause(self.random.uniform(0.05, 0.3))
            for key in held:
                keys.key_up(key)
            keys.perform()

    def play(self) -> None:
        """Begin a game and play it for a while; its clock is noted."""
        webdriver.ActionChains(self.driver, duration=0).send_keys("r").perform()
        self.wait(lambda: self.value("document.body.dataset.state") == "playing", "playing")
        self.press(self.random.uniform(0.1, 2.5))
        self.wait(lambda: self.clock() > 0, "begun")
        self.clocks.append(self.clock())

    def clock(self) -> float:
        """Seconds that the page shows."""
        return float(self.value("document.getElementById('seconds').textContent").split()[0])

    def kill_browser(self) -> None:
        self.end_browser()
        self.start_browser()
        self.open()

    def end_browser(self) -> None:
        pid = self.driver.service.process.pid
        processes = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
        ).stdout.split()
        for process in map(int, processes):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(WebDriverException, OSError):
            self.driver.quit()
        for lock in (self.folder / "profile").glob("Singleton*"):
            lock.unlink()

    def kill_recorder(self, number: int = signal.SIGKILL) -> None:
        """The game goes on for a while without it, and others may begin."""
        assert self.recorder is not None
        self.recorder.send_signal(number)
        self.recorder.wait(timeout=30)
        if self.random.random() < 0.5:
            with suppress(AssertionError):
                self.press(self.random.uniform(0, 1))
        if self.random.random() < 0.3:
            self.play()
        self.start_recorder()
        self.open()

    def stop_recorder(self) -> None:
        self.kill_recorder(self.random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))

    def cut_connection(self) -> None:
        """The game goes on, and the page connects again."""
        self.value("window.sockets.at(-1).close(4000)")
        self.press(self.random.uniform(0, 1.5))

    def reload(self) -> None:
        self.open()

    def close_tab(self) -> None:
        old = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        new = self.driver.current_window_handle
        self.driver.switch_to.window(old)
        self.driver.close()
        self.driver.switch_to.window(new)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": KEEP_SOCKETS})
        self.open()

    def finish(self) -> None:
        """Wait until everything is recorded, and stop."""
        self.open()
        unsent = "Object.keys(localStorage).filter((name) => name.includes('unsent')).length"
        self.wait(lambda: self.value(unsent) == 0, "all sent")
        assert self.recorder is not None
        self.recorder.send_signal(signal.SIGINT)
        self.recorder.wait(timeout=30)

    def end(self) -> None:
        if self.driver is not None:
            with suppress(WebDriverException, OSError):
                self.driver.quit()
        if self.recorder is not None and self.recorder.poll() is None:
            self.recorder.kill()
            self.recorder.wait()

    def check(self) -> None:
        """Every game is there once, as long as its clock was, and replays."""
        lengths, games = [], Counter[str]()
        for episode in open_dataset(self.folder / "data"):
            assert len(replay_episode(episode).states) == len(episode.keys_of_frames) + 1
            assert episode.origin.page_game is not None
            games[episode.origin.page_game] += 1
            lengths.append(clock_of(episode))
        assert not [game for game, count in games.items() if count > 1], "recorded twice"
        assert not [*(self.folder / "data").glob("aside/differing-*")], "a game differs"
        assert len(lengths) == len(self.clocks), f"{len(lengths)} games, {len(self.clocks)} were played"
        for clock, length in zip(sorted(self.clocks), sorted(lengths), strict=True):
            assert length > clock - 0.02, f"{length:.2f} s recorded, {clock:.2f} s played"


def command_path(name: str) -> str:
    return str(Path(sysconfig.get_path("scripts")) / name)


def clock_of(episode: Episode) -> float:
    """Seconds from the first key of a game to its end."""
    keys = episode.keys_of_frames
    return (len(keys) - int(np.flatnonzero(keys)[0])) / 30


def run(kills: int, world: World) -> Counter[str]:
    """Kill so many times; AssertionError if anything is lost, recorded twice, or does not replay."""
    done: Counter[str] = Counter()
    try:
        world.start_recorder()
        world.start_browser()
        world.open()
        for number in range(kills):
            kind = world.KINDS[number % len(world.KINDS)]
            world.play()
            getattr(world, kind)()
            done[kind] += 1
            print(f"{number + 1} of {kills}: {kind}", flush=True)
        world.finish()
    finally:
        world.end()
    world.check()
    return done


def main(world: Callable[[Path, random.Random], World] = World) -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what the background ignores, recorders would ignore, too
    with tempfile.TemporaryDirectory(prefix="qwop-kills-", ignore_cleanup_errors=True) as name:
        made = world(Path(name), random.Random(seed))
        done = run(kills, made)
    print(f"{done.total()} kills ({dict(done)}), {len(made.clocks)} games: {made.KEPT}")


if __name__ == "__main__":
    main()

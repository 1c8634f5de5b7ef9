"""A running `qwop-record` and a browser that shows its page, played by key events."""

import re
import signal
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from qwop.datasets import open_dataset

from ...play.page import Page

SCRIPTS = Path(sysconfig.get_path("scripts"))


class RecordingPage(Page):
    """`qwop-record` with these arguments into `folder`, and its page in the browser."""

    def __init__(self, browser: Any, folder: Path, *arguments: str) -> None:
        super().__init__(browser, "")
        self.folder, self.arguments = folder, arguments
        self.start_recorder()
        self.load()
        browser.get_log("browser")  # of earlier pages, whose recorders have ended

    def start_recorder(self) -> None:
        command = [str(SCRIPTS / "qwop-record"), *self.arguments, "source.open=false", f"dataset={self.folder}"]
        self.recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.recorder.stdout is not None
        address = next(filter(None, (re.search(r"http://\S+", line) for line in self.recorder.stdout)))
        self.address = address[0]

    def load(self) -> None:
        """Open the page, or open it anew."""
        self.browser.get(self.address)
        self.wait("ready")

    def find(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def recorded(self) -> list[Path]:
        return sorted(self.folder.glob("episodes/episode-*.parquet"))

    def wait_for_games(self, count: int) -> list[Any]:
        self.wait_until(lambda: len(self.recorded()) == count, f"{count} games")
        return list(open_dataset(self.folder))

    def run(self) -> None:
        """Begin a game of QWOP, and press keys in it."""
        self.press("r")
        self.wait("playing")
        self.keys().key_down("q").key_down("o").pause(0.25).key_up("q").key_up("o").perform()

    def fall(self) -> None:
        """Play a game that ends by itself."""
        self.run()
        self.stumble()
        self.wait_until(lambda: "recorded as game" in self.text("detail").lower(), "recorded")

    def of_first(self, action: str) -> None:
        """Click a button of the list's first game."""
        buttons = "[...document.querySelectorAll('#own tr:last-child button')]"
        self.browser.execute_script(f"{buttons}.find((one) => one.textContent === arguments[0]).click()", action)

    def unsent(self) -> int:
        """Games that the browser keeps for the recorder, and that it has not refused."""
        kept = "Object.entries(localStorage).filter(([name]) => name.includes('unsent'))"
        return int(self.value(f"{kept}.filter(([, text]) => !JSON.parse(text).reason).length"))

    def who(self) -> str:
        return str(self.value("document.getElementById('who').dataset.who"))

    def wait_for(self, who: str) -> None:
        self.wait_until(lambda: self.who() == who, f"in the hands of the {who}")

    def seconds(self) -> float:
        return float(self.text("seconds").removesuffix(" s"))

    def require_quiet(self) -> None:
        """No error, and nothing that the page's own policy forbids."""
        lines = self.browser.get_log("browser")
        assert lines == [], lines

    def stop(self) -> str:
        """End the recording as Ctrl-C does; returns what the command printed."""
        if self.recorder.poll() is None:
            self.recorder.send_signal(signal.SIGINT)
        assert self.recorder.stdout is not None
        printed = self.recorder.stdout.read()
        self.recorder.wait(timeout=30)
        return printed

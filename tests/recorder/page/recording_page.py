"""A running `qwop-record` and a browser that shows its page, played by key events."""

import re
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...play.page import webdriver


class RecordingPage:
    """`qwop-record` with these arguments into `folder`, and its page in the browser."""

    def __init__(self, browser: Any, folder: Path, *arguments: str) -> None:
        self.browser, self.folder = browser, folder
        record = str(Path(sysconfig.get_path("scripts")) / "qwop-record")
        command = [record, *arguments, "source.open=false", f"dataset={folder}"]
        self.recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.recorder.stdout is not None
        for line in self.recorder.stdout:
            if found := re.search(r"http://\S+", line):
                break
        else:
            raise AssertionError("qwop-record printed no address")
        browser.get(found[0])
        self.wait("ready")

    @property
    def state(self) -> str:
        return str(self.browser.execute_script("return document.body.dataset.state"))

    def wait(self, state: str) -> None:
        self.wait_until(lambda: self.state == state, f"in the state {state}")

    def wait_until(self, true: Callable[[], Any], what: str) -> None:
        until = time.monotonic() + 60
        while not true():
            assert time.monotonic() < until, f"never {what}: {self.browser.get_log('browser')}"
            time.sleep(0.02)

    def find(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def text(self, name: str) -> str:
        return str(self.browser.execute_script(f"return document.getElementById('{name}').textContent"))

    def keys(self) -> Any:
        return webdriver.ActionChains(self.browser, duration=0)

    def press(self, key: str) -> None:
        self.keys().send_keys(key).perform()

    def games(self) -> list[Path]:
        return sorted(self.folder.glob("episodes/episode-*.parquet"))

    def stop(self) -> str:
        """End the recording as Ctrl-C does; returns what the command printed."""
        if self.recorder.poll() is None:
            self.recorder.send_signal(signal.SIGINT)
        assert self.recorder.stdout is not None
        said = self.recorder.stdout.read()
        self.recorder.wait(timeout=30)
        return said

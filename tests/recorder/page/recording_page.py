"""A running `qwop-record` and a browser that shows its page, played by key events."""

import re
import signal
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from ...play.page import Page


class RecordingPage(Page):
    """`qwop-record` with these arguments into `folder`, and its page in the browser."""

    def __init__(self, browser: Any, folder: Path, *arguments: str) -> None:
        self.folder = folder
        record = str(Path(sysconfig.get_path("scripts")) / "qwop-record")
        command = [record, *arguments, "source.open=false", f"dataset={folder}"]
        self.recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.recorder.stdout is not None
        found = next(filter(None, (re.search(r"http://\S+", line) for line in self.recorder.stdout)))
        super().__init__(browser, found[0])
        browser.get(self.address)
        self.wait("ready")

    def find(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def recorded(self) -> list[Path]:
        return sorted(self.folder.glob("episodes/episode-*.parquet"))

    def stop(self) -> str:
        """End the recording as Ctrl-C does; returns what the command printed."""
        if self.recorder.poll() is None:
            self.recorder.send_signal(signal.SIGINT)
        assert self.recorder.stdout is not None
        said = self.recorder.stdout.read()
        self.recorder.wait(timeout=30)
        return said

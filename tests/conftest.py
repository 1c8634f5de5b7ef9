import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from qwop.envs.original.browser import BROWSERS


@pytest.fixture(scope="session")
def chromium() -> None:
    """Skips without Selenium and a browser."""
    if importlib.util.find_spec("selenium") is None:
        pytest.skip("Selenium is not installed (the extra 'browser')")
    if not any(map(shutil.which, BROWSERS)) or not shutil.which("chromedriver"):
        pytest.skip("no Chromium with its ChromeDriver on the path")


@pytest.fixture(scope="session")
def pynput() -> None:
    """Skips without it."""
    if importlib.util.find_spec("pynput") is None:  # importing it needs a display
        pytest.skip("pynput is not installed (the extra 'keyboard')")


@pytest.fixture(scope="session")
def fake() -> Path:
    """The page of a toy that has the names of the original's properties."""
    return Path(__file__).parent / "envs" / "original" / "fake"


@pytest.fixture(scope="session")
def original(chromium: None) -> str:
    """A local copy of the original game; it is not ours to ship."""
    folder = os.environ.get("QWOP_ORIGINAL")
    if not folder:
        pytest.skip("QWOP_ORIGINAL is not set: the folder of a local copy of the original game")
    return folder


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A screen of our own, for programs that are started; skips without Xvfb and xdotool."""
    for program in ("Xvfb", "xdotool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1024x800x24", "-noreset"],
        pass_fds=[write], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read) as told:
        number = told.readline().strip()
    monkeypatch.setenv("DISPLAY", f":{number}")
    yield f":{number}"
    server.terminate()
    server.wait()

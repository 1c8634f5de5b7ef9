import importlib.util
import os
import shutil
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

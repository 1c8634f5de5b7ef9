"""A few of the kills of `kills.py`, which runs any number of them."""

import random
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs(module="selenium")


@pytest.mark.exhaustive
def test_kills_of_browser_recorder_and_connection_lose_nothing(tmp_path: Path) -> None:
    pytest.importorskip("selenium", reason="needs selenium (the extra 'browser')")
    from .kills import BROWSER, DRIVER, World, run

    if BROWSER is None or DRIVER is None:
        pytest.skip("needs Chromium or Chrome, and chromedriver, on the path")
    assert run(len(World.KINDS), World(tmp_path, random.Random(1))).total() == len(World.KINDS)

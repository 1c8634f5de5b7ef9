"""A few of the kills of `coached_kills.py`, which runs any number of them."""

import random
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs(module="selenium")


@pytest.mark.exhaustive
def test_kills_of_recorder_browser_and_both_lose_no_line(tmp_path: Path) -> None:
    pytest.importorskip("selenium", reason="needs selenium (the extra 'browser')")
    from .coached_kills import CoachedWorld
    from .kills import BROWSER, DRIVER, run

    if BROWSER is None or DRIVER is None:
        pytest.skip("needs Chromium or Chrome, and chromedriver, on the path")
    assert run(len(CoachedWorld.KINDS), CoachedWorld(tmp_path, random.Random(1))).total() == len(CoachedWorld.KINDS)

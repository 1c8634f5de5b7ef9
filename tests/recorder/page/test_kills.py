"""A few of the kills of `kills.py` and `coached_kills.py`, which run any number of them."""

import random
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs(module="selenium")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("module", "world"), [("kills", "World"), ("coached_kills", "CoachedWorld")])
def test_kills_of_browser_recorder_and_connection_lose_nothing(module: str, world: str, tmp_path: Path) -> None:
    kills = import_module(f".{module}", __package__)
    if kills.BROWSER is None or kills.DRIVER is None:
        pytest.skip("needs Chromium or Chrome, and chromedriver, on the path")
    made = getattr(kills, world)(tmp_path, random.Random(1))
    assert kills.run(len(made.KINDS), made).total() == len(made.KINDS)

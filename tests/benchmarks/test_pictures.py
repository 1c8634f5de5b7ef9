"""The commands that draw the documentation's pictures."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def draw(script: str, *arguments: object) -> str:
    command = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_front_page_animation(tmp_path: Path) -> None:
    out = tmp_path / "champion.gif"
    draw("champion_gif.py", out)
    with Image.open(out) as image:
        assert image.size == (480, 300)
        assert getattr(image, "n_frames", 1) > 80
    assert out.stat().st_size < 1_500_000


def test_a_race(tmp_path: Path) -> None:
    out = tmp_path / "race.png"
    draw("race_picture.py", out)
    with Image.open(out) as image:
        assert image.width > 2 * image.height

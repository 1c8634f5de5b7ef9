"""The commands that draw the documentation's pictures."""

import json
import subprocess
import sys
from pathlib import Path

from PIL import Image
from qwop.datasets.embedded import embedded_dataset
from qwop.finetune.reports.run_log import METRICS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def draw(script: str, *arguments: object) -> str:
    command = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_two_gaits(tmp_path: Path) -> None:
    out = tmp_path / "gait.png"
    draw("gait_picture.py", "--demonstrations", embedded_dataset(), "--name", "The embedded runner", "--out", out)
    with Image.open(out) as image:
        assert image.width == 2000
        colours = {colour for _, colour in image.convert("RGB").getcolors(1_000_000)}
    assert len(colours) > 50


def test_the_way_there(tmp_path: Path) -> None:
    rows = [
        {"decisions": 1000 * n, "phase": phase, "speed/decisions_per_second": 1.0, "live/finish_share": share}
        for n, phase, share in ((1, "wheels", 0.0), (2, "race", 0.7), (3, "race", 0.9))
    ]
    (tmp_path / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = draw("way_there.py", tmp_path, tmp_path / "way.svg")
    assert "| half of the games finished | race | 0.0 M | – | 0 h 33 min |" in table
    picture = (tmp_path / "way.svg").read_text()
    assert picture.startswith("<svg xmlns=")
    assert "share of games finished" in picture


def test_the_front_page_animation(tmp_path: Path) -> None:
    out = tmp_path / "champion.gif"
    draw("champion_gif.py", out)
    with Image.open(out) as image:
        assert image.size == (480, 300)
        assert getattr(image, "n_frames", 1) > 100
    assert out.stat().st_size < 1_500_000


def test_a_race(tmp_path: Path) -> None:
    out = tmp_path / "race.png"
    draw("race_picture.py", out)
    with Image.open(out) as image:
        assert image.width > 2 * image.height

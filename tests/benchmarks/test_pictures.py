"""The commands that draw the documentation's pictures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from qwop.common.command import CONFIGURATION
from qwop.datasets.embedded import embedded_dataset
from qwop.finetune.reports.run_log import METRICS

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def draw(script: str, *arguments: object) -> str:
    command = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_two_gaits(tmp_path: Path) -> None:
    out = tmp_path / "gait.png"
    draw("gait_picture.py", "--demonstrations", embedded_dataset(), "--name", "The embedded runner", "--out", out)
    with Image.open(out) as image:
        assert image.width == 2024
        colours = {colour for _, colour in image.convert("RGB").getcolors(1_000_000)}
    assert len(colours) > 50


def test_the_way_there(tmp_path: Path) -> None:
    rows = [
        {"decisions": 1000 * n, "phase": phase, "speed/decisions_per_second": 1.0, "live/finish_share": share}
        for n, phase, share in ((1, "shaped", 0.0), (2, "race", 0.7), (3, "race", 0.9))
    ]
    (tmp_path / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = draw("way_there.py", tmp_path, "--picture", tmp_path / "way.svg")
    assert "| half of the games finished | race | 2,000 | – | 0:33:20 |" in table
    picture = (tmp_path / "way.svg").read_text()
    assert picture.startswith("<svg xmlns=")
    assert "share of games finished" in picture


def test_the_way_of_runs_that_continue_each_other_goes_on_counting(tmp_path: Path) -> None:
    shares = {"first": (0.0, 0.2), "second": (0.4, 0.8)}
    for run, finished in shares.items():
        rows = [
            {
                "decisions": 3_000_000 * n, "phase": run, "speed/decisions_per_second": 1.0, "time/seconds": 600.0 * n,
                "live/frames": 6_000_000 * n, "live/finish_share": share,
            }
            for n, share in enumerate(finished, 1)
        ]  # fmt: skip
        (tmp_path / run).mkdir()
        (tmp_path / run / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = draw("way_there.py", tmp_path / "first", tmp_path / "second")
    assert "| half of the games finished | second | 12,000,000 | 24,000,000 | 0:40:00 |" in table


def test_learning_curves_have_a_chart_for_each_environment_and_a_line_for_each_seed(tmp_path: Path) -> None:
    runs = []
    for environment, seed in (("CartPole-v1", 0), ("CartPole-v1", 1), ("ALE/Pong-v5", 0)):
        runs.append(tmp_path / f"{environment[:2]}-{seed}")
        runs[-1].mkdir()
        (runs[-1] / CONFIGURATION).write_text(f"environment: {environment}\nseed: {seed}\n")
        rows = [
            {"decisions": 1000 * n, "phase": "play", "speed/decisions_per_second": 1.0, "live/return": n + seed}
            for n in range(3)
        ]
        (runs[-1] / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    draw("learning_curves.py", tmp_path / "curves.svg", *runs)
    picture = (tmp_path / "curves.svg").read_text()
    assert picture.count('role="img"') == 2
    assert picture.count("<polyline") == 3
    assert all(text in picture for text in ("CartPole-v1: return", "ALE/Pong-v5: return", "seed 1"))


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

"""Memory, descriptors and threads of long work: `python tests/faults/steady.py --minutes 20`.

Records games on the page, played without a pause, or fine-tunes a policy (`--work`), and logs the process every few
seconds. Exit code 1 unless all three are flat: after the first fifth, the memory grows by less than 5 % and 20 MB
(a line through all samples), and descriptors and threads are no more than before, but for a file that is just written.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np
from page import Player

SCRIPTS = Path(sysconfig.get_path("scripts"))

RECORDING = ("qwop-record", "source=page", "source.open=false", "source.port=0", "dataset=games")

FINETUNING = (
    "qwop-finetune", "algorithm=acer", "policy=scratch", "environment=QWOP-v1", "schedule=live-only", "loop.num_envs=8",
    "loop.capacity=500", "loop.start=50", "loop.checkpoint_every=20000", "evaluation.episodes=4", "video=false",
    "out=run",
)  # fmt: skip
"""With a small memory, which is soon full, and checkpoints every few seconds."""

WARM = 0.2
"""Part of the time that does not count: caches and memories fill."""

GROWTH, MEGABYTES = 0.05, 20.0
"""Largest growth of the resident memory, as a part of it and in megabytes."""

MOMENTARY = 2
"""Descriptors or threads more than before that a sample may have, of a file that is being written."""


def sample(pid: int) -> tuple[float, int, int]:
    """Megabytes of resident memory, descriptors and threads of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = re.search(r"VmRSS:\s+(\d+)", status)
    threads = re.search(r"Threads:\s+(\d+)", status)
    assert resident is not None
    assert threads is not None
    return int(resident[1]) / 1024, len(os.listdir(f"/proc/{pid}/fd")), int(threads[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples (5)")
    parser.add_argument("--work", choices=["recording", "finetuning"], default="recording")
    parser.add_argument(
        "--pace", type=float, default=0.02, help="seconds that the player waits between messages (0.02)"
    )
    parser.add_argument("--out", type=Path, help="file for the samples, as JSON lines")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="qwop-steady-") as folder:
        line = RECORDING if asked.work == "recording" else FINETUNING
        process = subprocess.Popen([SCRIPTS / line[0], *line[1:]], cwd=folder, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        player = None
        if asked.work == "recording":
            said = next(line for line in process.stdout if "http://" in line)
            player = Player(re.findall(r"http://\S+", said)[0], 0, asked.pace)
        samples = watched(process.pid, asked)
        games = 0 if player is None else len(player.recorded)
        process.send_signal(signal.SIGTERM)
        process.communicate()
    return judge(np.array(samples), f"{asked.work}, {asked.minutes:g} minutes, {games} games")


def watched(pid: int, asked: argparse.Namespace) -> list[tuple[float, float, int, int]]:
    """Samples of the process until the time is over: seconds, megabytes, descriptors, threads."""
    since, samples = time.monotonic(), []
    while (now := time.monotonic() - since) < 60 * asked.minutes:
        samples.append((now, *sample(pid)))
        if asked.out is not None:
            with asked.out.open("a") as file:
                file.write(json.dumps(samples[-1]) + "\n")
        time.sleep(asked.every)
    return samples


def judge(samples: np.ndarray, title: str) -> int:
    """Print what grew; 1 if anything did."""
    seconds, megabytes, descriptors, threads = samples.T
    warm = seconds <= WARM * seconds[-1]
    slope, start = np.polyfit(seconds[~warm], megabytes[~warm], 1)
    before, grown = start + slope * seconds[~warm][0], slope * (seconds[-1] - seconds[~warm][0])
    print(
        f"{title}: memory {before:.0f} MB, {grown:+.1f} MB by the end (highest {megabytes.max():.0f}); descriptors "
        f"{descriptors[warm].max():.0f}, later at most {descriptors[~warm].max():.0f}; threads "
        f"{threads[warm].max():.0f}, later at most {threads[~warm].max():.0f}"
    )
    flat = grown < min(GROWTH * before, MEGABYTES)
    for counts in (descriptors, threads):
        most = counts[warm].max()
        flat &= bool(np.median(counts[~warm]) <= most and counts[~warm].max() <= most + MOMENTARY)
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())

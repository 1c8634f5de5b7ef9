"""Time and peak memory of what reads a dataset, each in a process of its own, beside pandas reading the files whole.

    python benchmarks/datasets.py data/large --make 10000000   # generated, if the folder does not exist
    python benchmarks/datasets.py data/champion --replay --only "verify;verify, by replay"

A dataset to verify by replay is recorded first:
qwop-record source=policy source.policy=champion source.episodes=10000 dataset=data/champion
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from qwop.datasets import DatasetWriter, embedded_dataset, open_dataset
from qwop.datasets.describe import describe
from shared import cpu_seconds

NOISE = 1e-3
"""Standard deviation of what is added to the observations of a generated episode."""

PANDAS = """
import pandas as pd
from pathlib import Path
table = pd.read_parquet(Path(FOLDER) / "episodes")
print(len(table))
"""

SUMMARY = """
from qwop.datasets import open_dataset
print(open_dataset(FOLDER).summary().steps.sum())
"""

STREAM = """
import pyarrow.compute as pc
import pyarrow.dataset as pads
rows = pads.dataset(f"{FOLDER}/episodes")
scanner = rows.scanner(columns=["reward"], batch_size=65536, batch_readahead=2, fragment_readahead=2)
print(sum(pc.sum(batch.column(0)).as_py() or 0 for batch in scanner.to_batches()))
"""

EPISODES = """
from qwop.datasets import open_dataset
print(sum(len(episode) for episode in open_dataset(FOLDER)))
"""

VERIFY = """
from qwop.datasets.verify import command, run
run(command.read(["dataset=" + FOLDER, "replay=REPLAY"]))
"""

EPOCH = """
import os
import torch
from qwop.datasets import open_dataset
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings
torch.set_num_threads(len(os.sched_getaffinity(0)))
dataset = open_dataset(FOLDER)
print(clone(dataset, dataset.info, CloningSettings(epochs=1, patience=1)).best.validation_nats)
"""

PROGRAMS = {
    "pandas, all columns": PANDAS,
    "summary": SUMMARY,
    "one column, streamed": STREAM,
    "every episode, checked": EPISODES,
    "verify": VERIFY.replace("REPLAY", "false"),
    "verify, by replay": VERIFY.replace("REPLAY", "true"),
    "one epoch of cloning": EPOCH,
}

MEASURED = """
import re, sys
from pathlib import Path
sys.stderr.write(re.search("VmHWM:[^0-9]*([0-9]+)", Path("/proc/self/status").read_text())[1] + "\\n")
"""
"""Peak memory in kB. Linux's `ru_maxrss` would count what this process held when it started the measured one."""


def measured(program: str, folder: Path) -> dict[str, float | str]:
    """Wall and processor seconds, peak memory in MB, and the last line printed."""
    code = f"FOLDER = {str(folder)!r}\n{program}\n{MEASURED}"
    before, began = cpu_seconds(), time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    took, processor = time.monotonic() - began, cpu_seconds() - before
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    memory = int(done.stderr.strip().splitlines()[-1]) / 1024
    return {
        "seconds": took,
        "processor": processor,
        "MB": memory,
        "printed": done.stdout.strip().splitlines()[-1][-100:],
    }


def make(folder: Path, steps: int) -> None:
    """Generate a dataset of at least `steps` decisions: the embedded games without keys, each with other noise."""
    games = open_dataset(embedded_dataset())
    generator = np.random.default_rng(0)
    writer = DatasetWriter(folder, games.info)
    made, episodes = 0, list(games)
    while made < steps:
        game = episodes[generator.integers(len(episodes))]
        noise = generator.normal(0, NOISE, game.observations.shape).astype(np.float32)
        writer.write(replace(game, observations=game.observations + noise, keys=None, seed=made))
        made += len(game)
    describe(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--make", type=int, metavar="STEPS", help="generate a dataset of so many decisions first")
    parser.add_argument("--replay", action="store_true", help="also verify by replay")
    parser.add_argument("--only", default="", help="names of measurements, separated by semicolons")
    asked = parser.parse_args()
    if asked.make and not asked.dataset.exists():
        make(asked.dataset, asked.make)
    names = [name for name in asked.only.split(";") if name] or list(PROGRAMS)
    print(f"{asked.dataset}: {len(list(asked.dataset.glob('episodes/episode-*')))} episodes, {os.cpu_count()} cores")
    for name in names:
        if name != "verify, by replay" or asked.replay or asked.only:
            found = measured(PROGRAMS[name], asked.dataset.resolve())
            shown = (
                f"{key} {value:,.1f}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items()
            )
            print(f"{name:24} {', '.join(shown)}")


if __name__ == "__main__":
    main()

"""Training on a CPU against training on a GPU: decisions per second of the same commands, one table.

    python benchmarks/devices.py
    python benchmarks/devices.py --seconds 8 --tasks ppo ppo-pictures

Each command trains from scratch on each device for `--seconds`, of which the first quarter is left out. The
games are always played on the CPU, by as many cores as there are.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from learners import Over, learn

FEATURES = ("environment=QWOP-v1", "+schedule.phases.alone.environment.reward=race")
PICTURES = (*FEATURES, "+schedule.phases.alone.environment.observation=pixels")
TASKS: dict[str, tuple[str, ...]] = {
    "ppo": (*FEATURES, "algorithm=ppo"),
    "ppo-wide": (*FEATURES, "algorithm=ppo", "algorithm.hidden=[1024,1024]"),
    "acer": (*FEATURES, "algorithm=acer"),
    "ppo-pictures": (
        *PICTURES,
        "algorithm=ppo",
        "algorithm.convolutions=nips",
        "algorithm.shared=true",
        "algorithm.hidden=[256]",
        "loop.num_envs=32",
        "loop.steps=64",
    ),
    "dqn-pictures": (*PICTURES, "algorithm=dqn", "loop.start=2000"),
}
"""Settings of `qwop-finetune`, by name. Pictures are stacks of 84 × 84 pixels."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--devices", nargs="+", default=["cpu", "cuda"])
    parser.add_argument("--seconds", type=float, default=8.0, help="of each run, after its start")
    parser.add_argument("--threads", type=int, default=1, help="threads of the learner on the CPU")
    parser.add_argument("--child", nargs=2, metavar=("TASK", "DEVICE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(rate(*options.child, options.seconds, options.threads)))
        return
    print(f"| task | {' | '.join(options.devices)} | {options.devices[-1]} relative to {options.devices[0]} |")
    print("|---|" + "---:|" * (len(options.devices) + 1))
    for task in options.tasks:
        rates = []
        for device in options.devices:
            child = ["--child", task, device, "--seconds", str(options.seconds), "--threads", str(options.threads)]
            process = subprocess.run([sys.executable, __file__, *child], stdout=subprocess.PIPE, text=True)
            rates.append(
                float(json.loads(process.stdout.splitlines()[-1])) if process.returncode == 0 else float("nan")
            )
        cells = " | ".join(f"{one:,.0f}" for one in rates)
        print(f"| {task} | {cells} | {rates[-1] / rates[0]:.2f} |", flush=True)


LEAST = 4
"""Iterations of a run, at least."""


def rate(task: str, device: str, seconds: float, threads: int) -> float:
    """Decisions per second of a run on this device, its first quarter left out."""
    import torch

    readings: list[tuple[float, int]] = []

    def after(loop: Any) -> None:
        if device == "cuda":
            torch.cuda.synchronize()
        readings.append((time.perf_counter(), loop.decisions))
        if len(readings) > LEAST and readings[-1][0] - readings[0][0] > seconds:
            raise Over

    learn([*TASKS[task], f"device={device}", f"threads={threads}"], after)
    first = readings[len(readings) // 4]
    return (readings[-1][1] - first[1]) / (readings[-1][0] - first[0])


if __name__ == "__main__":
    main()

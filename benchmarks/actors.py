"""PPO with its games in one process, with actors on Ray, and with actors that are killed.

    python benchmarks/actors.py --actors 1 2 4 --killed 4

Each run is a plain `qwop-finetune` command, printed so that it can be repeated alone: the champion's schedule, little
more than half as long. They run one after the other, and finished ones are not repeated. During the last one an actor
is killed (SIGKILL) every 20 to 60 seconds. The script ends with a table; the evaluations after each phase count in its
speeds.
"""

import argparse
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from repeated import markdown, run_once

SCHEDULE = [
    "qwop-finetune",
    "policy=scratch",
    "environment=QWOP-v1",
    "algorithm=ppo",
    "schedule=champion",
    "video=false",
]
PAUSE = (20.0, 60.0)
"""Seconds between two kills, drawn uniformly."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", nargs="*", type=int, default=[1, 2, 4])
    parser.add_argument("--killed", type=int, default=4, help="actors of the run in which some are killed")
    parser.add_argument("--scale", type=float, default=0.55)
    parser.add_argument("--out", type=Path, default=Path("runs/actors"))
    parser.add_argument("more", nargs="*", help="further settings of qwop-finetune, for all runs")
    asked = parser.parse_args()
    settings = [*SCHEDULE, f"schedule.scale={asked.scale}", *asked.more]
    runs = {"one process": asked.out / "serial"}
    run_once(runs["one process"], settings)
    for count in asked.actors:
        runs[f"actors: {count}"] = asked.out / f"actors-{count}"
        run_once(asked.out / f"actors-{count}", [*settings, *on_ray(count)])
    killed = asked.out / "killed"
    killed.mkdir(parents=True, exist_ok=True)
    (killed / "kills.txt").touch()
    with killing_actors(killed / "kills.txt"):
        run_once(killed, [*settings, *on_ray(asked.killed)])
    runs[f"actors: {asked.killed}, {len((killed / 'kills.txt').read_text().split())} killed"] = killed
    print(table(runs))


def on_ray(count: int) -> list[str]:
    return ["+distributed=ray", f"distributed.actors={count}"]


@contextmanager
def killing_actors(log: Path, seed: int = 0) -> Iterator[None]:
    """Context in which an actor is killed now and then; `log` gets the process numbers."""
    random, over = np.random.default_rng(seed), threading.Event()

    def kill() -> None:
        while not over.wait(random.uniform(*PAUSE)):
            listed = subprocess.run(["pgrep", "-f", "^ray::PlayingActor"], capture_output=True, text=True, check=False)
            if actors := listed.stdout.split():
                victim = int(random.choice(actors))
                os.kill(victim, signal.SIGKILL)
                with log.open("a") as file:
                    file.write(f"{victim}\n")

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def table(runs: dict[str, Path]) -> str:
    """Table of the runs; the first one's speed is 1."""
    rows = []
    speeds = {name: decisions_per_second(run) for name, run in runs.items()}
    first = next(iter(speeds.values()))
    for name, run in runs.items():
        found = json.loads(max((run / "phases").glob("[0-9]-*.json")).read_text())
        median = f"{found['median_seconds']:.2f} s" if found["finishes"] else ""
        speed = f"{speeds[name]:,.0f}", f"{speeds[name] / first:.2f}"
        rows.append([name, *speed, found["finishes"], median, found["drawn"]["finishes"]])
    games = ["greedy games finished, of 31", "median", "drawn games finished, of 100"]
    return markdown(["", "decisions/s", "relative", *games], rows)


def decisions_per_second(run: Path) -> float:
    """Speed of a run over all of its log."""
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    return float(last["decisions"] / last["time/seconds"])


if __name__ == "__main__":
    main()

"""Ablation of demonstrations in replay: none, never removed, removed on schedule, and the five modes of μ.

    qwop-reestimate dataset=data/kurodo out=data/kurodo-cloned
    python benchmarks/demonstrations_in_replay.py --policy runs/clone/policy.safetensors --demonstrations data/kurodo \\
        --reestimated data/kurodo-cloned --scale 0.25 --seeds 5 --out runs/demonstrations_in_replay

Every run is a plain `qwop-finetune` command with the phases of `kurodo`, printed so that it can be repeated alone. Runs
differ only in the phases that use demonstrations and in their μ. Finished runs are not repeated, so the script can be
stopped and started again. It ends with a table of how many of 100 games finish before and after the last phase, and how
fast: means over the seeds with 95 % intervals of Student's t.

A person's action probabilities are not recorded. `recorded` therefore uses a second dataset with the same games, in
which each game has the probabilities of a clone that did not see it. `cloned` uses those of the initial policy, which
did.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

T_975 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 20: 2.09}
"""Student's t for 95 %, by the number of seeds."""

RECORDED = "kurodo, recorded"

CURRENT = "behaviour.mode=current"

VARIANTS = {
    "no demonstrations": ["schedule.phases.mixed.demonstrations=0"],
    "never removed": ["schedule.phases.alone_again.demonstrations=1", CURRENT],
    "kurodo, current": [CURRENT],
    "kurodo, current_at_sampling": ["behaviour.mode=current_at_sampling"],
    RECORDED: ["behaviour.mode=recorded"],
    "kurodo, smoothed": ["behaviour.mode=smoothed"],
    "kurodo, cloned": ["behaviour.mode=cloned"],
}

ALONE, MIXED, END = "1-alone", "2-mixed", "3-alone_again"

FIGURES = {"median_seconds": "median s", "best_seconds": "best s", "mean_metres": "metres"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", required=True)
    parser.add_argument("--demonstrations", required=True)
    parser.add_argument("--reestimated", help="the same games with probabilities from qwop-reestimate")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--out", type=Path, default=Path("runs/demonstrations_in_replay"))
    parser.add_argument("more", nargs="*", help="further settings of qwop-finetune, for all runs")
    asked = parser.parse_args()
    if RECORDED in asked.only and not asked.reestimated:
        parser.error(f"{RECORDED}: a person's games need --reestimated; or name the other variants with --only")
    schedule = ("schedule=kurodo-published", f"schedule.scale={asked.scale}")
    common = [f"policy={asked.policy}", *schedule, "video=false", *asked.more]
    for seed in range(asked.seeds):
        for variant in asked.only:
            shown = asked.reestimated if variant == RECORDED else asked.demonstrations
            settings = [*common, f"demonstrations={shown}", f"seed={seed}", *VARIANTS[variant]]
            run_once(folder_of(asked.out, variant, seed), ["qwop-finetune", *settings])
            table = markdown(asked.out, asked.only, seed + 1)
            (asked.out / "table.md").write_text(table)
    print(table)


def run_once(folder: Path, command: Sequence[str]) -> None:
    """Run a command that leaves `folder`, unless that has been done; write its wall time to `seconds.txt`."""
    if (folder / "seconds.txt").exists():
        return
    command = [*command, f"out={folder}", *(["resume=true"] if has_checkpoint(folder) else [])]
    print(shlex.join(command), flush=True)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=sys.stderr)
    (folder / "seconds.txt").write_text(f"{time.perf_counter() - start:.1f}\n")


def has_checkpoint(folder: Path) -> bool:
    return any((folder / "checkpoints").glob("decisions-*"))


def folder_of(out: Path, variant: str, seed: int) -> Path:
    name = "".join(letter if letter.isalnum() else "-" for letter in variant).replace("--", "-").strip("-")
    return out / f"{name}-{seed}"


def markdown(out: Path, variants: list[str], seeds: int) -> str:
    """Table of all finished runs."""
    lines = [
        "| | finished before the last phase | finished | " + " | ".join(FIGURES.values()) + " |",
        "|---|---|---|---|---|---|",
    ]
    for variant in variants:
        runs = [folder_of(out, variant, seed) / "phases" for seed in range(seeds)]
        before, after = evaluations(runs, MIXED), evaluations(runs, END)
        if after:
            figures = [interval([one[key] for one in after if one[key] is not None]) for key in FIGURES]
            lines.append(f"| {variant} | {every(before)} | {every(after)} | " + " | ".join(figures) + " |")
    start = evaluations([folder_of(out, variants[0], seed) / "phases" for seed in range(seeds)], ALONE)
    seconds = [float(path.read_text()) for path in sorted(out.glob("*/seconds.txt"))]
    lines += ["", f"After the first phase, which is the same for all: finished {every(start)} of 100."]
    return "\n".join([*lines, f"Wall time of a run: median {statistics.median(seconds):.0f} s."]) + "\n"


def evaluations(runs: list[Path], phase: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for run in runs if (path := run / f"{phase}.json").exists()]


def every(found: list[dict[str, Any]]) -> str:
    """Finished games: mean and interval, and every seed."""
    finishes = [one["finishes"] for one in found]
    return f"{interval(finishes)} ({', '.join(map(str, finishes))})"


def interval(values: list[float]) -> str:
    """Mean ± half the width of its 95 % interval."""
    if not values:
        return "–"
    if len(values) not in T_975:
        return f"{statistics.fmean(values):.1f}"
    half = T_975[len(values)] * statistics.stdev(values) / len(values) ** 0.5
    return f"{statistics.fmean(values):.1f} ± {half:.1f}"


if __name__ == "__main__":
    main()

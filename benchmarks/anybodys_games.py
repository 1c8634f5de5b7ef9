"""From a person's games to a runner: one seed of a row, as one small JSON file.

    python benchmarks/anybodys_games.py clone data/me --seed 0 --out clone-0.json
    python benchmarks/anybodys_games.py runner data/me --seed 0 --out runner-0.json
    python benchmarks/anybodys_games.py runner data/me --games 3 --seed 0 --out three-0.json
    python benchmarks/anybodys_games.py nothing --seed 0 --out nothing-0.json

`clone` runs `qwop-pretrain` and plays 50 games greedily and 50 as drawn. `runner` also runs the command that
`qwop-pretrain` prints as the next one, and plays the result: from each of 31 starts greedily, 100 games as drawn.
`nothing` runs `qwop-finetune schedule=beginner` from a new network, without the person's games. --games N takes N of
them, chosen by the seed. --set adds settings to the last command. Likeness is the share of the person's decisions that
a policy predicts, and their negative log-likelihood.

    python benchmarks/anybodys_games.py table runner-*.json

prints every seed, means and 95 % intervals of Student's t.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from qwop.datasets import open_dataset
from qwop.datasets.relabelled_dataset import with_task
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.settings import EvaluationSettings
from qwop.policies.files import load_policy
from qwop.policies.policy import Policy
from qwop.pretrain.measures import measure
from qwop.pretrain.rows import rows_of
from repeated import ONE_THREAD, cpu_seconds, interval, markdown

COMMANDS = Path(sys.executable).parent
PLAYING_SEED = 5_000_000
"""Added to the seed for the games of the result, which no command has played."""

TOLD = ("decisions:", "verdict:", "next:", "The ", "It")
"""Beginnings of the commands' lines that are kept."""


def run(words: list[str]) -> dict[str, Any]:
    """Run a command with one thread; its output, its seconds and its CPU seconds."""
    began, before = time.monotonic(), cpu_seconds()
    ended = subprocess.run(
        [str(COMMANDS / words[0]), *words[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **ONE_THREAD, "COLUMNS": "200"},
    )
    if ended.returncode:
        raise SystemExit(f"{shlex.join(words)}\n{ended.stdout}")
    seconds, cpu = time.monotonic() - began, cpu_seconds() - before
    return {"command": shlex.join(words), "said": ended.stdout.splitlines(), "seconds": seconds, "cpu": cpu}


def some_of(folder: Path, count: int | None, seed: int, out: Path) -> Path:
    """The dataset, or a copy of it with this many of its games."""
    if count is None:
        return folder
    total = len(open_dataset(folder))
    left_out = np.random.default_rng(seed).permutation(total)[count:]
    if len(left_out):
        run(["qwop-dataset", "drop", str(folder), f"out={out}", f"episodes=[{','.join(map(str, sorted(left_out)))}]"])
        return out
    return folder


def figures(policy: Policy, seed: int, greedy_games: int | None, drawn: int) -> dict[str, Any]:
    """Rolling games, greedy ones from each start unless a number is given, and drawn ones."""
    found = {}
    for name, greedy, games in (("greedy", True, greedy_games), ("drawn", False, drawn)):
        settings = EvaluationSettings(episodes=games, seed=PLAYING_SEED + seed, greedy=greedy)
        shown = evaluate(policy, settings).summary()
        found[name] = {key: shown[key] for key in ("finishes", "episodes", "median_seconds", "mean_metres")}
    return found


def likeness(policy: Policy, folder: Path) -> dict[str, float]:
    """Share of the person's decisions that the policy predicts, and their negative log-likelihood, in nats."""
    task = policy.environment.all_settings
    rows = rows_of(with_task(open_dataset(folder), task["frames_per_step"], task["observation"]))
    found = measure(policy.probabilities(rows.observations), rows.actions)
    return {"accuracy": found.accuracy, "nats": found.nats}


def one_seed(asked: argparse.Namespace) -> dict[str, Any]:
    """Run a row's commands for one seed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ran, found = [], {}
        if asked.row == "nothing":
            words = ["qwop-finetune", "policy=scratch", "schedule=beginner", f"out={folder / 'runner'}"]
        else:
            games = some_of(Path(asked.dataset), asked.games, asked.seed, folder / "games")
            clone = folder / "clone"
            ran.append(run(["qwop-pretrain", f"dataset={games}", f"out={clone}", f"seed={asked.seed}"]))
            policy = load_policy(clone / "policy.safetensors")
            found["clone"] = {
                **figures(policy, asked.seed, 50, 50),
                "frames_per_step": policy.environment.all_settings["frames_per_step"],
                "plays": "greedily" if policy.greedy else "drawn",
                "likeness": likeness(policy, Path(asked.dataset)),
            }
            following = next(line for line in reversed(ran[-1]["said"]) if line.startswith("next: "))
            words = shlex.split(following.removeprefix("next: "))
        if asked.row != "clone":
            ran.append(run([*words, f"seed={asked.seed}", "video=false", *asked.set]))
            out = Path(next(word.removeprefix("out=") for word in words if word.startswith("out=")))
            policy = load_policy(out / "policy.safetensors")
            found["runner"] = figures(policy, asked.seed, None, 100)
            lines = (out / "metrics.jsonl").read_text().splitlines()
            found["runner"]["decisions"] = json.loads(lines[-1])["decisions"]
            if asked.dataset:
                found["runner"]["likeness"] = likeness(policy, Path(asked.dataset))
        for one in ran:
            one["said"] = [line for line in one["said"] if line.startswith(TOLD)]
            one["command"] = one["command"].replace(name, "runs")
        return {"row": asked.row, "games": asked.games, "seed": asked.seed, "ran": ran, **found}


def table(files: list[Path]) -> str:
    """Every seed, then means with 95 % intervals."""
    every = [json.loads(path.read_text()) for path in files]
    lines: list[list[str]] = []
    for stage in ("clone", "runner"):
        rows = []
        for one in sorted((one for one in every if stage in one), key=lambda one: one["seed"]):
            shown = one[stage]
            cpu = sum(ran["cpu"] for ran in one["ran"][: 1 if stage == "clone" else None])
            row = [shown[how][key] for how in ("greedy", "drawn") for key in ("finishes", "median_seconds")]
            rows.append([*row, shown.get("decisions"), cpu])
            lines.append([str(one["seed"]), stage, *map(_number, rows[-1])])
        if len(rows) > 1:
            lines.append(["all", stage, *map(_mean, zip(*rows, strict=True))])
    return markdown(["seed", "of", "greedy", "median", "drawn", "median", "decisions", "CPU s"], lines)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def _mean(column: tuple[float | None, ...]) -> str:
    return interval([one for one in column if one is not None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", choices=("clone", "runner", "nothing", "table"))
    parser.add_argument("dataset", nargs="*", help="the dataset; for table, the files")
    parser.add_argument("--games", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--set", nargs="*", default=[])
    asked = parser.parse_args()
    if asked.row == "table":
        print(table([Path(one) for one in asked.dataset]))
        return
    asked.dataset = asked.dataset[0] if asked.dataset else None
    found = json.dumps(one_seed(asked), indent=1)
    if asked.out is None:
        print(found)
    else:
        asked.out.write_text(found + "\n")


if __name__ == "__main__":
    main()

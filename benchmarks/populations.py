"""Populations with something left out, and a single agent, raced against each other.

    python benchmarks/populations.py --decisions 30e6

Each run is a plain `qwop-population` command, printed so that it can be repeated alone; all have the same total of
decisions. They run one after the other, finished ones are not repeated, and interrupted ones continue. Then the best
agents of all runs race each other 301 times, after 0 to 300 idle frames; their Elo ratings, 1000 on average, have 95 %
intervals. The champion has no rating: it wins nearly every race, and that says nothing about the others.
"""

import argparse
import itertools
import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qwop.commands import population
from qwop.common.errors import BadInput
from qwop.compare.main import markdown_table
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import load_policy
from qwop.policies.policy import Policy
from qwop.population.head_to_head import figures_of, play_head_to_head
from qwop.population.ratings import Ratings, Record

VARIANTS: Mapping[str, Sequence[str]] = {
    "population": [],
    "no evolution": ["evolution.enabled=false"],
    "rewards by hand": ["rewards=fixed"],
    "rewards drawn at random": ["rewards=drawn"],
    "self-play alone": ["opponents=itself"],
    "a single agent": ["agents=1", "opponents=itself"],
    "two time scales": ["agent=ftw"],
    "one time scale": ["agent=ftw", "agent.period=[1,1]"],
}


@dataclass(frozen=True)
class Run:
    """A finished run: its decisions, its best agent, and what this won against the first agents and the champion."""

    decisions: int
    best: Policy
    won: Mapping[str, float]

    @classmethod
    def read(cls, folder: Path) -> "Run":
        last = json.loads((folder / "history.jsonl").read_text().splitlines()[-1])
        races = json.loads((folder / "evaluation.json").read_text())["races"]
        won = {one["against"]: one["won"] for one in races}
        return cls(last["decisions"], load_policy(folder / "best.safetensors"), won)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=float, default=30e6, help="of all agents of a run together")
    parser.add_argument("--variants", nargs="*", default=[*VARIANTS], choices=[*VARIANTS], metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("runs/populations"))
    parser.add_argument("more", nargs="*", help="further settings of qwop-population, for all runs")
    options = parser.parse_args()
    runs = {}
    for name in options.variants:
        folder = options.out / name.replace(" ", "-")
        try:
            evolve(folder, [*VARIANTS[name], *options.more], options.decisions)
        except BadInput as error:
            parser.error(str(error))
        runs[name] = Run.read(folder)
    print(table(runs, rate(runs)))


def evolve(folder: Path, settings: Sequence[str], decisions: float) -> None:
    """Let a population play that many decisions, unless it has."""
    if (folder / "evaluation.json").exists():
        return
    run = population.read(list(settings))
    rounds = round(decisions / (run.agents * run.work.decisions))
    command = ["qwop-population", *settings, f"rounds={rounds}", f"out={folder}", "evaluation.against=[first,champion]"]
    if any((folder / "checkpoints").glob("decisions-*")):
        command.append("resume=true")
    print(shlex.join(command), flush=True)
    subprocess.run(command, check=True)


def rate(runs: Mapping[str, Run]) -> Ratings:
    """Race the best agents of the runs against each other, and rate them in this order."""
    policies, names = [run.best for run in runs.values()], [*runs]
    record = Record(len(policies))
    race = EnvironmentSpec("QWOPRace-v1", {"frames_per_step": 2, "observation": "contact", "time_limit": 100.0})
    for one, other in itertools.combinations(range(len(policies)), 2):
        races = play_head_to_head(policies[one], [policies[other]], race, games=301)
        print(f"{names[one]} {figures_of(races, names[other])['sentence']}", flush=True)
        record.add(one, other, float(races["result"].mean()), len(races))
    return record.ratings()


def table(runs: Mapping[str, Run], rated: Ratings) -> str:
    """Table of the runs, the one rated highest first."""
    rows = []
    ratings = zip(runs.items(), rated.ratings, rated.errors, strict=True)
    for (name, run), rating, error in sorted(ratings, key=lambda row: -row[1]):
        won = (f"{run.won[against]:.0%}" for against in ("first", "champion"))
        rows.append([name, f"{run.decisions / 1e6:.1f} M", *won, f"{rating:.0f} ± {1.96 * error:.0f}"])
    return markdown_table(["", "decisions", "won against its first agents", "against the champion", "rating"], rows)


if __name__ == "__main__":
    main()

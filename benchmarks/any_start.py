"""Demonstrations that pay from any start: runs from clones and from runners with another gait, with their controls.

    python benchmarks/any_start.py run kurodo 0                           # one row, one seed: minutes on one core
    python benchmarks/any_start.py run expert 0 --demonstrations data/kurodo-15
    python benchmarks/any_start.py table kurodo kurodo-without            # rows of all seeds that are there

A row is a list of plain commands, printed so that they can be repeated alone. `run` leaves `RUNS/ROW-SEED.json`: greedy
games from every start and 100 drawn ones after each phase, 300 more drawn ones of the final policy with another seed,
decisions and processor seconds. Rows with a person's games need Kurodo's forty at 15 decisions a second (Reproducing).
"""

import argparse
import json
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from demonstrations_in_replay import interval

CLONE = "qwop-pretrain seed={seed} games=0 out={run}/clone"
TUNE = "qwop-finetune seed={seed} threads=1 video=false out={run}/tuned"
FROM_CLONE = f"{TUNE} policy={{run}}/clone/policy.safetensors"

NOTHING = "schedule.phases.mixed.demonstrations=0 schedule.phases.mixed.imitation=0"

SLIDER = (
    "qwop-finetune policy=scratch demonstrations={data} algorithm=ppo schedule=live-only schedule.decisions=151552 "
    "schedule.phases.alone.entropy=[1,0] schedule.phases.alone.learning_rate=1 loop.num_envs=16 "
    "'schedule.phases.alone.environment={{reward: race}}' "
    "algorithm.minibatch=512 seed={seed} threads=1 video=false out={run}/start"
)
FROM_SLIDER = f"{TUNE} policy={{run}}/start/policy.safetensors demonstrations={{data}} schedule=from-expert"

ROWS = {
    "kurodo": [CLONE, f"{FROM_CLONE} schedule=kurodo"],
    "kurodo-without": [CLONE, f"{FROM_CLONE} schedule=kurodo {NOTHING} schedule.phases.fade.imitation=0"],
    "from-clone": [CLONE, f"{FROM_CLONE} schedule=from-clone"],
    "expert": [SLIDER, FROM_SLIDER],
    "expert-alone": [SLIDER, f"{FROM_SLIDER} schedule.phases.watching.decisions=0 {NOTHING}"],
}
"""Commands of a row, the last of which makes the policy. {run}: the run's folder; {data}: the demonstrations."""

FRESH = (
    "qwop-evaluate policy={run}/tuned/policy.safetensors greedy=false episodes=300 max_idle_frames=30 seed=1000 late=0 "
    "video=false out={run}/fresh"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="one row, one seed")
    one.add_argument("row", choices=list(ROWS))
    one.add_argument("seed", type=int)
    one.add_argument("--demonstrations", default="data/kurodo-15")
    table = commands.add_parser("table", help="a table of rows")
    table.add_argument("rows", nargs="+", choices=list(ROWS))
    for each in (one, table):
        each.add_argument("--runs", type=Path, default=Path("runs/any_start"))
    asked = parser.parse_args()
    if asked.command == "run":
        carry_out(asked.row, asked.seed, asked.demonstrations, asked.runs)
    else:
        print("\n".join(table_of(asked.rows, asked.runs)))


def carry_out(row: str, seed: int, data: str, runs: Path) -> None:
    """Run the commands of a row; write its figures."""
    run = runs / f"{row}-{seed}"
    for command in (*ROWS[row], FRESH):
        text = command.format(seed=seed, run=run, data=data)
        print(text, flush=True)
        subprocess.run(shlex.split(text), check=True, stdout=sys.stderr)
        if command == ROWS[row][-1]:
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
    phases = sorted((run / "tuned" / "phases").glob("[0-9]*.json"), key=lambda path: _number(path.stem))
    found = {
        "row": row,
        "seed": seed,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "phases": {path.stem: json.loads(path.read_text()) for path in phases},
        "fresh": json.loads((run / "fresh" / "evaluation.json").read_text()),
    }
    run.with_suffix(".json").write_text(json.dumps(found) + "\n")


def _number(name: str) -> tuple[int, str]:
    return int(name.partition("-")[0]), name


def table_of(rows: list[str], runs: Path) -> list[str]:
    """Lines of a table: each phase of each row over all its seeds, and the final policy's games with another seed."""
    lines = ["| | seeds | decisions | greedy: finished of 31 | median s | drawn: finished | median s | CPU s |"]
    lines.append("|" + "---|" * 8)
    for row in rows:
        found: list[dict[str, Any]] = [
            json.loads(path.read_text()) for path in sorted(runs.glob(f"{row}-[0-9]*.json"), key=lambda one: one.stem)
        ]
        for phase in found[0]["phases"] if found else ():
            figures = [one["phases"][phase] for one in found if phase in one["phases"]]
            if "drawn" in figures[0]:
                lines.append(_line(f"{row}: {phase}", figures, [one["drawn"] for one in figures], ""))
        if found:
            seconds = f"{interval([one['processor_seconds'] for one in found])}"
            lines.append(_line(f"{row}: drawn games of another seed", None, [one["fresh"] for one in found], seconds))
    return lines


def _line(name: str, greedy: list[dict[str, Any]] | None, drawn: list[dict[str, Any]], seconds: str) -> str:
    cells = [name, str(len(drawn)), f"{greedy[0]['decisions']:,}" if greedy else ""]
    for figures in (greedy, drawn):
        cells += ["", ""] if figures is None else [_every(figures, _finishes), _every(figures, _median)]
    return "| " + " | ".join([*cells, seconds]) + " |"


def _every(figures: list[dict[str, Any]], value: Callable[[dict[str, Any]], float | None]) -> str:
    values = [one for figure in figures if (one := value(figure)) is not None]
    return f"{interval(values)} ({', '.join(f'{one:g}' for one in values)})"


def _finishes(figures: dict[str, Any]) -> float:
    return float(figures["finishes"])


def _median(figures: dict[str, Any]) -> float | None:
    return None if figures["median_seconds"] is None else round(figures["median_seconds"], 2)


if __name__ == "__main__":
    main()

"""Repeated runs: a table of `qwop-finetune` runs over seeds, and what the scripts beside this one share.

    python benchmarks/repeated.py runs/few/*

Folders are called NAME-SEED; those of one name share a row for each phase: greedy games, then games with drawn actions,
as means with 95 % intervals of Student's t, and every seed. Seconds are those of computing, at the end of a phase.
"""

import argparse
import json
import resource
import shlex
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

T_975 = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09,
)  # fmt: skip
"""Student's t for 95 %, of 2 to 20 seeds."""

FIGURES = {"finishes": "finished", "mean_metres": "metres", "median_seconds": "median s"}


ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMBA")}
"""Variables with which a command computes with one thread."""

QUIET = ("evaluation.episodes=0", "evaluation.drawn=0", "video=false", "tracker=none")
"""Settings of a `qwop-finetune` that learns and no more."""


def cpu_seconds(who: int = resource.RUSAGE_CHILDREN) -> float:
    """Processor seconds of the processes that this one has started and that have ended, or of another of `who`."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def run_once(folder: Path, command: Sequence[str]) -> None:
    """Run a command that leaves `folder`, unless it is done; continue it if it was interrupted."""
    if (folder / "done").exists():
        return
    command = [*command, f"out={folder}", *(["resume=true"] if has_checkpoint(folder) else [])]
    print(shlex.join(command), flush=True)
    subprocess.run(command, check=True, stdout=sys.stderr)
    (folder / "done").touch()


def has_checkpoint(folder: Path) -> bool:
    return any((folder / "checkpoints").glob("decisions-*"))


def interval(values: Sequence[float]) -> str:
    """Mean ± half the width of its 95 % interval."""
    if not values:
        return "–"
    if not 0 <= len(values) - 2 < len(T_975):
        return f"{statistics.fmean(values):.1f}"
    half = T_975[len(values) - 2] * statistics.stdev(values) / len(values) ** 0.5
    return f"{statistics.fmean(values):.1f} ± {half:.1f}"


def every(values: Sequence[float]) -> str:
    """The mean with its interval, and each value."""
    return f"{interval(values)} ({', '.join(f'{one:g}' for one in values)})" if values else "–"


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


class Results:
    """Rows of `results.jsonl` in a folder. A result that is there is not computed again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "results.jsonl"
        self.rows: list[dict[str, Any]] = []
        if self._path.exists():
            self.rows = [json.loads(line) for line in self._path.read_text().splitlines()]

    def of(self, **named: object) -> list[dict[str, Any]]:
        """The rows with these values."""
        return [row for row in self.rows if named.items() <= row.items()]

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def compute(self, named: dict[str, Any], result: Callable[[], dict[str, Any]]) -> None:
        """Add the row of a result, unless it is there."""
        if not self.of(**named):
            self.add(named | result())


def table(runs: Iterable[Path]) -> str:
    """The table of these runs."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.name.rpartition("-")[0], int(run.name.rpartition("-")[2]))):
        log = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        phases = {path.stem: json.loads(path.read_text()) for path in (run / "phases").glob("*.json")}
        for phase, found in sorted(phases.items(), key=lambda one: one[1]["decisions"]):
            spent = [row["time/seconds"] for row in log if row["decisions"] <= found["decisions"]]
            rows[run.name.rpartition("-")[0], phase].append({**found, "seconds": spent[-1] if spent else 0.0})
    header = ["", "seeds", *(f"{kind}: {name}" for kind in ("greedy", "drawn") for name in FIGURES.values()), "seconds"]
    return markdown(header, ([f"{name}: {phase}", *_cells(found)] for (name, phase), found in rows.items()))


def _cells(found: list[dict[str, Any]]) -> list[str]:
    cells = [str(len(found))]
    for games in (found, [one.get("drawn", {}) for one in found]):
        for key in FIGURES:
            values = [one[key] for one in games if one.get(key) is not None]
            cells.append(every(values) if key == "finishes" else interval(values))
    return [*cells, f"{statistics.median(one['seconds'] for one in found):.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs, NAME-SEED")
    print(table(parser.parse_args().runs), end="")


if __name__ == "__main__":
    main()

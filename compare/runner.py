"""Rows as commands, run where they are missing: side by side, each with one thread on a core of its own."""

import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.metadata import version
from itertools import cycle
from json import dumps
from pathlib import Path
from threading import Event
from typing import Any

from ..commands import COMMANDS
from ..common.errors import BadInput, naming, quoted
from ..common.files import file_name, write_atomic
from ..common.run_folder import override
from ..finetune.log import METRICS
from .results import Plain, read_note

Row = str | Sequence[str] | Mapping[str, Any]

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMBA")}
WITH_FOLDER = ("qwop-finetune", "qwop-pretrain", "qwop-evaluate", "qwop-distil", "qwop-population")
"""Commands that get the run's folder and seed unless they have their own."""


@dataclass(frozen=True)
class Job:
    """A run. lines: its row's command lines; commands: those of this seed; after: folders of runs that they name."""

    row: str
    lines: list[str]
    seed: int
    folder: Path
    commands: list[list[str]]
    after: list[Path]


def jobs_of(rows: Mapping[str, Row], seeds: int | Sequence[int], out: Path) -> list[Job]:
    """The runs of all rows of command lines; BadInput for a row that is wrong, before any is run.

    In a command line {seed}, {run} (the run's folder), {out} and the names of rows above are replaced: these by the
    folder of their run with this seed, or of their first run.
    """
    jobs = list[Job]()
    for name, row in rows.items():
        with naming(name):
            lines, numbers = _lines_and_seeds(row, seeds)
            above = jobs[::-1]
            for seed in numbers if lines[0].startswith(("qwop-", "python ")) else ():
                folder = out / f"{file_name(name)}-{seed}"
                others = {one.row: one.folder for one in [*above, *(one for one in above if one.seed == seed)]}
                names = {one: str(value) for one, value in {**others, "seed": seed, "run": folder, "out": out}.items()}
                after = [other for one, other in others.items() if f"{{{one}}}" in " ".join(lines)]
                jobs.append(Job(name, lines, seed, folder, [_words(line, names) for line in lines], after))
    return jobs


def _lines_and_seeds(row: Row, seeds: int | Sequence[int]) -> tuple[list[str], list[int]]:
    content: Mapping[str, Any] = row if isinstance(row, Mapping) else {"command": row}
    if unknown := sorted(content.keys() - {"command", "settings", "seeds"}):
        raise BadInput(f"{quoted(unknown[0])} is unknown; expected command, settings and seeds")
    command, seeds = content.get("command", "qwop-finetune"), content.get("seeds", seeds)
    lines = [*command] if isinstance(command, Sequence) and not isinstance(command, str) else [command]
    numbers = [*range(seeds)] if isinstance(seeds, int) else [*seeds]
    if not lines or not all(isinstance(line, str) and line for line in lines):
        raise BadInput(f"{quoted(command)}, expected folders of finished runs, or command lines")
    if not numbers or not all(type(one) is int and one >= 0 for one in numbers):
        raise BadInput(f"seeds={quoted(seeds)}, expected a number of seeds, or a list of them")
    settings = [shlex.quote(override(key, value)) for key, value in content.get("settings", {}).items()]
    return [*lines[:-1], " ".join([lines[-1], *settings])], numbers


def _words(line: str, names: Mapping[str, str]) -> list[str]:
    try:
        program, *words = shlex.split(line)
    except ValueError as error:
        raise BadInput(f"{line}: {error}") from None
    for name, value in names.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    for name, value in {"seed": names["seed"], "out": names["run"]}.items() if program in WITH_FOLDER else ():
        words += [] if any(word.startswith(f"{name}=") for word in words) else [f"{name}={value}"]
    if program in COMMANDS:
        COMMANDS[program].read(words)
    elif program not in ("python", "qwop-dataset"):
        raise BadInput(f"{quoted(program)}: no such command; expected one of {', '.join(COMMANDS)}")
    return [program, *words]


def run_missing(jobs: Sequence[Job], workers: int) -> dict[Path, str]:
    """Run what is not done, `workers` jobs side by side; the last line of each that fails, by its folder.

    The jobs are in an order in which none names a later one. An interrupted training continues. BadInput for a folder
    that other commands made.
    """
    for job in jobs:
        before = read_note(job.folder)[1].get("row", job.lines)
        if [*map(shlex.split, before)] != [*map(shlex.split, job.lines)]:
            raise BadInput(f"{job.folder}: was made by {'; '.join(before)}; give out= another folder")
    cores = cycle(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ())
    stopped, running = Event(), list[subprocess.Popen[bytes]]()
    ends: dict[Path, Future[str]] = {}

    def take_core() -> None:
        """Keep a thread, and the processes that it starts, on a core of its own."""
        if (core := next(cores, None)) is not None:
            os.sched_setaffinity(0, {core})

    def carry_out(job: Job) -> str:
        """Run the commands that are not done; the last line of one that fails, else an empty text."""
        if failures := [folder.name for folder in job.after if ends[folder].result()]:
            return f"needs {failures[0]}, which failed"
        note, before = read_note(job.folder)
        record = before or {"seed": job.seed, "row": job.lines, "done": []}
        note.parent.mkdir(parents=True, exist_ok=True)
        output = note.with_suffix(".txt")
        for words in job.commands[len(record["done"]) :]:
            began = time.monotonic()
            output.unlink(missing_ok=True)  # a link is not followed
            with output.open("xb") as file:
                process = subprocess.Popen(
                    _line(words), stdout=file, stderr=file, env={**os.environ, **ONE_THREAD}, start_new_session=True
                )
            running.append(process)
            if stopped.is_set():
                process.terminate()
            if code := process.wait():
                text = output.read_text(encoding="utf-8", errors="replace").strip()
                return text.splitlines()[-1].strip() if text else f"exit code {code}"
            record["done"].append({"command": shlex.join(words), "seconds": time.monotonic() - began, **origin()})
            write_atomic(note, dumps(record, indent=1) + "\n")
        return ""

    pool = ThreadPoolExecutor(workers, initializer=take_core)
    try:
        for job in jobs:
            ends[job.folder] = pool.submit(carry_out, job)
        for folder, end in ends.items():
            print(f"{folder.name}: {end.result() or 'done'}", flush=True)
        return {folder: end.result() for folder, end in ends.items() if end.result()}
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()  # a training leaves a checkpoint
        pool.shutdown()


def _line(words: Sequence[str]) -> list[str]:
    """The command line of a program, which continues an interrupted run."""
    program = [sys.executable] if words[0] == "python" else [str(Path(sysconfig.get_path("scripts")) / words[0])]
    folder = next((Path(word.removeprefix("out=")) for word in words if word.startswith("out=")), Path())
    resumes = words[0] in ("qwop-finetune", "qwop-population") and "resume=true" not in words
    begun = (folder / METRICS).exists() or any(folder.glob("checkpoints/*"))
    return [*program, *words[1:], *(["resume=true"] if resumes and begun else [])]


@cache
def origin() -> Plain:
    """The day, version, machine and, in a checkout, commit of what runs now."""
    root, facts = Path(__file__).resolve().parents[1], {"day": date.today().isoformat(), "software": version("qwop")}
    if (root / ".git").exists():
        git = ["git", "-C", str(root), "describe", "--always", "--dirty"]
        facts["commit"] = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    return facts | {"machine": f"{platform.machine()}, {platform.system()}, {os.cpu_count()} cores"}

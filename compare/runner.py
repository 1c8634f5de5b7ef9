"""Rows as commands, run where they are missing: side by side, each with one thread on a core of its own."""

import os
import platform
import re
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
from json import dumps
from pathlib import Path
from queue import SimpleQueue
from threading import Event

from ..commands import COMMANDS
from ..common.errors import BadInput, naming, quoted
from ..common.files import file_name, write_atomic
from ..finetune.log import METRICS
from .results import Plain, note_of, read_note

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMBA")}
WITH_FOLDER = ("qwop-finetune", "qwop-pretrain", "qwop-evaluate", "qwop-distil", "qwop-population")
"""Commands that get the run's folder and seed unless they have their own."""


@dataclass(frozen=True)
class Job:
    """A run: its row's command lines, in which names stand in braces, and those of this seed. after: folders of other
    runs that they name."""

    seed: int
    folder: Path
    row: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    after: frozenset[Path]


def jobs_of(rows: Mapping[str, tuple[Sequence[str], Sequence[int]]], out: Path) -> dict[str, list[Job]]:
    """The runs of each row, from its command lines and seeds; BadInput for a wrong command line, before any is run.

    In a command line {seed}, {run} (the run's folder), {out} and the names of rows above are replaced: these by the
    folder of their run with this seed, or of their first run.
    """
    jobs_of_rows: dict[str, list[Job]] = {}
    for row, (lines, seeds) in rows.items():
        jobs_of_rows[row] = []
        for seed in seeds:
            above = {
                name: next((one for one in jobs if one.seed == seed), jobs[0]).folder
                for name, jobs in jobs_of_rows.items()
                if jobs
            }
            folder = out / f"{file_name(row)}-{seed}"
            names = {**above, "seed": seed, "run": folder, "out": out}
            with naming(row):
                commands = tuple(_words(line, {name: str(one) for name, one in names.items()}) for line in lines)
            after = frozenset(one for name, one in above.items() if f"{{{name}}}" in " ".join(lines))
            jobs_of_rows[row].append(Job(seed, folder, tuple(lines), commands, after))
    return jobs_of_rows


def _words(line: str, names: Mapping[str, str]) -> tuple[str, ...]:
    try:
        program, *words = (
            re.sub(r"\{([\w.-]+)\}", lambda match: names.get(match[1], match[0]), word) for word in shlex.split(line)
        )
    except ValueError as error:
        raise BadInput(f"{line}: {error}") from None
    names_of_line = {word.partition("=")[0] for word in words}
    own = {"seed": names["seed"], "out": names["run"]} if program in WITH_FOLDER else {}
    words += [f"{name}={value}" for name, value in own.items() if name not in names_of_line]
    if program in COMMANDS:
        COMMANDS[program].read(words)
    elif program not in ("python", "qwop-dataset"):
        raise BadInput(f"{quoted(program)}: no such command; expected one of {', '.join(COMMANDS)}")
    return program, *words


def run_missing(jobs: Sequence[Job], workers: int) -> dict[Path, str]:
    """Run what is not done, `workers` jobs side by side; the last line of each that fails, by its folder.

    The jobs are in an order in which none names a later one. An interrupted training continues. BadInput for a folder
    that other commands made.
    """
    for job in jobs:
        if (before := read_note(job.folder)) and [*map(shlex.split, before["row"])] != [*map(shlex.split, job.row)]:
            raise BadInput(f"{job.folder}: was made by {'; '.join(before['row'])}; give out= another folder")
    mine: list[int | None] = [*os.sched_getaffinity(0)] if hasattr(os, "sched_getaffinity") else [None]
    cores: SimpleQueue[int | None] = SimpleQueue()
    for number in range(workers):
        cores.put(mine[number % len(mine)])
    stopped, running = Event(), list[subprocess.Popen[bytes]]()
    waiting: dict[Path, Future[str | None]] = {}

    def carry_out(job: Job) -> str | None:
        """Run the commands that are not done; the last line of one that fails."""
        if failures := [folder.name for folder in job.after if waiting[folder].result() is not None]:
            return f"needs {failures[0]}, which failed"
        note, record = note_of(job.folder), read_note(job.folder) or {"seed": job.seed, "row": [*job.row], "done": []}
        note.parent.mkdir(parents=True, exist_ok=True)
        core = cores.get()
        try:
            for words in job.commands[len(record["done"]) :]:
                began, line = time.monotonic(), [*_program(words[0]), *words[1:], *_resumption(words)]
                with (output := note.with_suffix(".txt")).open("wb") as file:
                    environment = {**os.environ, **ONE_THREAD}
                    process = subprocess.Popen(
                        line, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True
                    )
                    running.append(process)
                    if stopped.is_set():
                        process.terminate()
                    if core is not None:
                        os.sched_setaffinity(process.pid, {core})
                    code = process.wait()
                if code:
                    lines = output.read_text(encoding="utf-8", errors="replace").split("\n")
                    return next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {code}")
                record["done"].append({"command": shlex.join(words), "seconds": time.monotonic() - began, **origin()})
                write_atomic(note, dumps(record, indent=1) + "\n")
        finally:
            cores.put(core)
        return None

    pool = ThreadPoolExecutor(workers)
    try:
        for job in jobs:
            waiting[job.folder] = pool.submit(carry_out, job)
        for folder, future in waiting.items():
            print(f"{folder.name}: {future.result() or 'done'}", flush=True)
        return {folder: last for folder, future in waiting.items() if (last := future.result()) is not None}
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()  # a training leaves a checkpoint
        pool.shutdown()


def _program(name: str) -> list[str]:
    return [sys.executable] if name == "python" else [str(Path(sysconfig.get_path("scripts")) / name)]


def _resumption(words: Sequence[str]) -> list[str]:
    folder = next((Path(word.removeprefix("out=")) for word in words if word.startswith("out=")), Path())
    resumes = words[0] in ("qwop-finetune", "qwop-population") and "resume=true" not in words
    return ["resume=true"] if resumes and ((folder / METRICS).exists() or any(folder.glob("checkpoints/*"))) else []


@cache
def origin() -> Plain:
    """The day, version, machine and, in a checkout, commit of what runs now."""
    root, facts = Path(__file__).resolve().parents[1], {"day": date.today().isoformat(), "software": version("qwop")}
    if (root / ".git").exists():
        git = ["git", "-C", str(root), "describe", "--always", "--dirty"]
        facts["commit"] = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    return facts | {"machine": f"{platform.machine()}, {platform.system()}, {os.cpu_count()} cores"}

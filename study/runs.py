"""One run of a study's command, in this process and a folder of its own; its figure is read from a file that it
writes."""

import math
import shutil
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from ..common.command import Command
from ..common.ends import lacks_memory
from ..common.errors import BadInput, naming, quoted
from ..common.files import CannotBeWritten, write_atomic
from ..common.reading import MEGABYTE, NotReadNow, read_json
from .settings import ObjectiveSettings, Parameter, Values

ERROR = "error.txt"
"""The reason of a run that failed, in its folder: the traceback or a line."""

OUTPUT = "output.txt"
"""File in a run's folder with what the run printed."""

LARGE = ("checkpoints", "tensorboard")
"""Folders of a run that are not needed here."""

LARGEST_RESULT = 64 * MEGABYTE


class RunFailed(Exception):
    """A run without a figure; the message gives the reason in one line."""


class CommandRun:
    """Runs the command with given values and seed; a run whose folder exists is not repeated.

    Until it is over, a run's folder has another name, so that a killed one starts anew, as does one during which the
    machine failed: that is not the fault of its values.
    """

    def __init__(self, command: Command[Any], settings: Sequence[str], objective: ObjectiveSettings) -> None:
        self._command, self._settings, self._objective = command, tuple(settings), objective

    def __call__(self, values: Values, seed: int, folder: Path) -> float:
        """The figure of the run in `folder`; RunFailed where it has none, and there is a reason in its error.txt.

        OSError or BadInput if the machine (a full disk, no memory) failed: nothing is recorded, and the run can be
        repeated.
        """
        if not folder.exists():
            self._run(values, seed, folder)
        if (folder / ERROR).exists():
            lines = (folder / ERROR).read_text(encoding="utf-8").strip().splitlines()
            raise RunFailed(lines[-1] if lines else "failed")
        try:
            return figure_of(folder, self._objective)
        except RunFailed as error:
            write_atomic(folder / ERROR, f"{error}\n")
            raise

    def words(self, values: Values, seed: int) -> list[str]:
        """The command line of a run, in any folder."""
        changes = [f"{name}={value}" for name, value in values.items()]
        return [self._command.program, *self._settings, *changes, f"seed={seed}"]

    def check(self, space: Sequence[Parameter]) -> None:
        """BadInput, naming the key of the study, for settings that the command does not have or does not accept."""
        with naming("study.settings"):
            self._read({}, 0, Path("out"))
        for one in space:
            for value in one.extremes:
                with naming(f"study.space.{one.name}"):
                    self._read({one.name: value}, 0, Path("out"))

    def _read(self, values: Values, seed: int, out: Path) -> Any:
        """The settings of a run; BadInput if the command does not accept them."""
        settings = self._command.read(self.words(values, seed)[1:]).with_(out=str(out))
        if getattr(settings, "resume", False):
            raise BadInput("resume=true: each run of a study begins anew; leave it out")
        return settings

    def _run(self, values: Values, seed: int, folder: Path) -> None:
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        if unfinished.exists():
            shutil.rmtree(unfinished)  # which refuses a link
        unfinished.mkdir(parents=True)
        with (
            (unfinished / OUTPUT).open("w", encoding="utf-8") as output,
            redirect_stdout(output),
            redirect_stderr(output),
        ):
            try:
                self._command.run(self._read(values, seed, unfinished))
            except Exception as error:
                if _of_the_machine(error):
                    shutil.rmtree(unfinished, ignore_errors=True)  # which also makes room
                    why = quoted(error, 200) or "out of memory"
                    raise BadInput(f"{folder}: {why}; the same command goes on with this run") from error
                reason = str(error) if isinstance(error, BadInput) else traceback.format_exc()
                write_atomic(unfinished / ERROR, reason.rstrip() + "\n")
        for name in LARGE:
            shutil.rmtree(unfinished / name, ignore_errors=True)
        unfinished.rename(folder)


def figure_of(folder: Path, objective: ObjectiveSettings) -> float:
    """The figure of a finished run; RunFailed if the file or figure is missing or not a number."""
    path = folder / objective.file
    try:
        node = read_json(path, LARGEST_RESULT, "the command writes no such file")
    except NotReadNow:  # the machine's fault
        raise
    except BadInput as error:
        raise RunFailed(str(error)) from None
    for name in objective.figure.split("."):
        if not isinstance(node, Mapping) or name not in node:
            has = ", ".join(node) if isinstance(node, Mapping) else quoted(node)
            raise RunFailed(f"{path}: no {objective.figure}; {name} is not among {has}")
        node = node[name]
    if isinstance(node, bool) or not isinstance(node, int | float) or not math.isfinite(node):
        raise RunFailed(f"{path}: {objective.figure} is {quoted(node)}, expected a number")
    return float(node)


def _of_the_machine(error: BaseException | None) -> bool:
    """True for a full disk, lost permissions or too little memory, also behind a library's own error."""
    while error is not None:
        by_system = isinstance(error, OSError) and error.errno
        if by_system or isinstance(error, CannotBeWritten | NotReadNow) or lacks_memory(error):
            return True
        error = error.__cause__
    return False

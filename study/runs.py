"""One run of a study's command, in this process and a folder of its own; its figure is read from a file that it
writes."""

import errno
import math
import shutil
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..common.checks import quoted
from ..common.command import Command
from ..common.ends import GONE, NO_ROOM, lacks_memory
from ..common.errors import BadInput, EnvironmentFailed, naming
from ..common.files import CannotBeWritten, write_atomic
from ..common.reading import MEGABYTE, NotReadNow, read_json
from .settings import ObjectiveSettings
from .space import Parameter, Values

ERROR = "error.txt"
"""The reason of a run that failed, in its folder: the traceback or a line."""

OUTPUT = "output.txt"
"""File in a run's folder with what the run printed."""

LARGE = ("checkpoints", "tensorboard")
"""Folders of a run that are not needed here."""

SHORT_OF = {errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN}
"""Errors of a machine that is short of memory, descriptors or processes."""

LARGEST_RESULT = 64 * MEGABYTE


class RunFailed(Exception):
    """A run without a figure; the message gives the reason in one line."""


class CommandRun:
    """Runs the command with given values and seed; a run whose folder exists is not repeated.

    Until it is over, a run's folder has another name, so that a killed one starts anew, as does one during which the
    machine failed, or an environment of whose settings none is searched: that is not the fault of its values.
    """

    def __init__(
        self, command: Command[Any], settings: Sequence[str], objective: ObjectiveSettings, keep_checkpoints: bool
    ) -> None:
        self._command = command
        self._settings = tuple(settings)
        self._objective = objective
        self._keep = keep_checkpoints

    def __call__(self, values: Values, seed: int, folder: Path) -> float:
        """The figure of the run in `folder`; RunFailed where it has none, and there is a reason in its error.txt.

        OSError or BadInput if the machine (a full disk, no memory) failed, or an environment of whose settings none is
        searched: nothing is recorded, and the run can be repeated.
        """
        if not folder.exists():
            self._run(values, seed, folder)
        if (folder / ERROR).exists():
            said = (folder / ERROR).read_text(encoding="utf-8").strip().splitlines()
            raise RunFailed(said[-1] if said else "failed")
        try:
            return figure_of(folder, self._objective)
        except RunFailed as error:
            _record(folder, error)
            raise

    def words(self, values: Values, seed: int) -> list[str]:
        """The command line of a run, in any folder."""
        given = [f"{name}={value}" for name, value in values.items()]
        return [self._command.program, *self._settings, *given, f"seed={seed}"]

    def check(self, space: Sequence[Parameter]) -> None:
        """BadInput, naming the key of the study, for settings that the command does not have or does not accept."""
        with naming("study.settings"):
            self._read({}, 0, Path("out"))
        for one in space:
            for value in one.extremes:
                with naming(f"study.space.{one.name}"):
                    self._read({one.name: value}, 0, Path("out"))

    def rehearse(self, space: Sequence[Parameter]) -> None:
        """BadInput where the command refuses its files or environments with the first and the last values of the space
        in the same words, so that these cannot be the reason."""
        refused = []
        for place in (0, -1):
            try:
                self._command.check(self._read({one.name: one.extremes[place] for one in space}, 0, Path("out")))
            except NotReadNow:
                raise
            except BadInput as error:
                refused.append(error)
            else:
                return
        if str(refused[0]) == str(refused[1]):
            raise refused[0]

    def _read(self, values: Values, seed: int, out: Path) -> Any:
        """The settings of a run; BadInput if the command does not accept them."""
        settings = replace(self._command.read(self.words(values, seed)[1:]), out=str(out))
        if getattr(settings, "resume", False):
            raise BadInput("resume=true: each run of a study begins anew; leave it out")
        return settings

    def _run(self, values: Values, seed: int, folder: Path) -> None:
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir(parents=True)
        with (
            (unfinished / OUTPUT).open("w", encoding="utf-8") as output,
            redirect_stdout(output),
            redirect_stderr(output),
        ):
            try:
                self._command.run(self._read(values, seed, unfinished))
            except Exception as error:
                if machine_failed(error) or (isinstance(error, EnvironmentFailed) and not _of_environment(values)):
                    shutil.rmtree(unfinished, ignore_errors=True)  # which also makes room
                    raise _in_a_line(error, folder) from error
                _record(unfinished, error)
        if not self._keep:
            for name in LARGE:
                shutil.rmtree(unfinished / name, ignore_errors=True)
        unfinished.rename(folder)


def figure_of(folder: Path, objective: ObjectiveSettings) -> float:
    """The figure of a finished run; RunFailed if the file or figure is missing or not a number."""
    path = folder / objective.file
    try:
        found = read_json(path, LARGEST_RESULT, "the command writes no such file")
    except NotReadNow:  # the machine's fault: nothing is recorded
        raise
    except BadInput as error:
        raise RunFailed(str(error)) from None
    for name in objective.figure.split("."):
        if not isinstance(found, Mapping) or name not in found:
            has = ", ".join(found) if isinstance(found, Mapping) else quoted(found)
            raise RunFailed(f"{path}: no {objective.figure}; {name} is not among {has}")
        found = found[name]
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise RunFailed(f"{path}: {objective.figure} is {quoted(found)}, expected a number")
    return float(found)


def machine_failed(error: BaseException | None) -> bool:
    """True for errors of the machine: a disk that is full or fails, lost permissions, no memory, no descriptors."""
    while error is not None:
        if lacks_memory(error) or isinstance(error, CannotBeWritten | NotReadNow):
            return True
        if isinstance(error, OSError) and error.errno in NO_ROOM | GONE | SHORT_OF:
            return True
        error = error.__cause__
    return False


def _of_environment(values: Values) -> bool:
    """True if settings of an environment are among those searched."""
    return any("environment" in name.split(".") for name in values)


def _in_a_line(error: Exception, folder: Path) -> OSError | BadInput:
    """The error as one that a command ends with in a line."""
    if isinstance(error, CannotBeWritten | NotReadNow):
        return error
    if isinstance(error, OSError) and error.errno in NO_ROOM | GONE:
        return OSError(error.errno, error.strerror, error.filename or str(folder))
    why = str(error) if isinstance(error, EnvironmentFailed) else quoted(str(error) or "out of memory", 200)
    return BadInput(f"{folder}: {why}; the same command goes on with this run")


def _record(folder: Path, error: Exception) -> None:
    """Write the reason of a failure: a traceback, or the single line of bad input or of a missing figure."""
    said = str(error) if isinstance(error, BadInput | RunFailed) else traceback.format_exc()
    write_atomic(folder / ERROR, said.rstrip() + "\n")

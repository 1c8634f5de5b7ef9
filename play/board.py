"""The board: runs as files of keys, each verified by replay, ranked by their times."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..common.errors import BadInput, quoted
from ..envs.names import FRAMES_A_SECOND
from ..envs.qwop.keys_file import comment, read_game, read_lines

OWN = Path(__file__).parent / "board"
"""Runs of this project's players."""

KINDS = ("human", "policy", "search", "human with corrections")
"""Classes of runs."""

MOST_RUNS = 1000


@dataclass(frozen=True)
class BoardRun:
    """A run on the board. path: its file. kind: one of `KINDS`. seconds: from the first key to the end."""

    path: Path
    name: str
    kind: str
    outcome: str
    metres: float
    seconds: float

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key, the best first: finished runs by time, then the others by distance."""
        finished = self.outcome == "finished"
        return (not finished, self.seconds if finished else -self.metres)


@dataclass(frozen=True)
class RefusedRun:
    """A file that is not a run. reason: one line."""

    path: Path
    reason: str


def read_board(folder: Path) -> tuple[list[BoardRun], list[RefusedRun]]:
    """Read the runs of a folder's files of keys, the best first, and the files that `read_run` refuses.

    BadInput without a folder or files.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder; expected one with files of keys, as qwop-play's page saves them")
    paths = sorted(folder.glob("*.txt"))
    if not 1 <= len(paths) <= MOST_RUNS:
        raise BadInput(f"{folder}: {len(paths)} files of keys (*.txt), expected from 1 to {MOST_RUNS:,}")
    runs, refused = [], []
    for path in paths:
        try:
            runs.append(read_run(path))
        except BadInput as error:
            refused.append(RefusedRun(path, str(error).removeprefix(str(path)).lstrip(":, ")))
    return sorted(runs, key=lambda run: run.rank), refused


def read_run(path: Path) -> BoardRun:
    """Read one run, and play it.

    BadInput, with the file, for a run that does not play as it says, and for a file that lacks the name
    and the digest (`# game:`) or the class (`# class:`).
    """
    keys, packed = read_game(path)
    if packed is None:
        raise BadInput(f"{path}: no line '# game: …' with name and digest; open it on qwop-play's page and save it")
    kind = comment(read_lines(path), "class")
    if kind not in KINDS:
        name = "none" if kind is None else quoted(kind)
        raise BadInput(f"{path}: its class is {name}; expected a line '# class: …' with one of {', '.join(KINDS)}")
    first = int(np.flatnonzero(keys)[0]) if keys.any() else len(keys)
    return BoardRun(
        path=path,
        name=packed.name,
        kind=kind,
        outcome=packed.outcome,
        metres=packed.metres,
        seconds=(len(keys) - first) / FRAMES_A_SECOND,
    )

"""The board: runs as files of keys, each verified by replay."""

from pathlib import Path

from ..common.errors import BadInput, quoted
from ..envs.qwop.keys_file import comment, read_game, read_lines

OWN = Path(__file__).parent / "board"
"""Runs of this project's players."""

KINDS = ("human", "policy", "search", "human with corrections")
"""Classes of runs."""

MOST_RUNS = 1000


def read_board(folder: Path) -> dict[str, str | None]:
    """Why a folder's files of keys are refused, in a line each, by their names; None for a run that plays as it says.

    BadInput without a folder or files.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder; expected one with files of keys, as qwop-play's page saves them")
    paths = sorted(folder.glob("*.txt"))
    if not 1 <= len(paths) <= MOST_RUNS:
        raise BadInput(f"{folder}: {len(paths)} files of keys (*.txt), expected from 1 to {MOST_RUNS:,}")
    reasons: dict[str, str | None] = dict.fromkeys(path.name for path in paths)
    for path in paths:
        try:
            require_run(path)
        except BadInput as error:
            reasons[path.name] = str(error).removeprefix(str(path)).lstrip(":, ")
    return reasons


def require_run(path: Path) -> None:
    """Play a run.

    BadInput, with the file, for a run that does not play as it says, and for a file that lacks the name
    and the digest (`# game:`) or the class (`# class:`).
    """
    _, packed = read_game(path)
    if packed is None:
        raise BadInput(f"{path}: no line '# game: …' with name and digest; open it on qwop-play's page and save it")
    kind = comment(read_lines(path), "class")
    if kind not in KINDS:
        name = "none" if kind is None else quoted(kind)
        raise BadInput(f"{path}: its class is {name}; expected a line '# class: …' with one of {', '.join(KINDS)}")

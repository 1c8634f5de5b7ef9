"""Moving faulty files out of the dataset without deleting them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from ...common.files import cannot_be_written
from ...common.folder_lock import FolderLock
from ..checksums import add_removed
from ..folder import SET_ASIDE
from .problem import Problem

REASONS = "reasons.txt"


def set_aside(folder: Path, problems: Iterable[Problem]) -> list[Path]:
    """Move the files with these problems into the folder `set-aside`, with a line for each in `reasons.txt`.

    Moves only what is in `folder` itself; returns the new paths. Nothing is deleted.
    """
    reasons: dict[Path, list[str]] = {}
    for problem in problems:
        if problem.file.parent == folder and os.path.lexists(problem.file):
            reasons.setdefault(problem.file, []).append(problem.found)
    if not reasons:
        return []
    with closing(FolderLock(folder)):  # removes what a killed process left
        return _moved(folder, reasons)


def _moved(folder: Path, reasons: Mapping[Path, Sequence[str]]) -> list[Path]:
    """Move the files, each with its reasons; returns the new paths."""
    try:
        (folder / SET_ASIDE).mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_be_written(folder / SET_ASIDE, error) from None
    moved = []
    for path, found in reasons.items():
        # The number may be used again, so the name alone could already be taken.
        target = folder / SET_ASIDE / f"{path.stem}-{uuid4().hex[:8]}{path.suffix}"
        with (folder / SET_ASIDE / REASONS).open("a", encoding="utf-8") as file:
            file.write(f"{target.name}: {'; '.join(found)}\n")
        add_removed(folder, path.name)
        path.rename(target)
        moved.append(target)
    return moved

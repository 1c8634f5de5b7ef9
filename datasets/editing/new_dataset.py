"""Atomic creation of a new dataset."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from ...common.ends import NO_ROOM
from ...common.errors import BadInput
from ...common.files import cannot_be_written, require_writable_folder
from ...common.folder_lock import whole_folder
from ...common.progress import progress_bar
from ...common.run_folder import clone_next
from ..describe import describe
from ..schema import DatasetInfo, Episode
from ..writer import DatasetWriter


@contextmanager
def new_folder(out: Path, sources: Sequence[Path]) -> Iterator[Path]:
    """Context manager: a folder to fill, renamed to `out` at the end or deleted after an error. BadInput unless `out`
    is free and outside the source's folders.
    """
    require_outside(out, sources)
    require_writable_folder(out, "out")
    try:
        with whole_folder(out, "out") as partial:
            yield partial
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise cannot_be_written(out, error) from None


def require_outside(out: Path, sources: Sequence[Path]) -> None:
    """Raise BadInput if `out` is one of the folders that are read, or within one."""
    for source in sources:
        # Not `Path.resolve`, which raises an error of its own where links lead in a circle.
        old, new = (Path(os.path.realpath(one)) for one in (source, out))
        if new == old or old in new.parents:
            raise BadInput(f"out={out}: is inside {source}, which stays as it is; give out= another place")


def write_dataset(folder: Path, info: DatasetInfo, episodes: Iterable[Episode], total: int, console: Console) -> int:
    """Write episodes as a dataset into an empty folder, with a progress bar; returns their number. What lies aside in
    other datasets stays there."""
    writer, count = DatasetWriter(folder, info, alone=True), 0
    with progress_bar("episodes", console) as progress:
        for episode in progress.track(episodes, total, description="writing"):
            writer.write(episode)
            count += 1
    return count


def finish(out: Path, console: Console) -> None:
    """Write the derived files of a finished dataset, and print its statistics."""
    console.print(describe(out).table(f"{out}"))
    console.print(clone_next(out))

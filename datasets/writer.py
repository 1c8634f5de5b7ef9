"""Writing: each episode is written completely or not at all, and nothing is overwritten."""

import errno
import json
import os
from pathlib import Path

import pyarrow.parquet as pq

from ..common.errors import BadInput
from ..common.files import beside, sync_folder, write_synced
from ..common.occupancy import Occupancy
from .folder import DESCRIPTION, RECORDINGS, next_number, read_info, require_same
from .schema import DatasetInfo, Episode
from .tables import to_table

NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class DatasetWriter:
    """Writes episodes to `folder`, which is created and described unless it already is a dataset.

    A file is written under a temporary name, synced, and only then given its name by a hard link, which fails if the
    name is taken. A file with an episode's name is therefore complete, numbering continues, and any number of writers
    can share a folder without a lock that could go stale; what a killed one left is removed by the next. Raises
    BadInput if the folder holds episodes of other settings.
    """

    def __init__(self, folder: str | os.PathLike[str], info: DatasetInfo) -> None:
        self.folder = Path(folder)
        self.info = info
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not (self.folder / DESCRIPTION).exists():
                self._describe()
        except (FileExistsError, NotADirectoryError):
            raise BadInput(f"{self.folder}: a file is in the way; give dataset= another folder") from None
        except OSError as error:
            raise BadInput(
                f"{self.folder}: cannot be written ({error.strerror}); give dataset= another folder"
            ) from None
        require_same(read_info(self.folder), info, self.folder)
        self._presence = Occupancy(self.folder, within=(RECORDINGS,))
        self._next = next_number(self.folder)

    def write(self, episode: Episode) -> Path:
        """Add an episode and return its path, once it is on the disk; ValueError if it does not fit `info`."""
        episode.require_fit(self.info)
        table = to_table(episode, self.info)
        with beside(self.folder / "episode") as partial:
            write_synced(
                partial, lambda file: pq.write_table(table, file, compression="zstd", write_page_checksum=True)
            )
            while not _give_name(partial, path := self.folder / f"episode-{self._next:06d}.parquet"):
                self._next += 1
        sync_folder(self.folder)
        self._next += 1
        return path

    def _describe(self) -> None:
        if next_number(self.folder) > 0:
            raise BadInput(f"{self.folder}: has episodes but no {DESCRIPTION}; give dataset= another folder")
        with beside(self.folder / DESCRIPTION) as partial:
            write_synced(partial, json.dumps(self.info.to_json(), indent=2) + "\n")
            _give_name(partial, self.folder / DESCRIPTION)  # unless another writer was faster
        sync_folder(self.folder)


def _give_name(partial: Path, path: Path) -> bool:
    """Give the file `partial` the name `path`; False if the name is taken."""
    try:
        os.link(partial, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        return _give_name_without_links(partial, path)
    return True


def _give_name_without_links(partial: Path, path: Path) -> bool:
    """Same as `_give_name`, for file systems without hard links (exFAT, some network drives).

    The writer that creates the claim file may rename. A claim left behind by a killed writer only costs a number.
    """
    claim = path.with_name(f".{path.name}.claim")
    try:
        claim.open("x").close()
    except FileExistsError:
        return False
    if path.exists():
        claim.unlink()
        return False
    partial.rename(path)
    claim.unlink()
    return True

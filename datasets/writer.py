"""Episodes into a dataset's folder: whole or not at all, and never over anything."""

import errno
import json
import os
import re
from pathlib import Path

import pyarrow.parquet as pq

from ..common.errors import BadInput
from ..common.files import beside, sync_folder, write_synced
from .schema import DatasetInfo, Episode
from .tables import to_table

DESCRIPTION = "dataset.json"

EPISODE_NAME = re.compile(r"episode-(\d{6,})\.parquet")

NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class DatasetWriter:
    """Writes episodes into `folder`, which is made and described unless it is a dataset already.

    A file is written beside its place, synced, and only then given its name by a hard link, which fails where the name
    is taken. So a file that has the name is whole, numbering continues, and any number of writers can share a folder:
    there is no lock that could go stale. BadInput where the folder holds episodes of other settings.
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
        self._next = next_number(self.folder)

    def write(self, episode: Episode) -> Path:
        """Add one episode; its path. Returns when the file is on the disk. ValueError where it does not fit `info`."""
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
            _give_name(partial, self.folder / DESCRIPTION)  # another writer may have been faster
        sync_folder(self.folder)


def read_info(folder: Path) -> DatasetInfo:
    """What all episodes of the dataset in `folder` share; BadInput where the folder is none."""
    path = folder / DESCRIPTION
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        found = f"no {DESCRIPTION} in it" if folder.is_dir() else "no such folder"
        raise BadInput(f"{folder}: {found}; expected a dataset's folder, as qwop-record writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    try:
        return DatasetInfo.from_json(json.loads(text))
    except ValueError as error:  # BadInput, or JSON that is none
        raise BadInput(f"{path}: {str(error).splitlines()[0]}") from None


def require_same(found: DatasetInfo, expected: DatasetInfo, folder: Path) -> None:
    """BadInput, saying which settings differ, unless the dataset in `folder` is one of `expected`."""
    if differences := found.differences(expected):
        raise BadInput(f"{folder}: a dataset of other settings: {'; '.join(differences)}; give dataset= another folder")


def next_number(folder: Path) -> int:
    """The number after the last episode in `folder`."""
    matches = (EPISODE_NAME.fullmatch(name) for name in os.listdir(folder))
    return max((int(match[1]) + 1 for match in matches if match), default=0)


def _give_name(partial: Path, path: Path) -> bool:
    """Make the file `partial` appear as `path`; False where there is one of that name already."""
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
    """As `_give_name`, for file systems without hard links (exFAT, some network drives).

    Who creates the claim may rename. A claim that a killed writer left behind costs a number, nothing else.
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

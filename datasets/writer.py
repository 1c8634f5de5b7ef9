"""Writing: each episode is written atomically, and nothing is overwritten."""

import errno
import io
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ..common.errors import BadInput
from ..common.files import make_missing, named_path, sync_folder, temporary_sibling, write_synced
from ..common.folder_lock import FolderLock
from .arrow import identity, renumbered, to_table
from .checksums import add_checksums, read_checksums, sha256
from .folder import (
    DESCRIPTION,
    RECORDINGS,
    episode_name,
    next_number,
    read_info,
    require_no_export,
    require_same,
    to_text,
)
from .reader import read_episode
from .schema import DatasetInfo, Episode

NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class DatasetWriter:
    """Writes episodes to `folder`, which is created and described unless it already is a dataset.

    A file is written under a temporary name, synced, and only then given its name by a hard link, which fails if the
    name is taken. A file with an episode's name is therefore complete, numbering continues, and any number of writers
    can share a folder without a lock that could go stale. Its checksum is listed afterwards, so a killed writer leaves
    at worst an unlisted episode and a temporary file that the next writer removes. Raises BadInput if the folder holds
    episodes of other settings, and for settings that files may not contain.
    """

    def __init__(self, folder: str | os.PathLike[str], info: DatasetInfo) -> None:
        self.folder = named_path(folder, "dataset's folder")
        self.info = info
        info.environment.require_readable()
        try:
            make_missing(self.folder)
            self._presence = FolderLock(self.folder, within=(RECORDINGS,))  # before it writes anything
            if not (self.folder / DESCRIPTION).exists():
                self._describe()
        except (FileExistsError, NotADirectoryError):
            raise BadInput(f"{self.folder}: a file is in the way; give another folder") from None
        except OSError as error:
            raise BadInput(f"{self.folder}: cannot be written ({error.strerror}); give another folder") from None
        require_no_export(self.folder)
        require_same(self.folder, info)
        self.info = replace(info, version=read_info(self.folder).version)
        read_checksums(self.folder)  # raises if they cannot be read, rather than at the first episode
        self._next = next_number(self.folder)
        self._others: set[str] = set()  # episodes of writers beside this one

    def write(self, episode: Episode) -> Path:
        """Add an episode and return its path, once it is on the disk; ValueError if it does not fit `info`, BadInput if
        another writer has just added it: two at once of the same policy and seed play the same games.
        """
        episode.require_fit(self.info)
        table = to_table(episode, self.info, self._next)
        self._require_new(episode)
        while not self._place(episode_name(self._next), to_parquet(table)):
            with suppress(BadInput):  # a claim without an episode
                self._others.add(_game(read_episode(self.folder / episode_name(self._next), self.info)))
            self._require_new(episode)
            self._next += 1  # another writer has the number, which the file holds too
            table = renumbered(table, self._next)
        self._next += 1
        return self.folder / episode_name(self._next - 1)

    def _require_new(self, episode: Episode) -> None:
        if self._others and _game(episode) in self._others:
            raise BadInput(f"{self.folder}: another process is recording the same games; wait for it, or record others")

    def _place(self, name: str, content: bytes) -> bool:
        """Put a file with this content under a name, listed and on the disk; False if the name is taken."""
        with temporary_sibling(self.folder / name) as partial:
            write_synced(partial, content)
            if not _give_name(partial, self.folder / name):
                return False
        sync_folder(self.folder)
        with suppress(OSError):  # a full disk; the file itself is safe, and `qwop-dataset describe` lists it
            add_checksums(self.folder, {name: sha256(content)})
        return True

    def _describe(self) -> None:
        if next_number(self.folder) > 0:
            raise BadInput(f"{self.folder}: has episodes but no {DESCRIPTION}; give another folder")
        self._place(DESCRIPTION, to_text(self.info.description()).encode())  # unless another writer was faster


def _game(episode: Episode) -> str:
    """The identity of an episode, whenever and by whatever version it was written."""
    return identity(replace(episode, created=None, software_version=None))


def to_parquet(table: pa.Table) -> bytes:
    """The Parquet file of an episode's table.

    Floating-point numbers are split into streams of their first, second … bytes, not put into a dictionary, in which
    each would be an entry: an episode of QWOP is a third smaller.
    """
    buffer = io.BytesIO()
    leaves = dict(_leaf(field.name, field.type) for field in table.schema)
    pq.write_table(
        table,
        buffer,
        compression="zstd",
        write_page_checksum=True,
        use_byte_stream_split=[path for path, kind in leaves.items() if pa.types.is_floating(kind)],
        use_dictionary=[path for path, kind in leaves.items() if not pa.types.is_floating(kind)],
    )
    return buffer.getvalue()


def _leaf(path: str, kind: pa.DataType) -> tuple[str, pa.DataType]:
    """The path and type of the values in a column, which may be a list of lists."""
    while pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        path, kind = f"{path}.list.element", kind.value_type
    return path, kind


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

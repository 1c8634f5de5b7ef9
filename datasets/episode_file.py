"""An episode's file, opened: checked before it is decoded, whole or column by column."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..common.checks import LONGEST_REASON, quoted
from ..common.errors import BadInput
from ..common.reading import CannotBeRead, content_of, open_regular
from .arrow import decode_metadata, encode_metadata, from_table
from .bounds import LARGEST, LARGEST_FILE, require_bounded, require_footer
from .checksums import CHECKSUMS, sha256
from .columns import arrow_schema
from .folder import DESCRIPTION, episode_number
from .schema import DatasetInfo, Episode

ARROW_SCHEMA = b"ARROW:schema"
"""Name of the entry of Parquet's metadata in which Arrow keeps its own schema."""


@dataclass(frozen=True)
class EpisodeFile:
    """The file of an episode. sha256: of its bytes. Its methods raise BadInput for faulty content."""

    path: Path
    sha256: str
    parquet: pq.ParquetFile
    source: Any
    size: int

    @cached_property
    def raw_metadata(self) -> Mapping[bytes, bytes]:
        """The raw metadata of the file: those of Parquet's footer, over which the hash of the content is.

        Arrow writes them a second time, into its own schema, and reads them from there; BadInput where that differs.
        """
        found: dict[bytes, bytes] = dict(self.parquet.metadata.metadata or {})
        found.pop(ARROW_SCHEMA, None)
        if (copy := self.parquet.schema_arrow.metadata) and copy != found:
            name = next(name for name in sorted({*copy, *found}) if copy.get(name) != found.get(name))
            shown = quoted(name.decode("utf-8", errors="replace"))
            raise BadInput(f"its metadata are in it twice, and {shown} differs between them; the file was changed")
        return found

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata, see `arrow.decode_metadata`."""
        return decode_metadata(self.raw_metadata)

    def episode(self, info: DatasetInfo) -> Episode:
        """The episode, checked completely; it has to belong to a dataset of `info`."""
        return self.episode_of(self.table(info), info)

    def episode_of(self, table: pa.Table, info: DatasetInfo) -> Episode:
        """The same, from the table of all columns where that has been read already."""
        return from_table(table, info, episode_number(self.path), self.metadata)

    def table(self, info: DatasetInfo, columns: Sequence[str] | None = None) -> pa.Table:
        """Some columns, or all of an episode's, T + 1 rows, with the file's metadata."""
        self._require_same(info)
        require_bounded(self.parquet, self.source, self.size, info)
        # An episode is too small for threads to help.
        table = self.parquet.read(list(columns or arrow_schema(info).names), use_threads=False)
        if table.num_rows != self.parquet.metadata.num_rows:
            raise BadInput(f"its footer says {self.parquet.metadata.num_rows:,} rows, but it has {table.num_rows:,}")
        return table.replace_schema_metadata(self.raw_metadata)

    def _require_same(self, info: DatasetInfo) -> None:
        if encode_metadata(info.to_json()).items() <= self.raw_metadata.items():
            return
        own = DatasetInfo.from_json(self.metadata)
        differences = info.differences(own)
        if own.version != info.version:
            differences.append(f"schema_version is {info.version}, not {own.version}")
        if differences:
            raise BadInput(f"does not belong to this dataset, whose {DESCRIPTION} says {'; '.join(differences)}")


@contextmanager
def open_episode_file(path: Path, checksum: str | None = None) -> Iterator[EpisodeFile]:
    """Context manager: open an episode's file. Errors about its content within the context become BadInput naming it.

    checksum: expected SHA-256 of the file, if known; BadInput for another.
    """
    with open_regular(path, LARGEST_FILE, ADVICE) as (file, size):
        if size > LARGEST:  # before all of it is read
            with naming(path):
                require_footer(file, size)
        if size <= LARGEST:
            content = content_of(file, path, LARGEST, ADVICE)
            digest, source = sha256(content), pa.BufferReader(content)
        else:
            opened: Any = file
            digest, source = hashlib.file_digest(opened, "sha256").hexdigest(), file
        if checksum not in (None, digest):
            raise changed(path)
        with naming(path):
            require_footer(source, size)
            # pq.read_table would take a folder named 'x=1' for a partition and add a column.
            with pq.ParquetFile(source, page_checksum_verification=True) as parquet:
                yield EpisodeFile(path, digest, parquet, source, size)


def changed(path: Path) -> BadInput:
    """The error for a file whose checksum is not the listed one."""
    return BadInput(
        f"{path}: was changed, or {CHECKSUMS} was: its SHA-256 is not the one listed there; qwop-dataset verify "
        f"{path.parent} says more"
    )


ADVICE = "move it out of the dataset"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Context manager: turn errors about the content of the file `path` into BadInput that names it."""
    try:
        yield
    except CannotBeRead:
        raise
    except BadInput as error:
        raise BadInput(f"{path}: {error}; {ADVICE}") from None
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        reason = quoted(error, LONGEST_REASON) or type(error).__name__
        raise BadInput(f"{path}: damaged or not a Parquet file ({reason}); {ADVICE}") from None

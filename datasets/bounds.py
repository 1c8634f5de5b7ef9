"""Bounds of an episode's file, checked before anything in it is decompressed or decoded.

A Parquet file of a kilobyte can hold a billion equal numbers without saying so in its footer. Arrow follows the header
of each page (in Thrift's compact protocol), so the memory that reading will take is counted from these.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from ..common.checks import quoted
from ..common.errors import BadInput
from ..common.reading import MEGABYTE
from .arrow import require_types
from .columns import arrow_schema
from .schema import DatasetInfo
from .thrift import NoEnd, Struct, read_struct

LARGEST = 256 * MEGABYTE
"""Bytes of an episode in memory that are permitted for any file."""

RATIO = 100
"""Bytes of an episode in memory permitted for each byte of its file, if that is more: long games of pictures."""

LARGEST_FILE = 4096 * MEGABYTE
"""Largest size of an episode's file, bytes."""

LARGEST_FOOTER = 16 * MEGABYTE
"""Bytes of the columns' places and the metadata at a file's end."""

LONGEST_HEADER = 64 * 1024
"""Bytes of a page's header."""

USUAL_HEADER = 256
"""Bytes read first for a page's header; ours have about 50."""

MOST_PAGES = 20_000
"""Largest number of pages of a column; ours have about a megabyte each."""

PAGE_HEADER = "a page's header"

_FIXED_LEN_BYTE_ARRAY = 7

# Numbers of fields in Parquet's FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_ROW_GROUPS = 4
_COLUMNS = 1
_META_DATA = 3
_TYPE, _PATH, _NUM_VALUES, _COMPRESSED_SIZE, _DATA_PAGES, _DICTIONARY_PAGE = 1, 3, 5, 7, 9, 11

# Numbers of fields in PageHeader, and of num_values in the headers of data pages, dictionary pages and data pages 2.
_UNCOMPRESSED_PAGE, _COMPRESSED_PAGE = 2, 3
_KINDS_OF_PAGE = (5, 7, 8)
_VALUES = 1

_LEVELS = 5
"""Bytes that Arrow needs for each value of a column while it reads, besides the value: levels and a null's bit."""


def require_footer(file: BinaryIO, size: int) -> None:
    """Raise BadInput for a footer that is larger than any right one, which Arrow would read whole."""
    file.seek(max(0, size - 8))
    length, mark = int.from_bytes(file.read(4), "little"), file.read(4)
    file.seek(0)
    if mark != b"PAR1" and size > LARGEST:
        raise BadInput("damaged or not a Parquet file (it does not end as one)")
    if mark == b"PAR1" and size > length > LARGEST_FOOTER:
        raise BadInput(f"a footer of {length:,} bytes, more than the {LARGEST_FOOTER:,} permitted")


def require_bounded(parquet: pq.ParquetFile, file: BinaryIO, size: int, info: DatasetInfo) -> None:
    """Raise BadInput unless the columns of an episode have the types of `info` and fit the memory that is permitted.

    file: the opened file that `parquet` reads, of `size` bytes.
    """
    found, names = parquet.schema_arrow, arrow_schema(info).names
    require_types(found, info)
    if info.version > 1 and (more := [name for name in found.names if name not in names]):
        raise BadInput(f"column {quoted(more[0])} is not one of an episode's: {', '.join(names)}")
    if parquet.metadata.num_rows < 2:
        raise BadInput("it has no decision")
    require_memory(file, size, width=info.observation.size)


def require_memory(file: BinaryIO, size: int, *, width: int, columns: Collection[str] | None = None) -> int:
    """Raise BadInput unless the columns of a Parquet file, or all, fit the memory that is permitted for it; returns the
    bytes that they need.

    file: of `size` bytes. width: bytes of a value that is binary of a fixed length.
    """
    most = permitted(size)
    needed = 0
    for chunk in _chunks(file, size):
        if columns is not None and chunk.column not in columns:
            continue
        each = _LEVELS + (width if chunk.kind == _FIXED_LEN_BYTE_ARRAY else 8)
        for uncompressed, values in _pages(file, chunk, size):
            needed += uncompressed + values * each
            require_permitted(needed, most, size)
    return needed


def permitted(size: int) -> int:
    """Bytes of memory that the content of a file of `size` bytes may take."""
    return max(LARGEST, RATIO * size)


def require_permitted(needed: int, most: int, size: int) -> None:
    """Raise BadInput if a file of `size` bytes needs more than `most` bytes of memory."""
    if needed > most:
        raise BadInput(
            f"{needed / MEGABYTE:,.0f} MB or more in memory, more than the {most / MEGABYTE:,.0f} MB permitted "
            f"for a file of {size:,} bytes"
        )


@dataclass(frozen=True)
class _Chunk:
    """The place of one column's values. name: with those of lists' items, as in 'keys.list.element'. column: the one
    that the values belong to, whose name may have dots. kind: its physical type, a number of Parquet's."""

    name: str
    column: str
    kind: int
    place: int
    end: int


def _chunks(file: Any, size: int) -> Iterator[_Chunk]:
    """The columns' places in all row groups, as the footer declares them."""
    file.seek(size - 8)
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(size - 8 - length, 0))
    footer, _ = read_struct(file.read(length), "its footer")
    try:
        for group in footer[_ROW_GROUPS]:
            for column in group[_COLUMNS]:
                found = column[_META_DATA]
                if found[_NUM_VALUES] == 0:  # of a table without rows, which has no pages that Arrow would read
                    continue
                path = [part.decode("utf-8", errors="replace") for part in found[_PATH]]
                name = ".".join(path)
                place, dictionary = found[_DATA_PAGES], found.get(_DICTIONARY_PAGE, 0)
                if 0 < dictionary < place:
                    place = dictionary
                end = place + found[_COMPRESSED_SIZE]
                if not 0 <= place <= end <= size:
                    raise BadInput(f"column {quoted(name)} lies outside the file")
                yield _Chunk(name, path[0], found[_TYPE], place, end)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise BadInput("its footer does not tell where its columns are") from None


def _header(file: Any) -> tuple[Struct, int]:
    """The header of the page that begins at the file's place, and its length."""
    start = file.read(USUAL_HEADER)
    try:
        return read_struct(start, PAGE_HEADER)
    except NoEnd:
        return read_struct(start + file.read(LONGEST_HEADER - USUAL_HEADER), PAGE_HEADER)


def _pages(file: Any, chunk: _Chunk, size: int) -> Iterator[tuple[int, int]]:
    """Bytes and number of values of every page of a column, as its header declares them."""
    place = chunk.place
    count = 0
    while place < chunk.end:
        if (count := count + 1) > MOST_PAGES:
            raise BadInput(f"column {quoted(chunk.name)} has more than {MOST_PAGES:,} pages")
        file.seek(place)
        header, length = _header(file)
        try:
            uncompressed, compressed = header[_UNCOMPRESSED_PAGE], header[_COMPRESSED_PAGE]
            values = sum(header[kind][_VALUES] for kind in _KINDS_OF_PAGE if kind in header)
            sound = 0 <= compressed <= size and uncompressed >= 0 and values >= 0
        except (KeyError, IndexError, TypeError):
            raise BadInput(f"column {quoted(chunk.name)} has a page without sizes") from None
        if not sound:
            raise BadInput(f"column {quoted(chunk.name)} has a page of negative or impossible size")
        yield uncompressed, values
        place += length + compressed

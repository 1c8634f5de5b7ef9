"""Bounds of an episode's file, checked before anything in it is decompressed or decoded.

A Parquet file of a kilobyte can hold a billion equal numbers, and its footer need not say so: the pages do, each in a
header (Thrift's compact protocol) that Arrow obeys. What is counted here is what reading will take.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from ..common.checks import show
from ..common.errors import BadInput
from ..common.reading import MEGABYTE
from .schema import DatasetInfo, arrow_schema
from .thrift import read_struct

LARGEST = 256 * MEGABYTE
"""Bytes of an episode in memory that any file may ask for."""

RATIO = 100
"""Bytes of an episode in memory for each byte of its file, where that permits more: long games of pictures."""

LARGEST_FILE = 4096 * MEGABYTE
"""Bytes of an episode's file, at most."""

LARGEST_FOOTER = 16 * MEGABYTE
"""Bytes of the columns' places and the metadata at a file's end."""

LONGEST_HEADER = 64 * 1024
"""Bytes of a page's header; ours have about 50."""

MOST_PAGES = 20_000
"""Pages of a column; ours have about a megabyte each."""

_FIXED_LEN_BYTE_ARRAY = 7

# Numbers of fields in Parquet's FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_ROW_GROUPS = 4
_COLUMNS = 1
_META_DATA = 3
_TYPE, _PATH, _COMPRESSED_SIZE, _DATA_PAGES, _DICTIONARY_PAGE = 1, 3, 7, 9, 11

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

    file: the opened file that `parquet` reads, of so many bytes.
    """
    found = parquet.schema_arrow
    for field in arrow_schema(info):
        kind = found.field(field.name).type if found.names.count(field.name) == 1 else "missing"
        if kind != field.type:
            raise BadInput(f"column {field.name} is {show(kind)}, expected {field.type}")
    if info.version > 1 and (more := [name for name in found.names if name not in arrow_schema(info).names]):
        raise BadInput(f"column {show(more[0])} is not one of an episode's: {', '.join(arrow_schema(info).names)}")
    if parquet.metadata.num_rows < 2:
        raise BadInput("it has no decision")
    most = max(LARGEST, RATIO * size)
    needed = 0
    for chunk in _chunks(file, size):
        width = info.observation.size if chunk.kind == _FIXED_LEN_BYTE_ARRAY else 8
        for uncompressed, values in _pages(file, chunk, size):
            needed += uncompressed + values * (width + _LEVELS)
            if needed > most:
                raise BadInput(
                    f"{needed / MEGABYTE:,.0f} MB or more in memory, more than the {most / MEGABYTE:,.0f} MB permitted "
                    f"for a file of {size:,} bytes"
                )


@dataclass(frozen=True)
class _Chunk:
    """The place of one column's values. kind: its physical type, a number of Parquet's."""

    name: str
    kind: int
    place: int
    end: int


def _chunks(file: Any, size: int) -> Iterator[_Chunk]:
    """The columns' places in all row groups, as the footer declares them."""
    file.seek(size - 8)
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(size - 8 - length, 0))
    footer = read_struct(file.read(length))
    try:
        for group in footer[_ROW_GROUPS]:
            for column in group[_COLUMNS]:
                found = column[_META_DATA]
                name = b".".join(found[_PATH]).decode("utf-8", errors="replace")
                place, dictionary = found[_DATA_PAGES], found.get(_DICTIONARY_PAGE, 0)
                if 0 < dictionary < place:
                    place = dictionary
                end = place + found[_COMPRESSED_SIZE]
                if not 0 <= place <= end <= size:
                    raise BadInput(f"column {show(name)} lies outside the file")
                yield _Chunk(name, found[_TYPE], place, end)
    except (KeyError, TypeError, AttributeError):
        raise BadInput("its footer does not tell where its columns are") from None


def _pages(file: Any, chunk: _Chunk, size: int) -> Iterator[tuple[int, int]]:
    """Bytes and number of values of every page of a column, as its header declares them."""
    place = chunk.place
    count = 0
    while place < chunk.end:
        if (count := count + 1) > MOST_PAGES:
            raise BadInput(f"column {show(chunk.name)} has more than {MOST_PAGES:,} pages")
        file.seek(place)
        header = _Header(file.read(LONGEST_HEADER))
        if not 0 <= header.compressed <= size or header.uncompressed < 0 or header.values < 0:
            raise BadInput(f"column {show(chunk.name)} has a page of negative or impossible size")
        yield header.uncompressed, header.values
        place += header.length + header.compressed


class _Header:
    """The header of a page: its length, the sizes of its data and the number of its values.

    Fields that stand twice count twice, and so do those of several kinds of page: more than Arrow can read of them.
    """

    UNCOMPRESSED, COMPRESSED, KINDS, VALUES = 2, 3, (5, 7, 8), 1
    """Numbers of the fields in `PageHeader`, and of `num_values` in the headers of each kind of page."""

    DEEPEST = 8

    def __init__(self, data: bytes) -> None:
        self._data, self.length = data, 0
        self.uncompressed = self.compressed = self.values = 0
        try:
            self._struct(())
        except IndexError:
            raise BadInput("a page's header has no end") from None

    def _struct(self, path: tuple[int, ...]) -> None:
        if len(path) > self.DEEPEST:
            raise BadInput("a page's header is nested too deeply")
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._integer()
            self._value(kind & 15, (*path, number))

    def _value(self, kind: int, path: tuple[int, ...], inside: bool = False) -> None:
        """Read over a value; in lists, truths take a byte."""
        if kind in (1, 2):
            self.length += inside
        elif kind == 3:
            self.length += 1
        elif kind in (4, 5, 6):
            self._take(path, self._integer())
        elif kind == 7:
            self.length += 8
        elif kind == 8:
            size = self._varint()
            self.length += size
        elif kind in (9, 10):
            first = self._byte()
            for _ in range(self._varint() if first >> 4 == 15 else first >> 4):
                self._value(first & 15, (*path, 0), inside=True)
                self._data[self.length - 1]  # within the data
        elif kind == 12:
            self._struct(path)
        else:
            raise BadInput("a page's header cannot be read")

    def _take(self, path: tuple[int, ...], value: int) -> None:
        if path == (self.UNCOMPRESSED,):
            self.uncompressed += value
        elif path == (self.COMPRESSED,):
            self.compressed += value
        elif len(path) == 2 and path[0] in self.KINDS and path[1] == self.VALUES:
            self.values += value

    def _byte(self) -> int:
        value = self._data[self.length]
        self.length += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _integer(self) -> int:
        """A signed number, zigzag encoded."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

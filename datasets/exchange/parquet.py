"""Parquet files that another tool wrote: the columns that are needed, within a bounded memory."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...common.checks import quoted
from ...common.errors import BadInput
from ...common.reading import open_regular
from ..bounds import permitted, require_footer, require_memory, require_permitted
from .foreign import foreign_content

EXPECTED = "expected a Parquet file"

BROKEN = (OSError, KeyError, ValueError, OverflowError, pa.ArrowException)
"""Raised by PyArrow, and by what is built on it, for damaged and for strange files."""


def numbered(path: PurePath) -> tuple[list[list[str | int]], PurePath]:
    """Key that sorts paths by the numbers in them: part.2 before part.10."""
    parts = [re.split(r"(\d+)", part) for part in path.parts]
    return [[int(one) if at % 2 else one for at, one in enumerate(part)] for part in parts], path


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files in a folder and those within it, in the order of their numbers, without hidden ones."""
    found = (path for path in folder.rglob("*.parquet") if not path.name.startswith((".", "_")))
    return sorted(found, key=numbered)


@contextmanager
def foreign_parquet(path: Path, columns: Mapping[str, pa.DataType]) -> Iterator["ForeignParquet"]:
    """Context manager: open a file that has these columns, of types that can be turned into these.

    BadInput, also for errors about the content within the context, names the file. Columns that are not asked for are
    not read.
    """
    with open_regular(path, None, EXPECTED) as (file, size), foreign_content(path, BROKEN, "cannot be read", EXPECTED):
        require_footer(file, size)
        with pq.ParquetFile(file) as parquet:
            schema = parquet.schema_arrow
        for name, kind in columns.items():
            _require_column(schema, name, kind)
        width = max((kind.byte_width for kind in columns.values() if pa.types.is_fixed_size_binary(kind)), default=8)
        require_memory(file, size, width=width, columns=columns.keys())
        file.seek(0)
        # A text that is repeated a million times is there once.
        texts = [name for name in columns if is_text(schema.field(name).type)]
        with pq.ParquetFile(file, read_dictionary=texts, page_checksum_verification=True) as parquet:
            yield ForeignParquet(parquet, columns, size)


class ForeignParquet:
    """An opened file of another tool's, whose columns are known to be there and to fit."""

    def __init__(self, parquet: pq.ParquetFile, columns: Mapping[str, pa.DataType], size: int) -> None:
        self._parquet, self._columns, self._size = parquet, columns, size

    def batches(self, rows: int) -> Iterator[pa.Table]:
        """The rows, in batches, in the types asked for; texts as dictionaries, so that each is stored once."""
        for batch in self._parquet.iter_batches(rows, columns=[*self._columns], use_threads=False):
            yield pa.table({name: self._converted(batch.column(name), name) for name in self._columns})

    def table(self) -> pa.Table:
        """All rows."""
        tables = [*self.batches(65_536)]
        texts = [table.column(name) for table in tables for name, kind in self._columns.items() if is_text(kind)]
        require_permitted(sum(map(length_of_texts, texts)), permitted(self._size), self._size)
        schema = pa.schema({name: _read_as(kind) for name, kind in self._columns.items()})
        return pa.concat_tables(tables).unify_dictionaries() if tables else schema.empty_table()

    def _converted(self, column: pa.Array, name: str) -> pa.Array:
        kind = self._columns[name]
        if pa.types.is_dictionary(column.type) and pa.types.is_fixed_size_binary(kind):
            lengths = pc.binary_length(column.dictionary)
            if len(lengths) and pc.min_max(lengths).as_py() != {"min": kind.byte_width, "max": kind.byte_width}:
                raise BadInput(f"column {name} holds bytes of another length than {kind.byte_width:,}")
            column = column.dictionary_decode()
        if pa.types.is_dictionary(column.type):
            return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), column.dictionary.cast(kind))
        return column.cast(_read_as(kind))


def _read_as(kind: pa.DataType) -> pa.DataType:
    return pa.dictionary(pa.int32(), kind) if is_text(kind) else kind


def length_of_texts(column: pa.ChunkedArray) -> int:
    """Bytes of all texts of a column, each counted as often as it is there."""
    return sum(pc.sum(pc.binary_length(one.dictionary).take(one.indices)).as_py() or 0 for one in column.chunks)


def _require_column(schema: pa.Schema, name: str, kind: pa.DataType) -> None:
    if schema.names.count(name) != 1:
        raise BadInput(f"no column {name}" if name not in schema.names else f"column {name} is there twice")
    found = schema.field(name).type
    if not _alike(found, kind):
        raise BadInput(f"column {name} is {quoted(found)}, expected {kind}")


def _alike(found: pa.DataType, kind: pa.DataType) -> bool:
    """True for types that differ in precision or in how lists and texts are stored."""
    if _is_list(kind):
        return _is_list(found) and _alike(found.value_type, kind.value_type)
    for group in (_is_number, is_text, pa.types.is_boolean):
        if group(kind):
            fits: bool = group(found) or pa.types.is_null(found)
            return fits
    fixed: bool = pa.types.is_fixed_size_binary(kind)
    same: bool = found.equals(kind)
    return same or (fixed and is_text(found))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_text(kind: pa.DataType) -> bool:
    """True for texts and bytes of any length, also in a dictionary."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(kind.equals(one) for one in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()))

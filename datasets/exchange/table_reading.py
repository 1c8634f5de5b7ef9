"""Files of tables (CSV and Parquet), one or more, read as one table: the columns that are needed, and no more."""

import csv
import io
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ...common.checks import quoted
from ...common.errors import BadInput
from ...common.reading import MEGABYTE, open_regular
from ..bounds import permitted, require_footer, require_memory, require_permitted
from .foreign import foreign_content
from .parquet import is_text, length_of_texts

LARGEST = 1024 * MEGABYTE
"""Bytes of a file, at most."""

LONGEST_LINE = MEGABYTE
"""Bytes of the line with the names of a `.csv`'s columns."""

EXPECTED = "expected a table of decisions (.csv, .tsv or .parquet)"

SEPARATORS = (",", ";", "\t", "|")
"""Of the columns of a `.csv`: the one that is most frequent in its first line."""

Needed = Callable[[Sequence[str], Collection[str]], Collection[str]]
"""Chooses the columns to read, from the names of all of a file's columns and of those that are pandas' index; BadInput
if one is missing."""


def read_table(
    path: Path, files: Sequence[Path], needed: Needed, texts: Collection[str] = ()
) -> tuple[pd.DataFrame, list[int]]:
    """The needed columns of these files, one or more, of the table that is called `path`; and the first row of each.

    texts: columns that hold texts, which a `.csv` does not say; read after `needed` was called. BadInput for files that
    are no tables, or take more memory than is permitted for their size.
    """
    if not files:
        raise BadInput(f"{path}: has no files of rows")
    tables: list[pd.DataFrame] = []
    memory = total = 0
    for file in files:
        with (
            open_regular(file, LARGEST, EXPECTED) as (opened, size),
            foreign_content(path, Exception, "cannot be read", EXPECTED),  # pandas raises errors of several libraries
        ):
            total += size
            if total > LARGEST:
                raise BadInput(f"larger than {LARGEST / MEGABYTE:,.0f} MB; give it in several parts")
            is_parquet = file.suffix.lower() == ".parquet"
            try:
                table, needs = _parquet(opened, size, needed) if is_parquet else _csv(opened, size, needed, texts)
            except UnicodeDecodeError:
                raise BadInput("is not UTF-8 text; save it as UTF-8") from None
            if tables and (differ := [*{*table.columns} ^ {*tables[0].columns}]):
                raise BadInput(f"{quoted(differ[0])} is a column of {file.name} or of {files[0].name}, not of both")
            memory += needs
            require_permitted(memory, permitted(total), total)
            tables.append(table)
    starts = [0, *accumulate(len(table) for table in tables[:-1])]
    return pd.concat(tables, ignore_index=True), starts


def _csv(file: BinaryIO, size: int, needed: Needed, texts: Collection[str]) -> tuple[pd.DataFrame, int]:
    """The needed columns of a `.csv` file of this size, and its bytes; `texts` as they are, None and NA included,
    and missing only where they are empty."""
    first = file.readline(LONGEST_LINE)
    if len(first) == LONGEST_LINE:
        raise BadInput(f"its first line is longer than {LONGEST_LINE:,} bytes, expected the names of columns")
    separator = max(SEPARATORS, key=first.decode(errors="replace").count)
    file.seek(0)
    heads = pd.read_csv(file, nrows=1, sep=separator, header=None, dtype=str, skipinitialspace=True).iloc[0].dropna()
    if len(twice := heads[heads.duplicated()]):
        raise BadInput(
            f"its first line has {quoted(twice.iloc[0])} twice, expected the names of the columns, each once"
        )
    file.seek(0)
    names = [str(name) for name in pd.read_csv(file, nrows=0, sep=separator, skipinitialspace=True).columns]
    file.seek(0)
    chosen = [*needed(names, ())]
    _require_names_for_all(file, separator, len(names))
    file.seek(0)
    table = pd.read_csv(file, usecols=chosen, sep=separator, skipinitialspace=True)
    for name in texts:
        if name in chosen:
            file.seek(0)
            column = pd.read_csv(
                file, usecols=[name], sep=separator, skipinitialspace=True, dtype=str, keep_default_na=False,
                na_values=[""],
            )  # fmt: skip
            table[name] = column[name]
    return table, size


def _require_names_for_all(file: BinaryIO, separator: str, names: int) -> None:
    """BadInput for a line with more values than there are names, which pandas cuts off: a decimal comma, or a text
    with a separator and no quotes, moves all values after it into other columns."""
    csv.field_size_limit(LARGEST)  # of a text that is not read, such as a picture's
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    lines = csv.reader(text, delimiter=separator, skipinitialspace=True)
    for line in lines:
        if any(line[names:]):
            raise BadInput(
                f"line {lines.line_num} has {len(line)} values for {names} columns; put quotes around a value with "
                f"{separator!r} in it, or write decimals with a point"
            )
    text.detach()


def _parquet(file: BinaryIO, size: int, needed: Needed) -> tuple[pd.DataFrame, int]:
    """The needed columns of a Parquet file of this size, and the memory that they need."""
    require_footer(file, size)
    with pq.ParquetFile(file) as parquet:
        schema = parquet.schema_arrow
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    index = [name for name in index if isinstance(name, str)]  # others are ranges, which are no columns
    names = [*dict.fromkeys(needed(schema.names, index))]
    for name in names:
        if schema.names.count(name) > 1:
            raise BadInput(f"column {quoted(name)} is there twice")
        kind = schema.field(name).type
        if (pa.types.is_nested(kind) and not _holds_numbers(kind)) or _holds_bytes(kind):
            raise BadInput(f"column {quoted(name)} is {quoted(kind)}, expected numbers, or lists of them")
    memory = require_memory(file, size, width=max(map(_width, schema), default=8), columns=names)
    file.seek(0)
    # A text that is repeated a million times is there once, until its length is known.
    texts = [name for name in names if is_text(schema.field(name).type)]
    with pq.ParquetFile(file, read_dictionary=texts) as parquet:
        table = parquet.read(names, use_threads=False)
    for name in texts:
        column = table.column(name)
        memory += length_of_texts(column)
        require_permitted(memory, permitted(size), size)
        table = table.set_column(table.column_names.index(name), name, column.cast(column.type.value_type))
    return table.to_pandas(ignore_metadata=True), memory


def _holds_numbers(kind: pa.DataType) -> bool:
    """True for lists of numbers, also in lists."""
    while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return any(
        fits(kind) for fits in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    )


def _holds_bytes(kind: pa.DataType) -> bool:
    """True for bytes that need not be text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(
        is_kind(kind) for is_kind in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    )


def _width(field: pa.Field) -> int:
    """Bytes of each value of a column whose values have a fixed length, also in lists; 8 for others."""
    kind = field.type
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    return kind.byte_width if pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind) else 8

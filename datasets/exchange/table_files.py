"""Files of tables, read as columns: CSV as spreadsheets and programs of all countries write it, Parquet, and NumPy's
arrays (`.npz`); one file, or a folder of them."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...common.checks import LONGEST_REASON, quoted
from ...common.errors import BadInput, naming
from ...common.npz import array_names, read_arrays
from ...common.reading import MEGABYTE, CannotBeRead, parse_json, read_bytes

LARGEST = 2048 * MEGABYTE
"""Bytes of a file, packed and unpacked."""

PACKED, SMALL = 100, 256 * MEGABYTE
"""A packed file may unpack to so many times its size, or to so many bytes."""

EXPECTED = "expected a table of decisions (.csv, .tsv, .parquet or .npz, also .csv.gz)"

PACKERS: dict[str, Callable[[bytes, int], bytes]] = {
    ".gz": lambda data, most: _unpacked(gzip.open, data, most),
    ".bz2": lambda data, most: _unpacked(bz2.open, data, most),
    ".xz": lambda data, most: _unpacked(lzma.open, data, most),
    ".zip": lambda data, most: _only_member(data, most),
    ".zst": lambda data, most: pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(most + 1),
}
"""Kinds of packing that pandas knows."""

TEXTS, PARQUETS, ARRAYS = (".csv", ".tsv", ".txt"), (".parquet", ".pq"), (".npz",)

SEPARATORS = (",", ";", "\t", "|")

UNNAMED = re.compile(r"(Unnamed: .*|__index_level_.*|)")
"""Names of the index that pandas and R write without a name."""

Columns = dict[str, "pa.ChunkedArray | NDArray[Any]"]


@dataclass(frozen=True)
class TableFiles:
    """The files of a table, as columns. columns: a row each, by name; an array of `.npz` may have other lengths.
    starts: first row of each file. files: their names. index: columns that are pandas' index. notes: to be printed.
    rows: their number. lerobot: true for LeRobot's folder. separator: that of a `.csv`."""

    columns: Columns
    starts: Sequence[int]
    files: Sequence[Path]
    index: frozenset[str] = frozenset()
    notes: Sequence[str] = ()
    rows: int = 0
    lerobot: bool = False
    separator: str = ""


def kind_of(path: Path) -> str | None:
    """The ending of a table's file that says what it is, without that of a packer; None for any other file."""
    suffixes = [one.lower() for one in path.suffixes]
    if suffixes and suffixes[-1] in PACKERS:
        suffixes.pop()
        return suffixes[-1] if suffixes and suffixes[-1] in TEXTS else None
    return suffixes[-1] if suffixes and suffixes[-1] in (*TEXTS, *PARQUETS, *ARRAYS) else None


def files_of(path: Path) -> list[Path]:
    """The files of a table: the path itself, or those of a folder and of LeRobot's `data`, in the order of their
    numbers, but for hidden ones and Spark's marks (`_SUCCESS`)."""
    if not path.is_dir():
        return [path] if kind_of(path) else []
    folder = path / "data" if _is_lerobot(path) else path
    found = [one for one in folder.rglob("*") if one.is_file() and not one.name.startswith((".", "_"))]
    if not all(map(kind_of, found)):
        return []
    parts = {one: re.split(r"(\d+)", str(one.relative_to(folder))) for one in found}
    return sorted(found, key=lambda one: [int(text) if text.isdigit() else text for text in parts[one]])


def read_files(path: Path, chosen: Callable[[Sequence[str], frozenset[str]], Sequence[str]]) -> TableFiles:
    """The columns of the table at `path`. chosen: those to read, of the names that a file has, and of those that are
    its index. BadInput for a file that cannot be read, and for files of other columns."""
    files = files_of(path)
    if not files:
        raise BadInput(f"{path}: has no files of rows; {EXPECTED}")
    found: list[Columns] = []
    index: frozenset[str] = frozenset()
    notes: list[str] = []
    separators: list[str] = []
    for file in files:
        with naming(file), _foreign():
            kind = kind_of(file)
            if kind in ARRAYS:
                if len(files) > 1:
                    raise BadInput("arrays among other files; import them one by one")
                return TableFiles(_arrays(file, chosen), (0,), files)
            columns, own = (
                _parquet(file, chosen)
                if kind in PARQUETS
                else (_csv(file, chosen, notes, separators), frozenset[str]())
            )
            if found and (differ := sorted({*columns} ^ {*found[0]})):
                raise BadInput(f"{quoted(differ[0])} is a column of {file.name} or of {files[0].name}, not of both")
            found.append(columns)
            index = index | own
    lengths = [len(next(iter(one.values()))) if one else 0 for one in found]
    starts = [0, *np.cumsum(lengths)[:-1].tolist()]
    with naming(path), _foreign():
        joined: Columns = {name: _joined([one[name] for one in found]) for name in found[0]}
    more = tuple(dict.fromkeys(notes)), sum(lengths), _is_lerobot(path), "".join(separators[:1])
    return TableFiles(joined, starts, files, index, *more)


def lerobot_info(path: Path) -> dict[str, Any]:
    """LeRobot's `meta/info.json`, which has the type of each of `features`; empty for any other path."""
    file = path / "meta" / "info.json"
    if not _is_lerobot(path):
        return {}
    try:
        found = parse_json(read_bytes(file, MEGABYTE, "expected the description of a LeRobot dataset"))
        features = {str(name): {"dtype": str(one["dtype"]), **one} for name, one in found["features"].items()}
        return {**found, "features": features}
    except CannotBeRead:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{file}: its features cannot be read ({quoted(error, 80)}); expected LeRobot's") from None


def _is_lerobot(path: Path) -> bool:
    return (path / "meta" / "info.json").is_file()


@contextmanager
def _foreign() -> Iterator[None]:
    """Context manager: errors of the libraries that read other tools' files become BadInput."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        reason = quoted(str(error).partition("\n")[0], LONGEST_REASON) or type(error).__name__
        raise BadInput(f"cannot be read ({reason}); {EXPECTED}") from None


def _joined(parts: Sequence[Any]) -> Any:
    """A column of several files; numbers of the widest type."""
    if len({part.type for part in parts}) == 1:
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
    return pa.concat_tables([pa.table({"x": part}) for part in parts], promote_options="permissive").column("x")


def _csv(path: Path, chosen: Callable[..., Sequence[str]], notes: list[str], separators: list[str]) -> Columns:
    """Columns of a `.csv`, as texts; an empty cell is null."""
    text = _text(path, notes).lstrip("\r\n")
    first = text[: LONGEST_LINE + 1].splitlines()[:1]
    marked = re.fullmatch(r'"?sep=(.)"?', first[0]) if first else None
    if marked:
        text = text[text.index("\n") + 1 :] if "\n" in text else ""
    head, separator = _names(text, marked[1] if marked else None)
    separators.append(separator)
    names = [name or f"Unnamed: {place}" for place, name in enumerate(head)]
    if twice := sorted(name for name in {*names} if names.count(name) > 1):
        raise BadInput(f"its first line has {quoted(twice[0])} twice, expected the names of the columns, each once")
    wanted = [*dict.fromkeys(chosen(names, frozenset()))]
    try:
        table = pacsv.read_csv(
            io.BytesIO(text.encode()),
            read_options=pacsv.ReadOptions(
                column_names=names, skip_rows=1, block_size=64 * MEGABYTE, use_threads=False
            ),
            parse_options=pacsv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                include_columns=names, column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True,
                null_values=[""], quoted_strings_can_be_null=True,
            ),
        )  # fmt: skip
    except pa.ArrowInvalid as error:
        odd = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", str(error))
        if odd is None:
            raise
        line = f"line {int(odd[1]) + bool(marked)}" if odd[1] else "a line"
        raise BadInput(
            f"{line} has {odd[3]} values for {odd[2]} columns; put quotes around a value with {separator!r} in it, or "
            "write decimals with a point"
        ) from None
    table = _without_empty_rows(table)
    return {name: table.column(name) for name in wanted}


LONGEST_LINE = MEGABYTE
"""Characters of the line with the names of a `.csv`'s columns."""


def _text(path: Path, notes: list[str]) -> str:
    """The text of a file, unpacked. Excel writes UTF-16 with a mark, or the encoding of Windows."""
    data = read_bytes(path, LARGEST, EXPECTED)
    if (packer := path.suffix.lower()) in PACKERS:
        most = min(max(PACKED * len(data), SMALL), LARGEST)
        size, data = len(data), PACKERS[packer](data, most)
        if len(data) > most:
            raise BadInput(f"unpacks to more than {PACKED} times its {size:,} bytes; unpack it first")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    if b"\0" in data:
        raise BadInput("is not UTF-8 text; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        notes.append(f"{path.name}: not UTF-8 text; read as Windows-1252")
        return data.decode("cp1252", errors="replace")


def _names(text: str, separator: str | None) -> tuple[list[str], str]:
    """The names in the first line, before which NumPy writes `# `, and the separator: the one that gives the most."""
    line = text[: LONGEST_LINE + 1]
    if len(line) > LONGEST_LINE and not re.search(r"[\r\n]", line):
        raise BadInput(f"its first line is longer than {LONGEST_LINE:,} characters, expected the names of columns")
    read = {
        one: next(csv.reader(line.removeprefix("# ").splitlines(), delimiter=one, skipinitialspace=True), [])
        for one in ([separator] if separator else SEPARATORS)
    }
    best = max(read, key=lambda one: len(read[one]))
    return [name.strip() for name in read[best]], best


def _without_empty_rows(table: pa.Table) -> pa.Table:
    """A table without the empty rows at its end that spreadsheets write."""
    last = 0
    for column in table.columns:
        if column.null_count < len(column):
            there = np.flatnonzero(~column.is_null().to_numpy())
            last = max(last, int(there[-1]) + 1)
    return table.slice(0, last)


def _unpacked(opener: Callable[[Any], Any], data: bytes, most: int) -> bytes:
    with opener(io.BytesIO(data)) as file:
        return bytes(file.read(most + 1))


def _only_member(data: bytes, most: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if len(archive.namelist()) != 1:
            raise BadInput(f"holds {len(archive.namelist())} files, expected one")
        with archive.open(archive.namelist()[0]) as file:
            return file.read(most + 1)


def _parquet(path: Path, chosen: Callable[..., Sequence[str]]) -> tuple[Columns, frozenset[str]]:
    """Columns of a Parquet file, and the names of those that are pandas' index."""
    with pq.ParquetFile(pa.BufferReader(read_bytes(path, LARGEST, EXPECTED))) as parquet:
        schema = parquet.schema_arrow
        named = (schema.pandas_metadata or {}).get("index_columns", ())
        index = frozenset(one for one in named if isinstance(one, str))  # others are ranges, which are no columns
        wanted = [*dict.fromkeys(chosen(schema.names, index))]
        if twice := [name for name in wanted if schema.names.count(name) > 1]:
            raise BadInput(f"column {quoted(twice[0])} is there twice")
        table = parquet.read(wanted, use_threads=False)
    if table.num_rows != parquet.metadata.num_rows:
        raise BadInput(f"its footer says {parquet.metadata.num_rows:,} rows, but it has {table.num_rows:,}")
    return {name: table.column(name) for name in wanted}, index


def _arrays(path: Path, chosen: Callable[..., Sequence[str]]) -> Columns:
    """Arrays of an `.npz`. Never unpickles anything."""
    size = path.stat().st_size
    most = min(max(PACKED * size, SMALL), LARGEST)
    names = array_names(path, LARGEST, EXPECTED)
    found = read_arrays(path, [*dict.fromkeys(chosen(names, frozenset()))], most, EXPECTED)
    return dict(found)

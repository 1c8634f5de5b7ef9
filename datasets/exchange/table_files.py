"""Files of tables, read as columns: CSV as spreadsheets and programs of all countries write it, Parquet, and NumPy's
arrays (`.npz`); one file, or a folder of them."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...common.errors import LONGEST_REASON, BadInput, naming, quoted
from ...common.npz import read_arrays
from ...common.reading import MEGABYTE, parse_json, read_bytes

LARGEST = 2048 * MEGABYTE
"""Bytes of a file, packed and unpacked."""

PACKED, SMALL = 100, 256 * MEGABYTE
"""A packed file may unpack to so many times its size, or to so many bytes."""

EXPECTED = "expected a table of decisions (.csv, .tsv, .parquet or .npz, also .csv.gz)"

TEXTS, PARQUETS, ARRAYS = (".csv", ".tsv", ".txt"), (".parquet", ".pq"), (".npz",)

SEPARATORS = (",", ";", "\t", "|")

UNNAMED = re.compile(r"(Unnamed: .*|__index_level_.*|)")
"""Names of the index that pandas and R write without a name."""

Column: TypeAlias = "pa.Array | NDArray[Any]"
"""A column of a table, null where a cell is missing, or an array of `.npz`."""

Choose = Callable[[Sequence[str]], Sequence[str]]
"""Gives the columns to read, of the names that a file has."""


@dataclass(frozen=True)
class TableFiles:
    """The files of a table, as columns. columns: a row each, by name; an array of `.npz` may have other lengths.
    starts: first row of each file. files: their names. notes: to be printed. separator: that of a `.csv`."""

    columns: dict[str, Column]
    starts: Sequence[int]
    files: Sequence[Path]
    notes: Sequence[str] = ()
    separator: str = ""


def kind_of(path: Path) -> str | None:
    """The ending of a table's file that says what it is, without `.gz`; None for any other file."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    packed = path.suffix.lower() == ".gz"
    return suffix if suffix in TEXTS or (suffix in (*PARQUETS, *ARRAYS) and not packed) else None


def files_of(path: Path) -> list[Path]:
    """The files of a table: the path itself, or those of a folder and of LeRobot's `data`, in the order of their
    numbers, but for hidden ones and Spark's marks (`_SUCCESS`)."""
    if not path.is_dir():
        return [path] if kind_of(path) else []
    folder = path / "data" if is_lerobot(path) else path
    files = [one for one in folder.rglob("*") if one.is_file() and not one.name.startswith((".", "_"))]
    if not all(map(kind_of, files)):
        return []
    parts = {one: re.split(r"(\d+)", str(one.relative_to(folder))) for one in files}
    return sorted(files, key=lambda one: [int(text) if text.isdigit() else text for text in parts[one]])


def read_files(path: Path, choose: Choose) -> TableFiles:
    """The columns of the table at `path`. BadInput for a file that cannot be read, and for files of other columns."""
    files = files_of(path)
    if not files:
        raise BadInput(f"{path}: has no files of rows; {EXPECTED}")
    tables: dict[Path, pa.Table] = {}
    notes: dict[str, None] = {}
    separator = ""
    for file in files:
        with naming(file), foreign(EXPECTED):
            if (kind := kind_of(file)) in ARRAYS:
                if len(files) > 1:
                    raise BadInput("arrays among other files; import them one by one")
                return TableFiles(_arrays(file, choose), (0,), files)
            if kind in PARQUETS:
                table = _parquet(file, choose)
            else:
                table, separator = _csv(file, choose, notes)
            if len(table):
                tables[file] = table
            first = next(iter(tables), file)
            if differ := sorted({*table.column_names} ^ {*tables.get(first, table).column_names}):
                raise BadInput(f"{quoted(differ[0])} is a column of {file.name} or of {first.name}, not of both")
    starts = [0, *np.cumsum([*map(len, tables.values())])[:-1].tolist()]
    with naming(path), foreign(EXPECTED):
        if not tables:
            raise BadInput(f"has no rows; {EXPECTED}")
        whole = pa.concat_tables(tables.values(), promote_options="permissive")  # numbers of the widest type
        columns = {name: whole.column(name).combine_chunks() for name in whole.column_names}
        return TableFiles(columns, starts, [*tables], [*notes], separator)


def lerobot_info(path: Path) -> dict[str, Any]:
    """LeRobot's `meta/info.json`, which has the type of each of `features`; empty for any other path."""
    if not is_lerobot(path):
        return {}
    file = path / "meta" / "info.json"
    with naming(file), foreign("expected the description of a LeRobot dataset"):
        document = parse_json(read_bytes(file, MEGABYTE, "expected the description of a LeRobot dataset"))
        return {**document, "pictures": [name for name, one in document["features"].items()
                                         if one["dtype"] in ("image", "video")]}  # fmt: skip


def is_lerobot(path: Path) -> bool:
    return (path / "meta" / "info.json").is_file()


@contextmanager
def foreign(expected: str) -> Iterator[None]:
    """Context manager: errors of the libraries that read other tools' files become BadInput."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        reason = quoted(str(error).partition("\n")[0], LONGEST_REASON) or type(error).__name__
        raise BadInput(f"cannot be read ({reason}); {expected}") from None


def _csv(path: Path, choose: Choose, notes: dict[str, None]) -> tuple[pa.Table, str]:
    """Columns of a `.csv`, as texts, and its separator; an empty cell is null."""
    text = _text(path, notes).lstrip("\r\n")
    marked = re.match(r'"?sep=(.)"?(\r?\n|\r|$)', text)  # Excel's
    if marked:
        text = text[marked.end() :]
    line = re.match(r"(# )?([^\r\n]*)", text)[2]  # type: ignore[index]  # NumPy writes `# ` before the names
    heads = {one: next(csv.reader([line], delimiter=one, skipinitialspace=True), []) for one in SEPARATORS}
    separator = marked[1] if marked else max(heads, key=lambda one: len(heads[one]))
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(heads[separator])]
    choice = [*dict.fromkeys(choose(names))]
    table = pacsv.read_csv(
        io.BytesIO(text.encode()),
        read_options=pacsv.ReadOptions(column_names=names, skip_rows=1, block_size=64 * MEGABYTE, use_threads=False),
        parse_options=pacsv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
        ),
    )
    empty = np.all([column.is_null().to_numpy() for column in table.columns], axis=0)
    rows = len(table) - int((empty[::-1].cumprod()).sum())  # without those that spreadsheets write at the end
    return table.select(choice).slice(0, rows), separator


def _text(path: Path, notes: dict[str, None]) -> str:
    """The text of a file, unpacked. Excel writes UTF-16 with a mark, or the encoding of Windows."""
    data = read_bytes(path, LARGEST, EXPECTED)
    if path.suffix.lower() == ".gz":
        most = _most_unpacked(len(data))
        data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
        if len(data) > most:
            raise BadInput(f"unpacks to more than {most / MEGABYTE:,.0f} MB; unpack it first")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    if b"\0" in data:
        raise BadInput("is not UTF-8 text; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        notes[f"{path.name}: not UTF-8 text; read as Windows-1252"] = None
        return data.decode("cp1252", errors="replace")


def _most_unpacked(size: int) -> int:
    return min(max(PACKED * size, SMALL), LARGEST)


def _parquet(path: Path, choose: Choose) -> pa.Table:
    """Columns of a Parquet file; categories as their texts."""
    with pq.ParquetFile(pa.BufferReader(read_bytes(path, LARGEST, EXPECTED))) as parquet:
        choice = [*dict.fromkeys(choose(parquet.schema_arrow.names))]
        table = parquet.read(choice, use_threads=False).select(choice)
    kinds = [one.type.value_type if pa.types.is_dictionary(one.type) else one.type for one in table.schema]
    return table.cast(pa.schema(zip(choice, kinds, strict=True)))


def _arrays(path: Path, choose: Choose) -> dict[str, Column]:
    """Arrays of an `.npz`. Never unpickles anything."""
    arrays = read_arrays(path, choose, _most_unpacked(path.stat().st_size), EXPECTED)
    for name, array in arrays.items():
        if not array.ndim:
            raise BadInput(f"{name} are a single value, expected a row for each decision")
        if array.dtype.kind not in "fiubU" or not array.size:
            raise BadInput(f"{name} are {array.dtype} {[*array.shape]}, expected numbers")
    return {name: pa.array(array) if array.dtype.kind == "U" else array for name, array in arrays.items()}

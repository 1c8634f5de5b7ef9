"""Files of tables, read as columns: CSV as spreadsheets and programs of all countries write it, Parquet, and NumPy's
arrays (`.npz`); one file, or a folder of them."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...common.errors import LONGEST_REASON, BadInput, naming, quoted
from ...common.npz import array_names, read_arrays
from ...common.reading import MEGABYTE, CannotBeRead, parse_json, read_bytes

LARGEST = 2048 * MEGABYTE
"""Bytes of a file, packed and unpacked."""

PACKED, SMALL = 100, 256 * MEGABYTE
"""A packed file may unpack to so many times its size, or to so many bytes."""

EXPECTED = "expected a table of decisions (.csv, .tsv, .parquet or .npz, also .csv.gz)"

PACKERS: dict[str, Callable[[io.BytesIO], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Kinds of packing."""

TEXTS, PARQUETS, ARRAYS = (".csv", ".tsv", ".txt"), (".parquet", ".pq"), (".npz",)

SEPARATORS = (",", ";", "\t", "|")

UNNAMED = re.compile(r"(Unnamed: .*|__index_level_.*|)")
"""Names of the index that pandas and R write without a name."""

Column: TypeAlias = "pa.StringArray | NDArray[Any]"
"""Texts, null where missing; or numbers [rows, …], NaN where missing."""

Choose = Callable[[Sequence[str], frozenset[str]], Sequence[str]]
"""Gives the columns to read, of the names that a file has, and of those that are its index."""


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
    """The ending of a table's file that says what it is, without that of a packer; None for any other file."""
    suffixes = [one.lower() for one in path.suffixes]
    kinds: tuple[str, ...] = (*TEXTS, *PARQUETS, *ARRAYS)
    if suffixes and suffixes[-1] in PACKERS:
        kinds = TEXTS
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in kinds else None


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
    tables: list[dict[str, pa.ChunkedArray]] = []
    notes: dict[str, None] = {}
    separator = ""
    for file in files:
        with naming(file), _foreign():
            if (kind := kind_of(file)) in ARRAYS:
                if len(files) > 1:
                    raise BadInput("arrays among other files; import them one by one")
                return TableFiles(_arrays(file, choose), (0,), files)
            if kind in PARQUETS:
                columns = _parquet(file, choose)
            else:
                columns, separator = _csv(file, choose, notes)
            if tables and (differ := sorted({*columns} ^ {*tables[0]})):
                raise BadInput(f"{quoted(differ[0])} is a column of {file.name} or of {files[0].name}, not of both")
            tables.append(columns)
    starts = [0, *np.cumsum([len(next(iter(one.values()))) for one in tables])[:-1].tolist()]
    with naming(path), _foreign():
        whole = pa.concat_tables(map(pa.table, tables), promote_options="permissive")  # numbers of the widest type
        return TableFiles(
            {name: _column(name, whole.column(name).combine_chunks()) for name in tables[0]},
            starts, files, [*notes], separator,
        )  # fmt: skip


def lerobot_info(path: Path) -> dict[str, Any]:
    """LeRobot's `meta/info.json`, which has the type of each of `features`; empty for any other path."""
    file = path / "meta" / "info.json"
    if not is_lerobot(path):
        return {}
    try:
        document = parse_json(read_bytes(file, MEGABYTE, "expected the description of a LeRobot dataset"))
        features = {str(name): {"dtype": str(one["dtype"]), **one} for name, one in document["features"].items()}
        return {**document, "features": features}
    except CannotBeRead:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{file}: its features cannot be read ({quoted(error, 80)}); expected LeRobot's") from None


def is_lerobot(path: Path) -> bool:
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


def _csv(path: Path, choose: Choose, notes: dict[str, None]) -> tuple[dict[str, pa.ChunkedArray], str]:
    """Columns of a `.csv`, as texts, and its separator; an empty cell is null."""
    text = _text(path, notes).lstrip("\r\n")
    marked = re.match(r'"?sep=(.)"?(\r?\n|\r|$)', text)  # Excel's
    if marked:
        text = text[marked.end() :]
    line = re.match(r"(# )?([^\r\n]*)", text)[2]  # type: ignore[index]  # NumPy writes `# ` before the names
    heads = {one: next(csv.reader([line], delimiter=one, skipinitialspace=True), []) for one in SEPARATORS}
    separator = marked[1] if marked else max(heads, key=lambda one: len(heads[one]))
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(heads[separator])]
    if twice := sorted(name for name in {*names} if names.count(name) > 1):
        raise BadInput(f"its first line has {quoted(twice[0])} twice, expected the names of the columns, each once")
    choice = [*dict.fromkeys(choose(names, frozenset()))]
    odd: list[Any] = []

    def refuse(row: Any) -> str:
        odd.append(row)
        return "error"

    try:
        table = pacsv.read_csv(
            io.BytesIO(text.encode()),
            read_options=pacsv.ReadOptions(
                column_names=names, skip_rows=1, block_size=64 * MEGABYTE, use_threads=False
            ),
            parse_options=pacsv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=refuse),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
            ),
        )
    except pa.ArrowInvalid:
        if not odd:
            raise
        row = odd[0]
        raise BadInput(
            f"line {row.number + bool(marked)} has {row.actual_columns} values for {row.expected_columns} columns; "
            f"put quotes around a value with {separator!r} in it, or write decimals with a point"
        ) from None
    empty = np.all([column.is_null().to_numpy() for column in table.columns], axis=0)
    rows = len(table) - int((empty[::-1].cumprod()).sum())  # without those that spreadsheets write at the end
    return {name: table.column(name).slice(0, rows) for name in choice}, separator


def _text(path: Path, notes: dict[str, None]) -> str:
    """The text of a file, unpacked. Excel writes UTF-16 with a mark, or the encoding of Windows."""
    data = read_bytes(path, LARGEST, EXPECTED)
    if (packer := path.suffix.lower()) in PACKERS:
        most = _most_unpacked(len(data))
        with PACKERS[packer](io.BytesIO(data)) as file:
            data = bytes(file.read(most + 1))
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


def _parquet(path: Path, choose: Choose) -> dict[str, pa.ChunkedArray]:
    """Columns of a Parquet file."""
    with pq.ParquetFile(pa.BufferReader(read_bytes(path, LARGEST, EXPECTED))) as parquet:
        schema = parquet.schema_arrow
        indices = (schema.pandas_metadata or {}).get("index_columns", ())
        index = frozenset(one for one in indices if isinstance(one, str))  # others are ranges, which are no columns
        choice = [*dict.fromkeys(choose(schema.names, index))]
        if twice := [name for name in choice if schema.names.count(name) > 1]:
            raise BadInput(f"column {quoted(twice[0])} is there twice")
        table = parquet.read(choice, use_threads=False)
    if table.num_rows != parquet.metadata.num_rows:
        raise BadInput(f"its footer says {parquet.metadata.num_rows:,} rows, but it has {table.num_rows:,}")
    return {name: table.column(name) for name in choice}


def _arrays(path: Path, choose: Choose) -> dict[str, Column]:
    """Arrays of an `.npz`. Never unpickles anything."""
    names = choose(array_names(path, LARGEST, EXPECTED), frozenset())
    arrays = read_arrays(path, [*dict.fromkeys(names)], _most_unpacked(path.stat().st_size), EXPECTED)
    for name, array in arrays.items():
        if not array.ndim:
            raise BadInput(f"{name} are a single value, expected a row for each decision")
        if array.dtype.kind not in "fiubU" or not array.size:
            raise BadInput(f"{name} are {array.dtype} {[*array.shape]}, expected numbers")
    return {name: pa.array(array) if array.dtype.kind == "U" else array for name, array in arrays.items()}


def _column(name: str, values: pa.Array) -> Column:
    """A column of any type; BadInput for one that is neither texts nor numbers, nor lists of numbers."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if pa.types.is_string(kind):
        return values
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_temporal(kind):
        return values.cast(pa.string())
    if pa.types.is_nested(kind):
        return _of_lists(name, values)
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_large_binary(kind):
        rows = [np.frombuffer(one or b"", np.uint8) for one in values.to_pylist()]
        if len({*map(len, rows)}) > 1:
            raise BadInput(f"column {quoted(name)} holds lists of different lengths")
        return np.stack(rows)
    try:
        if not (pa.types.is_integer(kind) and not values.null_count):
            values = values.cast(pa.float64(), safe=False)
    except pa.ArrowException:
        raise BadInput(f"column {quoted(name)} is {quoted(kind)}, expected numbers, or lists of them") from None
    return np.array(values.to_numpy(zero_copy_only=False))


def _of_lists(name: str, values: pa.Array) -> NDArray[Any]:
    """Lists of one length, which may hold others, as an array; rows without a list are NaN."""
    kind, shape = values.type, []
    there = values.is_valid().to_numpy(zero_copy_only=False)
    while pa.types.is_nested(values.type):
        lengths = pc.unique(pc.drop_null(pc.list_value_length(values)))
        if len(lengths) != 1:
            raise BadInput(f"column {quoted(name)} holds lists of different lengths")
        shape.append(lengths[0].as_py())
        values = pc.list_flatten(values)
    numbers = _column(name, values)
    if not isinstance(numbers, np.ndarray):
        raise BadInput(f"column {quoted(name)} is {quoted(kind)}, expected numbers, or lists of them")
    numbers = numbers.reshape(int(there.sum()), *shape)
    if numbers.shape[1:] == (1,):  # LeRobot's lists of one
        numbers = numbers[:, 0]
    if there.all():
        return numbers
    whole = np.full((len(there), *numbers.shape[1:]), np.nan)
    whole[there] = numbers
    return whole

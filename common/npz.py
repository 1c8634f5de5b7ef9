"""Reading of .npz files: arrays without pickles, of a limited size."""

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import BadInput, quoted
from .reading import MEGABYTE, open_regular

_BROKEN = (
    OSError, ValueError, EOFError, KeyError, TypeError, OverflowError, RuntimeError, MemoryError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip
"""Raised by `zipfile` and NumPy for archives and arrays that are damaged."""


def read_arrays(path: Path, names: Sequence[str], most: int, hint: str) -> dict[str, NDArray[Any]]:
    """Read arrays of these names, of any type but object, together at most `most` bytes, packed and unpacked.

    BadInput, which names the file and ends with the `hint`, for anything else. Never unpickles anything.
    """
    with _archive(path, most, hint) as (archive, sizes):
        if missing := [name for name in names if name not in sizes]:
            raise ValueError(f"has {quoted(', '.join(sorted(sizes))) or 'nothing'}, but no {missing[0]}")
        if (size := sum(sizes[name] for name in names)) > most:
            raise ValueError(f"{size / MEGABYTE:,.0f} MB unpacked, more than the {most / MEGABYTE:,.0f} MB permitted")
        try:
            arrays = {name: archive[name] for name in names}
        except _BROKEN as error:
            raise ValueError(f"cannot be read ({quoted(error, 200) or type(error).__name__})") from None
        if others := [name for name in names if not isinstance(arrays[name], np.ndarray)]:
            raise ValueError(f"{others[0]} is no array")
        return arrays


def array_names(path: Path, most: int, hint: str) -> list[str]:
    """Names of the arrays in an .npz file; BadInput, which names the file and ends with the `hint`."""
    with _archive(path, most, hint) as (_, sizes):
        return [*sizes]


@contextmanager
def _archive(path: Path, most: int, hint: str) -> Iterator[tuple[Mapping[str, Any], dict[str, int]]]:
    """Context manager: the arrays of a file, and their sizes; BadInput, naming the file, for errors of its content."""
    with open_regular(path, most, hint) as (file, _):
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("not an .npz file")
            members = zipfile.ZipFile(file).infolist()
            sizes = {one.filename.removesuffix(".npy"): one.file_size for one in members}
            if len(sizes) < len(members):
                raise ValueError("has an array twice")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                yield archive, sizes
        except _BROKEN as error:
            raise BadInput(f"{path}: {quoted(error, 200) or type(error).__name__}; {hint}") from None

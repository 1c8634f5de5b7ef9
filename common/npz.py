"""Reading of .npz files: arrays without pickles, of a limited size."""

import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import BadInput, quoted
from .reading import MEGABYTE, open_regular

_BROKEN = (OSError, ValueError, EOFError, LookupError, TypeError, OverflowError, RuntimeError, MemoryError)
"""Raised by `zipfile` and NumPy for archives and arrays that are damaged, beside errors of their own."""


def read_arrays(
    path: Path, choose: Callable[[Sequence[str]], Sequence[str]], most: int, hint: str
) -> dict[str, NDArray[Any]]:
    """Read arrays of any type but object, together at most `most` bytes, packed and unpacked.

    choose: gives the names of the arrays to read, of the names that the file has. BadInput, which names the file and
    ends with the `hint`, for anything else. Never unpickles anything.
    """
    with open_regular(path, most, hint) as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("not an .npz file")
            members = zipfile.ZipFile(file).infolist()
            sizes = {one.filename.removesuffix(".npy"): one.file_size for one in members}
            if len(sizes) < len(members):
                raise ValueError("has an array twice")
            names = [*dict.fromkeys(choose([*sizes]))]
            if missing := [name for name in names if name not in sizes]:
                raise ValueError(f"has {quoted(', '.join(sorted(sizes))) or 'nothing'}, but no {missing[0]}")
            if (size := sum(sizes[name] for name in names)) > most:
                permitted = f"{most / MEGABYTE:,.0f} MB permitted"
                raise ValueError(f"{size / MEGABYTE:,.0f} MB unpacked, more than the {permitted}")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in names}
            if others := [name for name in names if not isinstance(arrays[name], np.ndarray)]:
                raise ValueError(f"{others[0]} is no array")
            return arrays
        except BadInput:  # of `choose`
            raise
        except (*_BROKEN, zipfile.BadZipFile, zlib.error) as error:
            raise BadInput(f"{path}: {quoted(error, 200) or type(error).__name__}; {hint}") from None

"""Reading of untrusted .npz files: arrays without pickles, with sizes checked before memory is allocated."""

import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .checks import quoted
from .errors import BadInput
from .reading import MEGABYTE, read_bytes

MOST_MEMBERS = 1000

Member = tuple[str, zipfile.ZipInfo]
"""An array's name, and its place in the archive."""

_ENTRY = b"PK\x01\x02"
"""Mark of a member in a zip file's directory; each makes an object of half a kilobyte."""

_BROKEN = (
    OSError, ValueError, EOFError, KeyError, TypeError, OverflowError, RuntimeError, MemoryError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip
"""Raised by `zipfile` and NumPy for archives and arrays that are damaged."""


def read_arrays(path: Path, names: Sequence[str], most: int, expected: str) -> dict[str, NDArray[Any]]:
    """Read arrays of these names, of any type but object, together at most `most` bytes, packed and unpacked.

    BadInput, which names the file and ends with what was `expected`, for anything else. Never unpickles anything.
    """
    with _members(path, most, expected) as (archive, members):
        return _arrays(archive, members, names, most)


def array_names(path: Path, most: int, expected: str) -> list[str]:
    """Names of the arrays in an .npz file; BadInput, which names the file and ends with what was `expected`."""
    with _members(path, most, expected) as (_, members):
        return [name for name, _ in members]


@contextmanager
def _members(path: Path, most: int, expected: str) -> Iterator[tuple[zipfile.ZipFile, list[Member]]]:
    """Context manager: an opened file, and its arrays; BadInput, which names the file, for errors about its content."""
    data = read_bytes(path, most, expected)
    try:
        if not zipfile.is_zipfile(io.BytesIO(data)):
            raise ValueError("not an .npz file")
        if data.count(_ENTRY) > MOST_MEMBERS:
            raise ValueError(f"more than {MOST_MEMBERS:,} members")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield archive, [(member.filename.removesuffix(".npy"), member) for member in archive.infolist()]
    except _BROKEN as error:
        raise BadInput(f"{path}: {quoted(error, 200) or type(error).__name__}; {expected}") from None


def _arrays(
    archive: zipfile.ZipFile, members: Sequence[Member], names: Sequence[str], most: int
) -> dict[str, NDArray[Any]]:
    found = [name for name, _ in members]
    if missing := [name for name in names if name not in found]:
        raise ValueError(f"has {quoted(', '.join(sorted(found))) or 'nothing'}, but no {missing[0]}")
    if twice := [name for name in names if found.count(name) > 1]:
        raise ValueError(f"has {twice[0]} twice")
    chosen = {name: member for name, member in members if name in names}
    size = sum(member.file_size for member in chosen.values())
    if size > most:
        raise ValueError(f"{size / MEGABYTE:,.0f} MB unpacked, more than the {most / MEGABYTE:,.0f} MB permitted")
    return {name: _array(name, archive, chosen[name]) for name in names}


def _array(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"cannot be read ({name} is packed in a way that NumPy does not use)")
    try:
        with archive.open(member) as file:
            content = file.read(member.file_size)  # unpacks no more than that
            if file.read(1):
                raise ValueError("longer than the archive says")
        stream = io.BytesIO(content)
        version = npy.read_magic(stream)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, by_column, dtype = read_header(stream)
    except _BROKEN as error:
        raise ValueError(f"cannot be read ({name}: {quoted(error, 200) or type(error).__name__})") from None
    left = len(content) - stream.tell()
    if dtype.hasobject or not dtype.itemsize or min(shape, default=1) < 0:
        raise ValueError(f"cannot be read ({name} are {quoted(dtype)} {quoted(shape)}, expected numbers)")
    if math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"cannot be read ({name} are {quoted(dtype)} {quoted(shape)} in {left:,} bytes)")
    flat = np.frombuffer(content, dtype, offset=stream.tell())
    return flat.reshape(shape, order="F" if by_column else "C").copy()

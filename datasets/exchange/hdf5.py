"""HDF5 files that another tool wrote: the arrays that are needed, within a bounded memory.

A file of a kilobyte can claim arrays of any size, keep them in other files, or pack equal numbers into nearly nothing.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.checks import quoted
from ...common.errors import BadInput
from ...common.reading import open_regular
from ..bounds import LARGEST, permitted, require_permitted
from .foreign import foreign_content, import_extra

INSTALL = "pip install 'qwop[minari]'"

BROKEN = (
    OSError, KeyError, ValueError, TypeError, RuntimeError, OverflowError, AttributeError, IndexError, AssertionError,
)  # fmt: skip
"""Raised by h5py, and by what is built on it, for damaged and for strange files."""


@contextmanager
def foreign_hdf5(path: Path, reader: str, expected: str) -> Iterator["ForeignGroup"]:
    """Context manager: open a file; BadInput, also for errors about the content within the context, names it, or says
    how to install h5py.

    reader: name of the tool whose file it should be.
    """
    h5py = import_extra("h5py", INSTALL)
    with (
        open_regular(path, None, expected) as (_, size),
        foreign_content(path, BROKEN, f"{reader} cannot read it", expected),
        h5py.File(path, "r") as file,
    ):
        yield ForeignGroup(file, size)


class ForeignGroup:
    """A group of a file of `size` bytes. The memory for all arrays of one group is bounded together."""

    def __init__(self, group: Any, size: int, name: str = "") -> None:
        self._group, self._size, self._name = group, size, name
        self._needed = self._stored = 0

    def __len__(self) -> int:
        """The number of groups and arrays in it."""
        return len(self._group)

    def __iter__(self) -> Iterator[str]:
        """Names of the groups and arrays in it."""
        return iter(self._group)

    def __contains__(self, name: str) -> bool:
        return name in self._group

    def group(self, name: str) -> "ForeignGroup":
        """A group in this one, whose bound is its own."""
        import h5py

        found = self._member(name)
        if not isinstance(found, h5py.Group):
            raise BadInput(f"{self._name}{name} is no group")
        return ForeignGroup(found, self._size, f"{self._name}{name}/")

    def require_all(self) -> None:
        """Raise BadInput unless everything in the group, and in those within it, is here and fits the memory."""
        import h5py

        for name in self._group:
            if isinstance(self._member(name), h5py.Group):
                self.group(name).require_all()
            else:
                found = self.array(name)
                self.require(math.prod(found.shape) * found.dtype.itemsize, self._size)

    def numbers(self, name: str) -> NDArray[Any]:
        """An array of numbers, read whole."""
        found = self.array(name)
        if found.dtype.kind not in "biuf":
            raise BadInput(f"{self._name}{name} are {quoted(found.dtype)}, expected numbers")
        self.require(math.prod(found.shape) * found.dtype.itemsize, found.id.get_storage_size())
        return np.asarray(found[()])

    def array(self, name: str) -> Any:
        """An array as h5py has it, of which nothing is read yet: in this file, in parts that fit the memory."""
        import h5py

        found = self._member(name)
        if not isinstance(found, h5py.Dataset) or found.shape is None:
            raise BadInput(f"{self._name}{name} is no array")
        if found.external or found.is_virtual:
            raise BadInput(f"{self._name}{name} lies in another file")
        if found.chunks and math.prod(found.chunks) * found.dtype.itemsize > LARGEST:
            parts = quoted(found.chunks)
            raise BadInput(f"{self._name}{name} is packed in parts of {parts}, which take too much memory")
        return found

    def require(self, needed: int, stored: int) -> None:
        """Raise BadInput if `needed` more bytes, stored in `stored` bytes of the file, exceed the memory permitted."""
        self._needed += needed
        self._stored += min(stored, self._size)
        size = min(self._stored, self._size)
        require_permitted(self._needed, permitted(size), size)

    def attribute(self, name: str) -> Any:
        """A single value or text that is attached to the group; None if there is none."""
        attributes = self._group.attrs
        if name not in attributes:
            return None
        found = attributes.get_id(name)
        if math.prod(found.shape) > 1 or found.dtype.itemsize > LARGEST:
            raise BadInput(f"{self._name}{name} is not a single value")
        return attributes[name]

    def _member(self, name: str) -> Any:
        import h5py

        link = self._group.get(name, getlink=True)
        if link is None:
            raise BadInput(f"no {self._name}{name}")
        if not isinstance(link, h5py.HardLink):
            raise BadInput(f"{self._name}{name} is a link to something else")
        return self._group[name]

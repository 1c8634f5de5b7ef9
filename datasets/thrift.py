"""Thrift's compact protocol, in which Parquet's footer and the headers of its pages are written, read without Arrow.

Arrow's own view of the columns' places (`row_group(i).column(j)`) ends the process for a footer with a wrong bit: it
raises an error of C++ that Cython does not expect. Specification:
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from typing import Any

from ..common.errors import BadInput

DEEPEST = 16
"""Structures and lists inside each other; Parquet's footer has nine."""

Struct = dict[int, Any]
"""Values by the numbers of their fields: whole numbers, bytes, lists and structures."""

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


def read_struct(data: bytes, name: str) -> tuple[Struct, int]:
    """The structure that the data begin with, and the number of its bytes.

    A later field replaces one of its number, as it does for Arrow. BadInput about `name` ("its footer") if there is
    none.
    """
    reader = _Reader(data)
    try:
        return reader.struct(0), reader.place
    except IndexError:
        raise BadInput(f"{name} has no end") from None
    except _Unreadable as error:
        raise BadInput(f"{name} {error}") from None


class _Unreadable(ValueError):
    """Reason why data are no structure."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 0

    def struct(self, depth: int) -> Struct:
        found: Struct = {}
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._integer()
            found[number] = self._value(kind & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise _Unreadable("is nested too deeply")
        if _I16 <= kind <= _I64:
            return self._integer()
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise _Unreadable("cannot be read")  # a map, which Parquet has none of, or no type at all

    def _list(self, depth: int) -> list[Any]:
        first = self._byte()
        count = self._varint() if first >> 4 == 15 else first >> 4
        if count > len(self._data) - self.place:
            raise IndexError
        kind = first & 15
        # In lists, truths take a byte.
        return [self._byte() if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1) for _ in range(count)]

    def _bytes(self, count: int) -> bytes:
        if count > len(self._data) - self.place:
            raise IndexError
        self.place += count
        return self._data[self.place - count : self.place]

    def _byte(self) -> int:
        value = self._data[self.place]
        self.place += 1
        return value

    def _varint(self) -> int:
        value = self._data[self.place]  # most have one byte
        self.place += 1
        if value < 128:
            return value
        value &= 127
        shift = 7
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise _Unreadable("has a number that is too long")

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

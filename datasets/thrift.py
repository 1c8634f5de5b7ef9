"""Thrift's compact protocol, in which Parquet's footer and the headers of its pages are written, read without Arrow.

Arrow's own view of the columns' places (`row_group(i).column(j)`) ends the process for a footer with a wrong bit: it
raises a C++ error that Cython does not expect. Specification:
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from typing import Any

from ..common.errors import BadInput

DEEPEST = 16
"""Largest nesting depth of structures and lists; Parquet's footer has nine."""

Struct = dict[int, Any]
"""Values by the numbers of their fields: whole numbers, bytes, lists and structures."""

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

_LONGEST_SHIFT = 63
"""Bits of a whole number, at most."""


def read_struct(data: bytes, name: str) -> tuple[Struct, int]:
    """Decode the structure at the start of the data; returns it and its length in bytes. Of fields with the same number
    the last counts, as in Arrow. Raises NoEnd, a BadInput about `name` ("its footer"), if the data end within it;
    BadInput for other invalid data.
    """
    try:
        return _struct(data, 0, 0)
    except IndexError:
        raise NoEnd(f"{name} has no end") from None
    except _Unreadable as error:
        raise BadInput(f"{name} {error}") from None


class NoEnd(BadInput):
    """Data that end before the structure does."""


class _Unreadable(ValueError):
    """Reason why data are not a structure."""


# Each function takes the place in the data at which a value begins, and returns the value and the place behind it. Ten
# thousand episodes have two million structures, so numbers of one byte, which most are, are read in place.


def _struct(data: bytes, place: int, depth: int) -> tuple[Struct, int]:
    found: Struct = {}
    number = 0
    while kind := data[place]:
        place += 1
        if kind > 15:
            number += kind >> 4
            kind &= 15
        else:
            number, place = _integer(data, place)
        if _I16 <= kind <= _I64 and (value := data[place]) < 128:
            found[number] = value >> 1 ^ -(value & 1)
            place += 1
        else:
            found[number], place = _value(data, place, kind, depth)
    return found, place + 1


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > DEEPEST:
        raise _Unreadable("is nested too deeply")
    if _I16 <= kind <= _I64:
        return _integer(data, place)
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, place
    if kind == _BYTE:
        return data[place], place + 1
    if kind == _DOUBLE:
        return _bytes(data, place, 8)
    if kind == _BINARY:
        count, place = _varint(data, place)
        return _bytes(data, place, count)
    if kind in (_LIST, _SET):
        return _list(data, place, depth)
    if kind == _STRUCT:
        return _struct(data, place, depth + 1)
    raise _Unreadable("cannot be read")  # a map, which Parquet has none of, or no type at all


def _list(data: bytes, place: int, depth: int) -> tuple[list[Any], int]:
    first = data[place]
    kind, count = first & 15, first >> 4
    place += 1
    if count == 15:
        count, place = _varint(data, place)
    if count > len(data) - place:
        raise IndexError
    values = []
    for _ in range(count):
        # In lists, truths take a byte.
        value, place = _value(data, place, _BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)
        values.append(value)
    return values, place


def _bytes(data: bytes, place: int, count: int) -> tuple[bytes, int]:
    if count > len(data) - place:
        raise IndexError
    return data[place : place + count], place + count


def _integer(data: bytes, place: int) -> tuple[int, int]:
    value, place = _varint(data, place)
    return value >> 1 ^ -(value & 1), place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[place]) > 127:
        value |= (byte & 127) << shift
        place += 1
        shift += 7
        if shift > _LONGEST_SHIFT:
            raise _Unreadable("has a number that is too long")
    return value | byte << shift, place + 1

"""Untrusted files: opened without blocking, bounded in size, and parsed strictly."""

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from .checks import quoted
from .errors import BadInput

MEGABYTE = 2**20

MOST_EVENTS = 20_000
"""Largest number of events of YAML's parser in one document; settings have some hundreds."""

DEEPEST = 200
"""Lists and objects inside each other in a JSON document, at most."""

# A string without an end reaches to the text's, so that nothing is looked at twice.
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which no file can hold."""


class CannotBeRead(BadInput):
    """A file that is not there, is no file, or is too large; the message names it."""


class NotReadNow(CannotBeRead):
    """A file that the system does not read at present, for lack of permission, memory or a sound disk. It may be
    whole."""


ABOUT_THE_NAME = {errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ENODEV, errno.ENAMETOOLONG, errno.EISDIR}
"""Errors that mean that no file of this name can be read, now or later."""


def _cannot(error: OSError | ValueError, path: Path, expected: str) -> CannotBeRead:
    kind = NotReadNow if isinstance(error, OSError) and error.errno not in ABOUT_THE_NAME else CannotBeRead
    return kind(f"{path}: {reason(error)}; {expected}")


def read_bytes(path: Path, most: int, expected: str) -> bytes:
    """Read a whole file of at most `most` bytes; BadInput, ending with what was `expected`, for anything else.

    Does not wait for a pipe, and takes no more memory than `most` from a device or from a file that grows meanwhile.
    """
    with open_regular(path, most, expected) as (file, _):
        return content_of(file, path, most, expected)


def content_of(file: BufferedReader, path: Path, most: int, expected: str) -> bytes:
    """Read all of an opened file, of at most `most` bytes."""
    try:
        # Python allocates as much memory as it is asked to read. Files of the system (/proc) report a size of 0.
        size = min(os.fstat(file.fileno()).st_size, most)
        data = file.read(size + 1) or b""  # None where a file of the system has nothing yet
        while size < len(data) <= most and (more := file.read(min(most + 1 - len(data), MEGABYTE))):
            data += more
    except OSError as error:
        raise _cannot(error, path, expected) from None
    if len(data) > most:
        raise _too_large(path, len(data), most, expected)
    return data


@contextmanager
def open_regular(path: Path, most: int | None, expected: str) -> Iterator[tuple[BufferedReader, int]]:
    """Context manager: open a file of the disk; yields it and its size in bytes, which is at most `most`.

    CannotBeRead, ending with what was `expected`, for a missing file, a folder, a pipe (which is not waited for), a
    device.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise _cannot(error, path, expected) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise CannotBeRead(f"{path}: {_kind(found.st_mode)}; {expected}")
    with os.fdopen(descriptor, "rb") as file:
        if most is not None and found.st_size > most:
            raise _too_large(path, found.st_size, most, expected)
        yield file, found.st_size


def read_text(path: Path, most: int, expected: str) -> str:
    """Read a UTF-8 text, with or without a byte-order mark, as `read_bytes` does."""
    try:
        return read_bytes(path, most, expected).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text (byte {error.start}); {expected}") from None


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON document; ValueError for anything else.

    Stricter than `json.loads`: no NaN or infinity, no name twice in an object, no deep nesting, no half characters.
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")  # some editors write the mark
        _require_shallow(text)
        value = _STRICT.decode(text)
        if "\\u" in text and LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise ValueError("it has half a character (a lone surrogate)")
        return value
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_json(path: Path, most: int, expected: str) -> Any:
    """Read a JSON document as `read_bytes` and `parse_json` do; BadInput, ending with what was `expected`."""
    content = read_bytes(path, most, expected)
    try:
        return parse_json(content)
    except ValueError as error:
        raise BadInput(f"{path}: {error}; {expected}") from None


def whole_number(value: object, name: str, most: int) -> int:
    """A count that a file gives, from 1 to `most`; ValueError for anything else."""
    if type(value) is not int or not 1 <= value <= most:
        raise ValueError(f"{name} is {quoted(value)}, expected a whole number from 1 to {most:,}")
    return value


def parse_yaml(text: str) -> dict[str, Any]:
    """Parse a YAML mapping as OmegaConf does, without resolving interpolations; ValueError for anything else.

    No aliases, whose copies of copies take any memory, no deep nesting, no more than `MOST_EVENTS` entries.
    """
    import yaml
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    depth = 0
    try:
        for count, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
            if count > MOST_EVENTS:
                raise ValueError("far more entries than settings have")
            if isinstance(event, yaml.AliasEvent):
                raise ValueError(f"an alias in line {event.start_mark.line + 1}")
            if depth == 0 and isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent):
                raise ValueError("not a mapping of names to values")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST // 4:
                raise ValueError(f"nested more than {DEEPEST // 4} deep")
        made: Any = OmegaConf.to_container(OmegaConf.create(text))
        return dict(made)
    except AssertionError:  # OmegaConf's, for a number alone
        raise ValueError("neither a mapping nor a list") from None
    except (yaml.YAMLError, OmegaConfBaseException, RecursionError) as error:
        raise ValueError(quoted(error, 200)) from None


def _require_shallow(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        if (sign := found[0]) in "[{":
            depth += 1
            if depth > DEEPEST:
                raise ValueError(f"nested more than {DEEPEST} deep")
        elif sign in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{quoted(twice)} stands twice in it")
    return made


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{quoted(text)} is too large a number")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object, parse_float=_float)


def _too_large(path: Path, size: int, most: int, expected: str) -> CannotBeRead:
    shown = f"{size / MEGABYTE:,.1f} MB, more than the {most / MEGABYTE:,.0f} MB permitted"
    return CannotBeRead(f"{path}: {shown}; {expected}")


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a device or socket, not a file"


def reason(error: Exception) -> str:
    """An error of opening or reading a file or folder, in words."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "a folder"
    return ((isinstance(error, OSError) and error.strerror) or str(error)).lower()


def read_rows(path: Path, largest: int, is_row: Callable[[object], bool]) -> list[dict[str, Any]]:
    """Read a log of one JSON object a line. BadInput for a line that is no row, but a last one may be cut off."""
    rows = []
    lines = read_text(path, largest, "remove it").split("\n")
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)  # which knows NaN: a loss may be
        except (ValueError, RecursionError):
            row = None
        if is_row(row):
            rows.append(row)
        elif number < len(lines):
            raise BadInput(f"{path}: line {number} is not a row of this log; remove it")
    return rows

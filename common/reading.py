"""Files from elsewhere: opened without waiting, bounded in size, and parsed strictly."""

import errno
import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from .errors import BadInput, quoted

MEGABYTE = 2**20

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which no file can hold."""

ABOUT_THE_NAME = {errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ENODEV, errno.ENAMETOOLONG, errno.EISDIR}
"""Errors that mean that no file of this name can be read, now or later."""


class CannotBeRead(BadInput):
    """A file that is not there, is no file, or is too large; the message names it."""


class NotReadNow(CannotBeRead):
    """A file that the system does not read at present, for lack of permission, memory or a sound disk. It may be
    whole."""


@contextmanager
def open_regular(path: Path, most: int | None, hint: str) -> Iterator[BufferedReader]:
    """Context manager: open a file of the disk, which has at most `most` bytes.

    CannotBeRead, ending with the `hint`, for a missing file, a folder, a pipe (which is not waited for), a device.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise _cannot(error, path, hint) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
        kind = kinds.get(stat.S_IFMT(status.st_mode), "a device or socket, not a file")
        raise CannotBeRead(f"{path}: {kind}; {hint}")
    with os.fdopen(descriptor, "rb") as file:
        if most is not None and status.st_size > most:
            sizes = f"{status.st_size / MEGABYTE:,.1f} MB, more than the {most / MEGABYTE:,.0f} MB permitted"
            raise CannotBeRead(f"{path}: {sizes}; {hint}")
        yield file


def read_bytes(path: Path, most: int, hint: str) -> bytes:
    """Read a whole file of at most `most` bytes; BadInput, ending with the `hint`, for anything else."""
    with open_regular(path, most, hint) as file:
        try:
            return file.read()
        except OSError as error:
            raise _cannot(error, path, hint) from None


def read_text(path: Path, most: int, hint: str) -> str:
    """Read a UTF-8 text, with or without a byte-order mark, as `read_bytes` does."""
    try:
        return read_bytes(path, most, hint).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text (byte {error.start}); {hint}") from None


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON document in linear time; ValueError for anything else.

    Stricter than `json.loads`: no NaN or infinity, no name twice in an object, no half characters.
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")  # some editors write the mark
        value = _STRICT.decode(text)
        if "\\u" in text and LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise ValueError("it has half a character (a lone surrogate)")
        return value
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_json(path: Path, most: int, hint: str) -> Any:
    """Read a JSON document as `read_bytes` and `parse_json` do; BadInput, ending with the `hint`."""
    content = read_bytes(path, most, hint)
    try:
        return parse_json(content)
    except ValueError as error:
        raise BadInput(f"{path}: {error}; {hint}") from None


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


def parse_yaml(text: str) -> dict[str, Any]:
    """Parse a YAML mapping as OmegaConf does, without resolving interpolations; ValueError for anything else, and for
    aliases, whose settings would change together."""
    import yaml
    from omegaconf._utils import get_yaml_loader

    try:
        document = yaml.load(text, Loader=get_yaml_loader())
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise ValueError("an alias; write the settings out")
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(quoted(error, 200)) from None
    if not isinstance(document, dict | None):
        raise ValueError("not a mapping of names to values")
    return document or {}


def read_yaml(path: Path, hint: str) -> dict[str, Any]:
    """Read a YAML mapping as `read_text` and `parse_yaml` do; BadInput, ending with the `hint`."""
    text = read_text(path, MEGABYTE, hint)
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise BadInput(f"{path}: not YAML settings ({error}); {hint}") from None


def reason(error: Exception) -> str:
    """An error of opening or reading a file or folder, in words."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "a folder"
    words = getattr(error, "strerror", None) or str(error).partition("\n")[0]  # a library's own has no number
    return (words or type(error).__name__).lower()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"{quoted(twice)} stands twice in it")
    return values


def _finite(text: str) -> float:
    """A number of JSON, which are finite; json has a parser of its own for NaN and Infinity."""
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{quoted(text)} is no number of JSON, or too large a one")
    return value


_STRICT = json.JSONDecoder(parse_constant=_finite, object_pairs_hook=_object, parse_float=_finite)


def _cannot(error: OSError | ValueError, path: Path, hint: str) -> CannotBeRead:
    kind = NotReadNow if isinstance(error, OSError) and error.errno not in ABOUT_THE_NAME else CannotBeRead
    return kind(f"{path}: {reason(error)}; {hint}")

"""The checksums of a dataset's files, in the form that `sha256sum --check SHA256SUMS` reads.

The list is derived from the files: it can be deleted, and `qwop-dataset describe` writes it anew. A listed file has to
exist and match its checksum; an unlisted one is still checked by the hash of its own content. Lines are only ever
appended, each by one write, so that several recorders can share a folder. A recorder killed between writing an episode
and its line leaves an unlisted episode.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_bytes
from .folder import DESCRIPTION, EPISODE_NAME, dataset_command, episode_name

CHECKSUMS = "SHA256SUMS"

LARGEST_LIST = 256 * MEGABYTE
"""Bytes: three million episodes."""

_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")
_REMOVED_BEFORE = "# removed: "
_REMOVED = re.compile(rf"{_REMOVED_BEFORE}(\S+)")


def sha256(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def listed(name: str) -> bool:
    """True for the names of files that the list has."""
    return name == DESCRIPTION or EPISODE_NAME.fullmatch(name) is not None


def read_checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of each file by its name; empty without a list. BadInput if the list cannot be read.

    The last of several lines for one name counts. Malformed lines are skipped; `malformed_lines` names them.
    """
    found: dict[str, str] = {}
    for line in _lines(folder):
        if entry := _LINE.fullmatch(line):
            if listed(entry[2]):
                found[entry[2]] = entry[1]
        elif removed := _REMOVED.fullmatch(line):
            found.pop(removed[1], None)
    return found


def malformed_lines(folder: Path) -> tuple[list[int], list[int]]:
    """Numbers, from 1, of the list's lines that were cut off while they were written, and of other malformed ones.

    A power failure or a full disk cuts a line off. The file that it names is unlisted then.
    """
    cut: list[int] = []
    others: list[int] = []
    for number, line in enumerate(_lines(folder), 1):
        if not ((entry := _LINE.fullmatch(line)) and listed(entry[2])) and not _REMOVED.fullmatch(line):
            (cut if _is_cut(line) else others).append(number)
    return cut, others


def _is_cut(line: str) -> bool:
    """True for the beginning of a line that the list may have; a power failure may leave zeros for the rest."""
    line = line.rstrip("\0")
    if _REMOVED_BEFORE.startswith(line) or re.fullmatch("[0-9a-f]{1,64} ?", line):
        return True
    digest, _, name = line.partition("  ")
    names = (DESCRIPTION, re.sub(r"\d+", "#", episode_name(0)))
    return re.fullmatch("[0-9a-f]{64}", digest) is not None and any(
        whole.startswith(re.sub(r"\d+", "#", name)) for whole in names
    )


def add_checksums(folder: Path, checksums: Mapping[str, str]) -> None:
    """Append files to the list. Not synced: after a power failure `qwop-dataset describe` restores lost lines."""
    _append(folder, [f"{digest}  {name}" for name, digest in checksums.items()])


def add_removed(folder: Path, name: str) -> None:
    """Mark a file as about to leave the dataset; does nothing without a list."""
    if (folder / CHECKSUMS).exists():
        _append(folder, [f"{_REMOVED_BEFORE}{name}"])


def write_checksums(folder: Path, checksums: Mapping[str, str]) -> None:
    """Rewrite the list."""
    write_atomic(folder / CHECKSUMS, "".join(f"{digest}  {name}\n" for name, digest in checksums.items()))


def _lines(folder: Path) -> list[str]:
    path = folder / CHECKSUMS
    if not os.path.lexists(path):
        return []
    content = read_bytes(path, LARGEST_LIST, f"move it away, then: {dataset_command('describe', folder)}")
    # As an editor or git may have left it: with a byte-order mark, and lines that end like Windows's.
    lines = content.decode("utf-8-sig", errors="replace").split("\n")
    return [line for line in (one.removesuffix("\r") for one in lines) if line]


def _append(folder: Path, lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    descriptor = os.open(folder / CHECKSUMS, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        if os.lseek(descriptor, 0, os.SEEK_END) > 0:
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":  # a full disk cut the last line short
                text = f"\n{text}"
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)

"""A fault of a dataset."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """A faulty file, and its fault. harmless: no recorded data are affected, as with a file that does not belong to the
    dataset. unread: the system did not read the file, which may be whole.
    """

    file: Path
    found: str
    harmless: bool = False
    unread: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {self.found}"

"""A fault of a dataset."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """A file that is not as it should be, and in which way.

    harmless: nothing recorded is wrong or in doubt, as with a file that is no part of the dataset.
    """

    file: Path
    found: str
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {self.found}"

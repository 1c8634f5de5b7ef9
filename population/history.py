"""`history.jsonl`: the results of each round, one line per round."""

import json
import os
from pathlib import Path

from pydantic import BaseModel, ValidationError

from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_rows

HISTORY = "history.jsonl"

LARGEST_HISTORY = 1024 * MEGABYTE


class Rated(BaseModel):
    """A rating and its standard error."""

    rating: float
    error: float


class Agent(Rated):
    """An agent after a round, as `Member` has it, with the measurements of the round."""

    id: int
    generation: int
    founder: int
    genes: dict[str, float]
    rewards: dict[str, float]
    figures: dict[str, float]


class Row(BaseModel):
    """A round, and the agents after it. decisions, seconds: of the whole run so far. copies: (child, parent) each.
    diverged: numbers of agents whose weights were not finite at its end."""

    round: int
    decisions: int
    agents: list[Agent]
    rivals: list[Rated]
    copies: list[tuple[int, int]]
    diverged: list[int]
    seconds: float = 0.0


class History:
    """Writes one row per round into a folder; `rows` holds all of them."""

    def __init__(self, folder: Path, resume_at: int | None = None) -> None:
        """Start a history, or continue it after this many rounds: later rows are dropped."""
        self._path = folder / HISTORY
        self.rows: list[Row] = []
        if resume_at is not None and os.path.lexists(self._path):
            self.rows = [row for row in read_history(folder) if row.round <= resume_at]
        write_atomic(self._path, "".join(row.model_dump_json() + "\n" for row in self.rows))

    def write(self, row: Row, seconds: float) -> None:
        """Add a round, which took these seconds."""
        row.seconds = seconds + (self.rows[-1].seconds if self.rows else 0.0)
        self.rows.append(row)
        with self._path.open("a") as file:
            file.write(row.model_dump_json() + "\n")


def read_history(folder: Path) -> list[Row]:
    """The rows of a run, oldest first."""
    return [Row(**row) for row in read_rows(folder / HISTORY, LARGEST_HISTORY, _is_row)]


def _is_row(row: object) -> bool:
    """True for a row that `History.write` may have written."""
    try:
        entry = Row.model_validate_json(json.dumps(row), strict=True)
    except ValidationError:
        return False
    numbers = [one.id for one in entry.agents]
    return numbers == [*range(len(numbers))] and all({*copy} <= {*numbers} for copy in entry.copies)

"""`history.jsonl`: the results of each round, one line per round."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_rows
from .population import Round

HISTORY = "history.jsonl"

LARGEST_HISTORY = 1024 * MEGABYTE


class _Rated(BaseModel):
    rating: float
    error: float


class _Agent(_Rated):
    id: int
    generation: int
    founder: int
    genes: dict[str, float]
    rewards: dict[str, float]
    figures: dict[str, float]


class _Row(BaseModel):
    round: int
    decisions: int
    seconds: float
    time: dict[str, float]
    agents: list[_Agent]
    rivals: list[_Rated]
    copies: list[tuple[int, int]]


class History:
    """Writes one row per round into a folder; `rows` holds all of them."""

    def __init__(self, folder: Path, resume_at: int | None = None) -> None:
        """Start a history, or continue it after this many rounds: later rows are dropped."""
        self._path = folder / HISTORY
        self.rows: list[dict[str, Any]] = []
        if resume_at is not None and os.path.lexists(self._path):
            self.rows = [row for row in read_history(folder) if row["round"] <= resume_at]
        write_atomic(self._path, "".join(json.dumps(row) + "\n" for row in self.rows))

    def write(self, result: Round, seconds: float) -> dict[str, Any]:
        """Add a round and its duration in seconds; return its row."""
        agents = []
        for member, figures in zip(result.members, result.figures, strict=True):
            agents.append(
                {
                    "id": member.id,
                    "rating": round(float(result.ratings.ratings[member.id]), 2),
                    "error": round(float(result.ratings.errors[member.id]), 2),
                    "generation": member.generation,
                    "founder": member.founder,
                    "genes": _rounded(member.genes),
                    "rewards": _rounded(member.rewards),
                    "figures": _rounded(figures),
                }
            )
        row = {
            "round": result.number,
            "decisions": result.decisions,
            "seconds": seconds + (float(self.rows[-1]["seconds"]) if self.rows else 0.0),
            "time": {**_rounded(result.seconds), "other": round(max(seconds - sum(result.seconds.values()), 0.0), 3)},
            "agents": agents,
            "rivals": [
                {"rating": float(result.ratings.ratings[number]), "error": float(result.ratings.errors[number])}
                for number in range(len(result.members), len(result.ratings.ratings))
            ],
            "copies": [list(copy) for copy in result.copies],
        }
        self.rows.append(row)
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        return row


def read_history(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run, oldest first."""
    return read_rows(folder / HISTORY, LARGEST_HISTORY, _is_row)


def _is_row(row: object) -> bool:
    """True for a row that `History.write` may have written."""
    try:
        entry = _Row.model_validate_json(json.dumps(row), strict=True)
    except ValidationError:
        return False
    numbers = [one.id for one in entry.agents]
    return numbers == [*range(len(numbers))] and all({*copy} <= {*numbers} for copy in entry.copies)


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Without what is not finite, which JSON lacks: measurements of an agent that diverged."""
    return {name: float(f"{value:.6g}") for name, value in values.items() if math.isfinite(value)}

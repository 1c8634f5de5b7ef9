"""`history.jsonl`: the results of each round, one line per round."""

import json
import os
from pathlib import Path
from typing import Any

from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_rows
from .population import Round

HISTORY = "history.jsonl"

LARGEST_HISTORY = 1024 * MEGABYTE


class History:
    """Writes one row per round into a folder; `rows` holds all of them."""

    def __init__(self, folder: Path, resume_at: int | None = None) -> None:
        """Start a history, or continue it after this many rounds: later rows are dropped."""
        self._path = folder / HISTORY
        self.rows: list[dict[str, Any]] = []
        if resume_at is not None and os.path.lexists(self._path):
            self.rows = [row for row in read_history(folder) if row["round"] <= resume_at]
        write_atomic(self._path, "".join(json.dumps(row) + "\n" for row in self.rows))

    def write(self, done: Round, seconds: float) -> dict[str, Any]:
        """Add a round and its duration in seconds; return its row."""
        agents = []
        for member, figures in zip(done.members, done.figures, strict=True):
            agents.append(
                {
                    "id": member.id,
                    "rating": round(float(done.ratings.ratings[member.id]), 2),
                    "error": round(float(done.ratings.errors[member.id]), 2),
                    "generation": member.generation,
                    "founder": member.founder,
                    "genes": _rounded(member.genes),
                    "rewards": _rounded(member.rewards),
                    "figures": _rounded(figures),
                }
            )
        row = {
            "round": done.number,
            "decisions": done.decisions,
            "seconds": seconds + (float(self.rows[-1]["seconds"]) if self.rows else 0.0),
            "time": {**_rounded(done.seconds), "other": round(max(seconds - sum(done.seconds.values()), 0.0), 3)},
            "agents": agents,
            "rivals": [
                {"rating": float(done.ratings.ratings[number]), "error": float(done.ratings.errors[number])}
                for number in range(len(done.members), len(done.ratings.ratings))
            ],
            "copies": [[copy.child, copy.parent] for copy in done.copies],
        }
        self.rows.append(row)
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        return row


def read_history(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run, oldest first."""
    return read_rows(folder / HISTORY, LARGEST_HISTORY, "expected the history of a population", _is_row)


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and type(row.get("round")) is int and isinstance(row.get("agents"), list)


def _rounded(values: Any) -> dict[str, float]:
    return {name: float(f"{value:.6g}") for name, value in values.items()}

"""`history.jsonl`: the results of each round, one line per round."""

import json
import math
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..common.errors import BadInput
from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_rows
from .population import Round

HISTORY = "history.jsonl"

LARGEST_HISTORY = 1024 * MEGABYTE

Form = Any
"""Types of a number; or a list of one form, or a mapping of names to forms, where ... stands for every name."""

COUNT, NUMBER = (int,), (int, float)
NAMED: Form = {...: NUMBER}
AGENT: Form = {
    **dict.fromkeys(("id", "generation", "founder"), COUNT),
    **dict.fromkeys(("rating", "error"), NUMBER),
    **dict.fromkeys(("genes", "rewards", "figures"), NAMED),
}
ROW: Form = {
    "round": COUNT, "decisions": COUNT, "seconds": NUMBER, "time": NAMED, "agents": [AGENT],
    "rivals": [{"rating": NUMBER, "error": NUMBER}], "copies": [[COUNT]],
}  # fmt: skip
"""Form of a row."""


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
            "copies": [list(copy) for copy in done.copies],
        }
        self.rows.append(row)
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        return row


def read_history(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run, oldest first."""
    rows = read_rows(folder / HISTORY, LARGEST_HISTORY, _is_row)
    _require_alike(folder / HISTORY, rows)
    return rows


def _is_row(row: object) -> bool:
    """True for a row that `History.write` may have written."""
    if not _fits(row, ROW):
        return False
    found: Any = row
    numbers = list(range(len(found["agents"])))
    pairs = all(len(copy) == 2 and set(copy) <= set(numbers) for copy in found["copies"])
    return pairs and [one["id"] for one in found["agents"]] == numbers


def _fits(value: object, form: Form) -> bool:
    """True for a value of one of these types, a list of such values, or a mapping with such values by name."""
    if isinstance(form, list):
        return isinstance(value, list) and all(_fits(one, form[0]) for one in value)
    if isinstance(form, dict):
        wanted = dict.fromkeys(value, form[...]) if isinstance(value, dict) and ... in form else form
        return isinstance(value, dict) and all(_fits(value.get(name), one) for name, one in wanted.items())
    return type(value) in form


def _require_alike(path: Path, rows: list[dict[str, Any]]) -> None:
    """Raise BadInput unless the rows are in order, and all of the same agents, with the same genes and rewards."""
    for before, row in pairwise(rows):
        if row["round"] <= before["round"]:
            raise BadInput(f"{path}: round {row['round']} comes after round {before['round']}; remove it")
        for kept in ("genes", "rewards"):
            if [one[kept].keys() for one in row["agents"]] != [one[kept].keys() for one in rows[0]["agents"]]:
                raise BadInput(f"{path}: round {row['round']} has other agents or {kept} than the first; remove it")


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Without what is not finite, which JSON lacks: measurements of an agent that diverged."""
    return {name: float(f"{value:.6g}") for name, value in values.items() if math.isfinite(value)}

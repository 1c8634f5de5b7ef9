"""`history.jsonl`: the results of each round, one line per round."""

import json
import os
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

from ..common.errors import BadInput
from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_rows
from .population import Round

HISTORY = "history.jsonl"

LARGEST_HISTORY = 1024 * MEGABYTE

NAMED = ("genes", "rewards", "figures")
"""Numbers of an agent that have names."""


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
    rows = read_rows(folder / HISTORY, LARGEST_HISTORY, "remove it", _is_row)
    _require_alike(folder / HISTORY, rows)
    return rows


def _is_row(row: object) -> bool:
    """True for a row that `History.write` may have written."""
    return (
        isinstance(row, dict)
        and all(type(row.get(name)) is int for name in ("round", "decisions"))
        and _is_number(row.get("seconds"))
        and _are_numbers(row.get("time"))
        and _is_list_of(row.get("agents"), _is_agent)
        and [one["id"] for one in row["agents"]] == list(range(len(row["agents"])))
        and _is_list_of(row.get("rivals"), lambda one: _are_numbers(one) and {"rating", "error"} <= one.keys())
        and _is_list_of(row.get("copies"), lambda pair: _is_pair_of(pair, len(row["agents"])))
    )


def _is_agent(agent: object) -> bool:
    return (
        isinstance(agent, dict)
        and all(type(agent.get(name)) is int for name in ("id", "generation", "founder"))
        and all(_is_number(agent.get(name)) for name in ("rating", "error"))
        and all(_are_numbers(agent.get(name)) for name in NAMED)
    )


def _is_pair_of(pair: object, agents: int) -> bool:
    return _is_list_of(pair, lambda one: type(one) is int and 0 <= one < agents) and len(pair) == 2


def _is_list_of(value: object, holds: Callable[[object], bool]) -> TypeGuard[list[object]]:
    return isinstance(value, list) and all(map(holds, value))


def _are_numbers(value: object) -> TypeGuard[dict[str, float]]:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _require_alike(path: Path, rows: list[dict[str, Any]]) -> None:
    """Raise BadInput unless the rows are in order, and all of the same agents, with the same genes and rewards."""
    for before, row in pairwise(rows):
        if row["round"] <= before["round"]:
            raise BadInput(f"{path}: round {row['round']} comes after round {before['round']}; remove it")
        for kept in ("genes", "rewards"):
            if [one[kept].keys() for one in row["agents"]] != [one[kept].keys() for one in rows[0]["agents"]]:
                raise BadInput(f"{path}: round {row['round']} has other agents or {kept} than the first; remove it")


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.6g}") for name, value in values.items()}

"""How soon a run got how far: its milestones, by its log of live play."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]

TIMES = {"60 s": 60.0, "47.34 s (the published agent)": 47.34, "45.53 s (the best human)": 45.53, "40 s": 40.0}
"""Seconds of a run over 100 m that are worth telling."""


@dataclass(frozen=True)
class Milestone:
    """The first row of a log of which something is true: decisions, game frames and seconds of computing until then.

    None where it has not come true, or (frames) where the log does not tell.
    """

    name: str
    phase: str | None = None
    decisions: int | None = None
    frames: int | None = None
    seconds: float | None = None


def milestones(rows: list[Row]) -> list[Milestone]:
    """Of a runner: live play, with its exploration, so that a runner played greedily may be there sooner.

    Nothing for a log without finished games.
    """
    if not any(row.get("live/finish_share") for row in rows):
        return []
    tests: dict[str, Callable[[Row], bool]] = {
        "the first finish": lambda row: row.get("live/finish_share", 0.0) > 0,
        "half of the games finished": lambda row: row.get("live/finish_share", 0.0) >= 0.5,
    }
    for name, seconds in TIMES.items():
        tests[f"a game under {name}"] = _under("live/best_seconds", seconds, share=0.0)
        tests[f"half of the games finished, under {name} on average"] = _under(
            "live/seconds_of_finishers", seconds, 0.5
        )
    elapsed = seconds_of(rows)
    found = []
    for name, test in tests.items():
        number = next((number for number, row in enumerate(rows) if test(row)), None)
        if number is None:
            found.append(Milestone(name))
        else:
            row = rows[number]
            found.append(Milestone(name, row["phase"], row["decisions"], row.get("live/frames"), elapsed[number]))
    return found


def seconds_of(rows: list[Row]) -> list[float]:
    """Seconds of computing until each row."""
    elapsed, before = 0.0, 0
    found = []
    for row in rows:
        # Logs of earlier versions tell the speed alone.
        elapsed += (row["decisions"] - before) / row["speed/decisions_per_second"]
        before = row["decisions"]
        found.append(float(row.get("time/seconds", elapsed)))
    return found


def _under(column: str, seconds: float, share: float) -> Callable[[Row], bool]:
    return lambda row: row.get("live/finish_share", 0.0) >= share and row.get(column, seconds) < seconds

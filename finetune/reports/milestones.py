"""Milestones of a run, read from its log of live play."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]

SPEED = "speed/decisions_per_second"
"""Column of a log's rows."""

TIMES = {"60 s": 60.0, "47.34 s (the published agent)": 47.34, "45.53 s (the best human)": 45.53, "40 s": 40.0}
"""Times over 100 m, in seconds, that count as milestones."""


@dataclass(frozen=True)
class Milestone:
    """Decisions, game frames and seconds of computing until the first row of a log that meets a condition.

    None if no row does, or if the log has no frames.
    """

    name: str
    phase: str | None = None
    decisions: int | None = None
    frames: int | None = None
    seconds: float | None = None


def milestones(rows: list[Row]) -> list[Milestone]:
    """Find the milestones of a runner; none in a log without finished games.

    Live play explores, so greedy play may have reached them sooner.
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
        # Logs of earlier versions hold only the speed.
        elapsed += (row["decisions"] - before) / row[SPEED]
        before = row["decisions"]
        found.append(float(row.get("time/seconds", elapsed)))
    return found


def _under(column: str, seconds: float, share: float) -> Callable[[Row], bool]:
    return lambda row: row.get("live/finish_share", 0.0) >= share and row.get(column, seconds) < seconds

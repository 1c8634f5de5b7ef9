"""Milestones of a run, read from its log of live play."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

Row = dict[str, Any]

SPEED = "speed/decisions_per_second"
"""Column of a log's rows."""

TIMES = {"60 s": 60.0, "47.34 s (the published agent)": 47.34, "45.53 s (the best human)": 45.53, "40 s": 40.0}
"""Times over 100 m, in seconds, that count as milestones."""


COLUMNS = ("", "phase", "decisions", "game frames", "computing, h:min:s")


def milestones(rows: list[Row]) -> list[tuple[str, ...]]:
    """Milestones of a runner as text, by `COLUMNS`; – if not reached or not logged. None in a log without finished
    games.

    Each is the first row of the log that meets a condition. Live play explores, so greedy play may have been there
    sooner.
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
        found.append((name, *("–" * 4 if number is None else _cells(rows[number], elapsed[number]))))
    return found


def _cells(row: Row, seconds: float) -> tuple[str, ...]:
    counts = (row["decisions"], row.get("live/frames"))
    played = ("–" if count is None else f"{count:,}" for count in counts)
    return row["phase"], *played, str(timedelta(seconds=round(seconds)))


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

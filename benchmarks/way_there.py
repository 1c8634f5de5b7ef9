"""Milestones of `qwop-finetune` runs that continue each other as a table, and their progress as a picture.

    python benchmarks/way_there.py runs/runner runs/any-start --picture docs/way.svg

Reads `metrics.jsonl`, which describes live play with exploration; a policy played greedily is faster. Hours are hours
of computing, evaluations included, counted over all resumed runs.
"""

import argparse
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from qwop.common.charts import Band, line_chart, side_by_side
from qwop.finetune.reports.milestones import COLUMNS, milestones, seconds_of
from qwop.finetune.reports.run_log import read_metrics
from repeated import markdown

COUNTED = ("decisions", "time/seconds", "live/frames")
"""Columns that go on counting from one run to the next."""

CHARTS = (
    ("seconds of finished games", {"mean": "live/seconds_of_finishers", "best": "live/best_seconds"}),
    ("share of games finished", {"finished": "live/finish_share"}),
)


def joined(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Rows of all runs, as if they were one."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        before = rows[-1] if rows else {}
        rows += [
            row | {column: row[column] + before.get(column, 0) for column in COUNTED if column in row}
            for row in read_metrics(run)
        ]
    return rows


def picture(rows: list[dict[str, Any]]) -> str:
    """Draw the charts side by side over hours of computing, with shaded, named phases; return SVG."""
    hours = [seconds / 3600 for seconds in seconds_of(rows)]
    bands, start = [], 0.0
    for phase, group in groupby(zip(rows, hours, strict=True), key=lambda pair: str(pair[0]["phase"])):
        end = list(group)[-1][1]
        bands.append(Band(start, end, phase, False))
        start = end
    drawn = []
    for title, columns in CHARTS:
        lines = {
            name: [(hour, float(row[column])) for row, hour in zip(rows, hours, strict=True) if column in row]
            for name, column in columns.items()
        }
        drawn.append(line_chart(title, lines, bands, "hours"))
    return side_by_side(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", help="folders of qwop-finetune runs, in order")
    parser.add_argument("--picture", type=Path, help="SVG file to write; without it only the table is printed")
    given = parser.parse_args()
    rows = joined(given.runs)
    print(markdown(COLUMNS, milestones(rows)), end="")
    if given.picture:
        given.picture.write_text(picture(rows), encoding="utf-8")


if __name__ == "__main__":
    main()

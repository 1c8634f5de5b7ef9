"""Milestones of a `qwop-finetune` run as a table, and its progress as a picture.

    python benchmarks/way_there.py runs/champion docs/way.svg

Reads `metrics.jsonl`, which describes live play with exploration; a policy played greedily is faster. Hours are hours
of computing, evaluations included, counted over all resumed runs.
"""

import argparse
from itertools import groupby
from pathlib import Path
from typing import Any

from qwop.common.charts import HEIGHT, WIDTH, Band, line_chart
from qwop.finetune.reports.milestones import seconds_of
from qwop.finetune.reports.report import MILESTONE_COLUMNS, milestone_rows
from qwop.finetune.reports.run_log import read_metrics

STYLE = """
rect.paper { fill: #fff; } text { font: 11px system-ui, sans-serif; fill: #555; }
.title { font-weight: 600; font-size: 13px; fill: #222; } .grid { stroke: #ddd; stroke-width: 0.7; }
polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.band { fill: #999; font-size: 10px; } .plain { fill: #f4f6f9; stroke: #fff; }
"""

CHARTS = (
    ("seconds of finished games", {"mean": "live/seconds_of_finishers", "best": "live/best_seconds"}),
    ("share of games finished", {"finished": "live/finish_share"}),
)


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
    drawn = [chart for chart in drawn if chart]
    inside = "".join(
        chart.replace("<svg ", f'<svg x="{number * WIDTH}" width="{WIDTH}" height="{HEIGHT}" ', 1)
        for number, chart in enumerate(drawn)
    )
    width = WIDTH * len(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}"><style>{STYLE}</style>'
        f'<rect class="paper" width="{width}" height="{HEIGHT}"/>{inside}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a qwop-finetune run")
    parser.add_argument("picture", type=Path, nargs="?", help="SVG file to write; without it only the table is printed")
    given = parser.parse_args()
    rows = read_metrics(given.run)
    print("| " + " | ".join(MILESTONE_COLUMNS) + " |\n" + "|---" * len(MILESTONE_COLUMNS) + "|")
    for cells in milestone_rows(rows):
        print("| " + " | ".join(cells) + " |")
    if given.picture:
        given.picture.write_text(picture(rows), encoding="utf-8")


if __name__ == "__main__":
    main()

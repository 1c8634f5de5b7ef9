"""The Results page, from the committed figures.

    python benchmarks/results_page.py

`benchmarks/results/NAME.json` is the `results.json` of `qwop-compare rows=benchmarks/NAME.yaml`. Each table names this
file of commands, and commit, machine and day.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qwop.common.reading import parse_yaml
from qwop.compare.main import markdown_table, tables_of

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/results.md"

LEFT_OUT = ("interquartile mean", "probability of improvement")
"""Columns that the page of a comparison has, and this page has not."""

MACHINE = "x86_64, Linux, 2 cores"
"""The machine of all figures, which the page names once."""

MARK = "<!-- below: python benchmarks/results_page.py -->\n"


def page() -> str:
    """The text of the page: what stands above the mark, and the tables."""
    parts = ["".join(PAGE.read_text(encoding="utf-8").partition(MARK)[:2])]
    for path in sorted((HERE / "results").glob("*.json")):
        parts += section(path.stem, json.loads(path.read_text(encoding="utf-8")))
    return "\n".join(parts)


def section(name: str, results: dict[str, Any]) -> Iterator[str]:
    """Yield title, tables, and the origin of one comparison."""
    yield f"## {parse_yaml((HERE / f'{name}.yaml').read_text(encoding='utf-8'))['title']}\n"
    for heading, names, cells in tables_of(results["lines"], results["milestones"]):
        if "metres" in heading or "seconds to the finish, drawn" in heading:  # games mostly finish, in little more time
            continue
        cells = [row for row in cells if row[2] != "–"]  # others played no such games
        columns = [place for place, name in enumerate(names) if name not in LEFT_OUT]
        if "milestones" in heading:  # the last one that a row reached with every seed
            reached = [row[0] for row in cells if row[2] == row[3]]
            cells = [row for row in cells if row[0] in reached[-1:] and row[2] != "0"]
            columns = [0, 1, 3, 4] if all(row[2] == row[3] for row in cells) else [0, 1, 2, 3, 4]
            if not cells:
                continue
        elif {row[1] for row in cells} == {"1 of 1"}:  # one seed: the figure alone
            columns = [0, 2]
        else:
            cells = [
                [*row[:1], row[1].split()[0], *(one.rstrip(" *").replace(" to ", "…") for one in row[2:])]
                for row in cells
            ]
        rows = [[row[place] for place in columns] for row in [names, *cells]]
        title = heading.removeprefix("QWOP-v1: ").removesuffix(" games")
        yield f"{title[0].upper()}{title[1:]}:\n\n{markdown_table(rows[0], rows[1:])}\n"
    runs = [run for row in results["rows"].values() for run in row]
    origins = [one for run in runs for one in run["origins"]]
    if {one["machine"] for one in origins} != {MACHINE}:
        raise ValueError(f"{name}: expected figures of {MACHINE} alone, as the page says")
    places = dict.fromkeys(f"{one['commit']}, {one['day']}" for one in origins)
    yield f"`qwop-compare rows=benchmarks/{name}.yaml`; {'; '.join(places)}.\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

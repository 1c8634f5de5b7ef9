"""The Results page, from the committed figures.

    python benchmarks/results_page.py

`benchmarks/results/NAME.json` is the `results.json` of `qwop-compare rows=benchmarks/NAME.yaml`. Each table of the page
has the commands of its rows, and the commit, machine and day that made them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qwop.common.reading import parse_yaml
from qwop.compare.report import tables_of

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/results.md"

BEGINNING = """# Results

The tables below are made by `python benchmarks/results_page.py`, from the figures of `qwop-compare`; [Compare](compare.md) explains means,
intervals and differences. Each table names commands, commit, machine and day. Policies play greedily. *Rolling* starts have 0 to 30 idle
frames before the first key, *any* start 0 to 300, and each start is played once. Times run from the first key to the landing.

- The fastest game was found by search: 36.97 s, in the simulator and in the original page (`qwop-evaluate keys=champion`).
- The best human is Kurodo, with 45.53 s.

Older experiments, their figures and their diary are in the history of the repository, at commit fb56f6dd. They taught these rules:

- **Record every frame.** Clones of frames run far; clones of samples fall.
- **Clone first.** A few hundred thousand decisions from scratch finish no game.
- **Remove demonstrations before the end.** Games that stay in the memory cost finishes and seconds.
- **Practise falls.** Most games of the last phase should start shortly before an earlier fall.
- **Decide in every frame** in the end. From scratch, begin with 15 decisions a second.
"""


def page() -> str:
    """The text of the page."""
    parts = [BEGINNING]
    for path in sorted((HERE / "results").glob("*.json")):
        parts += section(path.stem, json.loads(path.read_text(encoding="utf-8")))
    return "\n".join(parts)


def section(name: str, found: dict[str, Any]) -> Iterator[str]:
    """Yield title, tables, and the origin of one comparison."""
    yield f"## {parse_yaml((HERE / f'{name}.yaml').read_text(encoding='utf-8'))['title']}\n"
    for heading, names, cells in tables_of(found["lines"], found["milestones"]):
        table = [names, ["---"] * len(names), *cells]
        yield "\n".join([f"{heading}:\n", *(f"| {' | '.join(row)} |" for row in table), ""])
    runs = [run for row in found["rows"].values() for run in row]
    origins = dict.fromkeys(f"{one['commit']}, {one['machine']}, {one['day']}" for run in runs for one in run["made"])
    commands = "\n".join(f"# {row}\n{runs[0]['command']}" for row, runs in found["rows"].items())
    yield f"`qwop-compare rows=benchmarks/{name}.yaml`; commit, machine and day: {'; '.join(origins)}.\n"
    yield f"```text\n{commands}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

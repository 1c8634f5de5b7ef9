"""Learning curves of `qwop-finetune` runs: a chart for each environment, a line for each seed.

    python benchmarks/learning_curves.py docs/atari.svg runs/pong-0 runs/pong-1 runs/breakout-0

Reads `metrics.jsonl`: returns of live play, with exploration, over decisions.
"""

import argparse
from collections import defaultdict
from pathlib import Path

from qwop.common.charts import Points, line_chart, side_by_side
from qwop.common.command import CONFIGURATION, read_settings
from qwop.common.errors import BadInput
from qwop.finetune.reports.run_log import read_metrics

RETURN = "live/return"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path, help="SVG file to write")
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs")
    given = parser.parse_args()
    lines: dict[str, dict[str, Points]] = defaultdict(dict)
    for run in given.runs:
        try:
            settings, rows = read_settings(run / CONFIGURATION), read_metrics(run)
        except BadInput as error:
            parser.error(str(error))
        points = [(row["decisions"] / 1e6, row[RETURN]) for row in rows if RETURN in row]
        lines[settings["environment"]][f"seed {settings['seed']}"] = points
    charts = [line_chart(f"{name}: return", seeds, [], "million decisions") for name, seeds in lines.items()]
    given.picture.write_text(side_by_side(charts), encoding="utf-8")


if __name__ == "__main__":
    main()

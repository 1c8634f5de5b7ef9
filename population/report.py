"""`report.html`: the evolution of a population, one file that needs no server."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..common.charts import line_chart
from ..common.files import write_atomic
from ..common.page import figures, origin, page, video
from ..common.run_folder import REPORT, command_line, to_yaml
from .ratings import ANCHOR
from .settings import PopulationSettings

FILM = "best_race.mp4"

MOST_POINTS = 150
"""Largest number of points of a line."""

CONFIDENCE = 1.96
"""Standard errors to each side of a 95 % interval."""

SECTIONS = {
    "figures": ("Measurements", "Means of each round's games and updates."),
    "rewards": (
        "Rewards of their own",
        "The weight of each event in an agent's reward. Those of winning agents are copied, with small changes.",
    ),
    "genes": (
        "Settings of their learning",
        "Drawn at random for each agent. Those of winning agents are copied, with small changes.",
    ),
}
"""Groups of numbers in an agent's entry: heading and explanation."""

Row = Mapping[str, Any]
Rows = Sequence[Row]


def write_report(folder: Path, settings: PopulationSettings, rows: Rows, evaluation: Row | None = None) -> Path:
    """Write `folder/report.html` from the rows of the history, the evaluation of a finished run and, if it exists, the
    film."""
    parts = ["<h1>A population of agents</h1>"]
    if rows:
        parts += [_summary(settings, rows)]
        if (folder / FILM).exists() and settings.is_race:
            parts += ["<h2>The two best agents, racing</h2>", video(folder / FILM)]
        parts += ["" if evaluation is None else _evaluation(evaluation), "<h2>The agents now</h2>", _agents(rows[-1])]
        parts += ["<h2>Getting better</h2>", _grid([_chart(rows, "rating", None)])]
        parts.append(_note(f"{ANCHOR:.0f} is the mean of the prior, or the first rival. In shade: 95 % intervals."))
        parts += ["<h2>Family tree</h2>", f'<div class="scroll">{family_tree(rows)}</div>']
        parts.append(_note("A line has the colour of the initial agent that it descends from; an arrow marks a copy."))
        for group, (heading, about) in SECTIONS.items():
            if names := _varied(rows, group):
                parts += [f"<h2>{heading}</h2>", _note(about), _grid([_chart(rows, one, group) for one in names])]
    parts.append(origin(command_line("qwop-population", settings.words, without=("resume",)), to_yaml(settings)))
    return write_atomic(folder / REPORT, page(f"qwop-population: {folder}", "".join(parts), STYLE))


def _summary(settings: PopulationSettings, rows: Rows) -> str:
    last, evolution = rows[-1], settings.evolution
    copies = sum(len(row["copies"]) for row in rows)
    founders = len({agent["founder"] for agent in last["agents"]})
    rule = (
        f"An agent that would lose more than {evolution.better:.0%} of its matches against another copies it."
        if evolution.enabled
        else "In this run no agent is copied."
    )
    return (
        f"<p>Round {last['round']:,} of {settings.rounds:,}; {last['decisions'] / 1e6:.2f} million decisions learned "
        f"from in {last['seconds'] / 3600:.2f} hours; {copies} copies; the {len(last['agents'])} agents descend from "
        f"{founders} of the first ones.</p>"
        + _note(f"Matches give ratings: 400 points more are ten times the odds of winning. {rule}")
    )


def _varied(rows: Rows, group: str) -> list[str]:
    """The names of the group's numbers that were ever anything but 0."""
    names = dict.fromkeys(name for row in rows for agent in row["agents"] for name in agent[group])
    return [name for name in names if any(agent[group].get(name) for row in rows for agent in row["agents"])]


def _note(text: str) -> str:
    return f'<p class="note">{text}</p>'


def _grid(charts: Sequence[str]) -> str:
    return f'<div class="charts">{"".join(charts)}</div>'


def _agents(row: Row) -> str:
    """Table of the agents, best first, and of the rivals."""
    names = {"metres": ".1f", "finish_share": ".0%", "best_seconds": ".2f", "return": ".1f"}
    columns = {name: form for name, form in names.items() if any(name in agent["figures"] for agent in row["agents"])}
    body = []
    for agent in sorted(row["agents"], key=lambda one: -one["rating"]):
        values = agent["figures"]
        line = [f"agent {agent['id']}", f"{agent['rating']:.0f} ± {CONFIDENCE * agent['error']:.0f}"]
        line += [str(agent["generation"]), f"agent {agent['founder']}"]
        body.append(line + [format(values[name], form) if name in values else "–" for name, form in columns.items()])
    for number, rival in enumerate(row["rivals"], 1):
        rating = f"{rival['rating']:.0f}" + (f" ± {CONFIDENCE * rival['error']:.0f}" if rival["error"] else " (pinned)")
        body.append([f"rival {number}", rating, *["–"] * (2 + len(columns))])
    return figures(["", "rating", "copies since the start", "descended from", *map(_words, columns)], body)


def _chart(rows: Rows, name: str, group: str | None) -> str:
    """Chart of a number of the group in an agent's entry, or of the entry itself, with a line for each agent. Numbers
    that span two powers of ten have a logarithmic axis."""
    points = rows[::-1][:: -(-len(rows) // MOST_POINTS)][::-1]  # including the last
    lines: dict[str, list[tuple[float, float]]] = {}
    around: dict[str, list[tuple[float, float, float]]] = {}
    count = len(rows[0]["agents"])
    for number in range(count):
        entries = [(float(row["round"]), row["agents"][number]) for row in points]
        values = [(x, agent if group is None else agent[group]) for x, agent in entries]
        lines[f"agent {number}"] = [(x, one[name]) for x, one in values if name in one]
        if group is None:
            sides = [CONFIDENCE * agent["error"] for _, agent in entries]
            intervals = zip(lines[f"agent {number}"], sides, strict=True)
            around[f"agent {number}"] = [(x, y - side, y + side) for (x, y), side in intervals]
    every = [y for line in lines.values() for _, y in line]
    colours = {f"agent {number}": agent_colour(number, count) for number in range(count)}
    log = min(every) > 0 and max(every) > 100 * min(every)
    return line_chart(_words(name), lines, [], "round", log=log, colours=colours, around=around or None)


def _words(name: str) -> str:
    return name.replace("_", " ")


def sentences(evaluation: Row) -> list[str]:
    """Sentences of an evaluation about its races or its games."""
    games = [evaluation["returns"]] if "returns" in evaluation else []
    return [one["said"] for one in (*evaluation.get("races", ()), *games)]


def _evaluation(evaluation: Row) -> str:
    lines = sentences(evaluation)
    if not lines:
        return ""
    if finals := [one for one in evaluation.get("finalists", []) if "won" in one]:
        shares = ", ".join(f"agent {one['agent']} {one['won']:.0%}" for one in finals)
        lines.insert(0, f"points won in the races of the {len(finals)} highest rated agents among themselves: {shares}")
    body = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>The best after round {evaluation['round']}: agent {evaluation['agent']}</h2><ul>{body}</ul>"


WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 1060, 22, 76, 20, 26, 28

STYLE = """
svg.tree { min-width: 870px; } svg.tree line { stroke-width: 4; } svg.tree .copy { stroke-width: 1.4; }
"""
"""Style of the tree in a page. On a phone it scrolls, so that its text stays at 11 pixels."""


def agent_colour(number: int, count: int) -> str:
    """Return the colour of an agent and its descendants."""
    return f"hsl({round(360 * number / count)}, 62%, {(38, 52)[number % 2]}%)"


def family_tree(rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw the agents as lines over rounds, from the rows of a history.

    Each line has the colour of the initial agent that its weights descend from. If an agent copied another, an arrow
    leads from the other's line to its own.
    """
    count, last = len(rows[0]["agents"]), max(int(rows[-1]["round"]), 1)
    height = TOP + count * ROW + BOTTOM

    def across(round: float) -> float:
        return LEFT + round / last * (WIDTH - LEFT - RIGHT)

    def down(number: int) -> float:
        return TOP + (number + 0.5) * ROW

    parts = [f'<svg class="tree" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="family tree">']
    founders = list(range(count))
    since = [0] * count
    arrows = []

    def draw(number: int, until: int) -> None:
        colour = agent_colour(founders[number], count)
        parts.append(
            f'<line x1="{across(since[number]):.1f}" x2="{across(until):.1f}" y1="{down(number):.1f}" '
            f'y2="{down(number):.1f}" stroke="{colour}"><title>agent {number}, descended from agent {founders[number]}'
            f", rounds {since[number]} to {until}</title></line>"
        )

    for row in rows:
        for child, parent in row["copies"]:
            draw(child, row["round"])
            founders[child], since[child] = founders[parent], row["round"]
            x, start, end = across(row["round"]), down(parent), down(child)
            tip = 5 if end > start else -5
            colour = agent_colour(founders[parent], count)
            arrows.append(
                f'<line class="copy" x1="{x:.1f}" x2="{x:.1f}" y1="{start:.1f}" y2="{end:.1f}" stroke="{colour}"/>'
                f'<path d="M{x - 4:.1f},{end - tip:.1f} h8 L{x:.1f},{end:.1f} Z" fill="{colour}">'
                f"<title>round {row['round']}: agent {child} copies agent {parent}</title></path>"
            )
    for number in range(count):
        draw(number, last)
    parts += arrows
    for number in range(count):
        parts.append(f'<text x="{LEFT - 8}" y="{down(number) + 4:.1f}" text-anchor="end">agent {number}</text>')
    for part in range(5):
        round_ = last * part / 4
        parts.append(f'<text x="{across(round_):.1f}" y="{height - 10}" text-anchor="middle">{round_:.0f}</text>')
    parts.append(f'<text x="{LEFT}" y="14" class="title">{escape("who copied whom, by round")}</text>')
    return "".join([*parts, "</svg>"])

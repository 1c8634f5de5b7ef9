"""`report.html`: the evolution of a population, one file that needs no server."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..common.charts import line_chart
from ..common.files import write_atomic
from ..common.page import figures, origin, page, video
from ..common.run_folder import REPORT, command_line, to_yaml
from .history import Agent, Row
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

COLUMNS = {"metres": ".1f", "finish_share": ".0%", "best_seconds": ".2f", "return": ".1f"}
"""Figures in the table of agents, and their formats."""

Rows = Sequence[Row]
Evaluation = Mapping[str, Any]


def write_report(folder: Path, settings: PopulationSettings, rows: Rows, evaluation: Evaluation | None = None) -> Path:
    """Write `folder/report.html` from the rows of the history, the evaluation of a finished run and, if it exists, the
    film."""
    parts = ["<h1>A population of agents</h1>"]
    if rows:
        parts.append(_summary(settings, rows))
        if (folder / FILM).exists() and settings.is_race:
            parts += ["<h2>The two best agents, racing</h2>", video(folder / FILM)]
        parts += ["" if evaluation is None else _evaluation(evaluation), "<h2>The agents now</h2>", _agents(rows[-1])]
        about = (
            f"{ANCHOR:.0f} is the mean of the prior, or the first rival; in shade: 95 % intervals. The founder is the "
            "initial agent whose weights an agent has by copies."
        )
        parts += _section("Getting better", about, [_chart(rows, name, _of_itself) for name in ("rating", "founder")])
        for group, (heading, about) in SECTIONS.items():
            of = attrgetter(group)
            every = [of(agent) for row in rows for agent in row.agents]
            names = [
                name
                for name in dict.fromkeys(name for one in every for name in one)
                if any(one.get(name) for one in every)
            ]
            parts += _section(heading, about, [_chart(rows, name, of) for name in names])
    parts.append(origin(command_line("qwop-population", settings.words, without=("resume",)), to_yaml(settings)))
    return write_atomic(folder / REPORT, page(f"qwop-population: {folder}", "".join(parts)))


def _summary(settings: PopulationSettings, rows: Rows) -> str:
    last, evolution = rows[-1], settings.evolution
    copies, founders = sum(len(row.copies) for row in rows), len({agent.founder for agent in last.agents})
    rule = (
        f"An agent that would lose more than {evolution.better:.0%} of its matches against another copies it."
        if evolution.enabled
        else "In this run no agent is copied."
    )
    return (
        f"<p>Round {last.round:,} of {settings.rounds:,}; {last.decisions / 1e6:.2f} million decisions learned from in "
        f"{last.seconds / 3600:.2f} hours; {copies} copies; the {len(last.agents)} agents descend from {founders} of "
        "the first ones.</p>"
        + _note(f"Matches give ratings: 400 points more are ten times the odds of winning. {rule}")
    )


def _section(heading: str, about: str, charts: Sequence[str]) -> Sequence[str]:
    """Parts of the page: the charts, if there are any, under their heading."""
    return [f"<h2>{heading}</h2>", _note(about), f'<div class="charts">{"".join(charts)}</div>'] if charts else []


def _note(text: str) -> str:
    return f'<p class="note">{text}</p>'


def _agents(row: Row) -> str:
    """Table of the agents, best first, and of the rivals."""
    columns = {name: form for name, form in COLUMNS.items() if any(name in agent.figures for agent in row.agents)}
    body = []
    for agent in sorted(row.agents, key=lambda one: -one.rating):
        line = [f"agent {agent.id}", f"{agent.rating:.0f} ± {CONFIDENCE * agent.error:.0f}"]
        line += [str(agent.generation), f"agent {agent.founder}"]
        values = agent.figures
        body.append(line + [format(values[name], form) if name in values else "–" for name, form in columns.items()])
    for number, rival in enumerate(row.rivals, 1):
        rating = f"{rival.rating:.0f}" + (f" ± {CONFIDENCE * rival.error:.0f}" if rival.error else " (pinned)")
        body.append([f"rival {number}", rating, *["–"] * (2 + len(columns))])
    return figures(["", "rating", "copies since the start", "descended from", *map(_words, columns)], body)


def _of_itself(agent: Agent) -> Mapping[str, float]:
    return {"rating": agent.rating, "founder": agent.founder}


def _chart(rows: Rows, name: str, of: Callable[[Agent], Mapping[str, float]]) -> str:
    """Chart of one of an agent's numbers, with a line for each agent. Numbers that span two powers of ten have a
    logarithmic axis."""
    points = rows[::-1][:: -(-len(rows) // MOST_POINTS)][::-1]  # including the last
    count = len(rows[0].agents)
    agents = {f"agent {number}": [(float(row.round), row.agents[number]) for row in points] for number in range(count)}
    lines = {label: [(x, of(one)[name]) for x, one in entries if name in of(one)] for label, entries in agents.items()}
    around = {
        label: [(x, one.rating - CONFIDENCE * one.error, one.rating + CONFIDENCE * one.error) for x, one in entries]
        for label, entries in agents.items()
        if name == "rating"
    }
    every = [y for line in lines.values() for _, y in line]
    log = min(every) > 0 and max(every) > 100 * min(every)
    colours = {label: f"hsl({round(360 * number / count)}, 62%, 45%)" for number, label in enumerate(agents)}
    return line_chart(_words(name), lines, [], "round", log=log, colours=colours, around=around or None)


def _words(name: str) -> str:
    return name.replace("_", " ")


def sentences(evaluation: Evaluation) -> list[str]:
    """Sentences of an evaluation about its races or its games."""
    games = [evaluation["returns"]] if "returns" in evaluation else []
    return [one["sentence"] for one in (*evaluation["races"], *games)]


def _evaluation(evaluation: Evaluation) -> str:
    lines = sentences(evaluation)
    if not lines:
        return ""
    if finals := [one for one in evaluation["finalists"] if "won" in one]:
        shares = ", ".join(f"agent {one['agent']} {one['won']:.0%}" for one in finals)
        lines.insert(0, f"points won in the races of the {len(finals)} highest rated agents among themselves: {shares}")
    body = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>The best after round {evaluation['round']}: agent {evaluation['agent']}</h2><ul>{body}</ul>"

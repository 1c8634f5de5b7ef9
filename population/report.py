"""`report.html`: the evolution of a population, one file that needs no server."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..common.charts import line_chart
from ..common.command import REPORT, to_yaml
from ..common.command_line import command_line
from ..common.files import write_atomic
from ..common.page import figures, origin, page, video
from .lineage import STYLE as TREE_STYLE
from .lineage import agent_colour, family_tree
from .ratings import ANCHOR
from .settings import PopulationSettings

FILM = "best_race.mp4"

MOST_POINTS = 150
"""Largest number of points of a line."""

CONFIDENCE = 1.96
"""Standard errors to each side of a 95 % interval."""

STYLE = f"""{TREE_STYLE}
td b.agent {{ display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 6px; }}
table.heat td {{ min-width: 34px; padding: 4px 5px; text-align: center; font-size: 12px; border: 1px solid #fff; }}
table.heat th {{ font-size: 12px; font-weight: 500; padding: 4px 5px; border: 0; writing-mode: vertical-rl;
  transform: rotate(180deg); }}
table.heat td:first-child {{ text-align: left; white-space: nowrap; }}
"""

GENES = {
    "learning_rate": "learning rate",
    "entropy": "weight of the entropy",
    "reward_prediction": "weight of reward prediction",
    "feature_control": "weight of feature control",
    "posterior_kl": "weight of the fast core's divergence from the slow one",
    "prior_kl": "weight of the slow core's divergence from its prior",
    "slow_gradient": "factor of gradients into the slow core",
    "period": "decisions between two of the slow core",
}
FIGURES = {
    "entropy": "entropy of the policy, nats",
    "value_error": "error of the value, root mean square",
    "rho_above_limit": "share of importance weights above their limit",
    "gradient_norm": "norm of the gradient",
}
"""Titles of charts."""

LOGARITHMIC = {*GENES} - {"period", "entropy"}

Row = Mapping[str, Any]
Rows = Sequence[Row]

Value = Callable[[Row], float | None]
"""A number from an agent's entry in a row, or None."""


def write_report(folder: Path, settings: PopulationSettings, rows: Rows, evaluation: Row | None = None) -> Path:
    """Write `folder/report.html` from the rows of the history, the evaluation of a finished run and, if it exists, the
    film."""
    parts = ["<h1>A population of agents</h1>"]
    if rows:
        parts += _sections(folder, settings, rows, evaluation)
    parts.append(origin(command_line("qwop-population", settings, without=("resume",)), to_yaml(settings)))
    return write_atomic(folder / REPORT, page(f"qwop-population: {folder}", "".join(parts), STYLE))


def _sections(folder: Path, settings: PopulationSettings, rows: Rows, evaluation: Row | None) -> list[str]:
    races = settings.is_race
    parts = [_summary(settings, rows), _explanation(settings)]
    if (folder / FILM).exists() and races:
        parts += ["<h2>The two best agents, racing</h2>", video(folder / FILM)]
    if evaluation is not None:
        parts.append(_evaluation(evaluation))
    parts += ["<h2>The agents now</h2>", _agents(rows[-1], races)]
    parts += ["<h2>Getting better</h2>", _progress(rows, races)]
    parts += [
        "<h2>Family tree</h2>",
        _note("Each line is an agent, coloured by the initial agent that it descends from. An arrow marks a copy."),
        f'<div class="scroll">{family_tree(rows)}</div>',
    ]
    if races:
        parts += ["<h2>Rewards of their own</h2>", _note(_REWARDS + _ORIGINS[settings.rewards]), _heat(rows[-1])]
        if settings.rewards != "fixed":
            parts.append(_charts(rows, "rewards", _valued(rows)))
    first = rows[-1]["agents"][0]
    parts += ["<h2>Settings of their learning</h2>", _note(_GENES), _charts(rows, "genes", first["genes"], GENES)]
    measured = _charts(rows, "figures", [name for name in FIGURES if name in first["figures"]], FIGURES)
    parts += ["<h2>Measurements of their learning</h2>", measured]
    return [*parts, "<h2>Computing time</h2>", _time(rows)]


_REWARDS = (
    "Each agent learns from its own reward: a weight for each event, times the number of such events in a decision. "
    "Blue is rewarded, red is punished. "
)
_ORIGINS = {
    "drawn": "These weights were drawn at random; those of winning agents were copied.",
    "both": "The initial weights were chosen by hand; those of winning agents were copied, with small changes.",
    "fixed": "These weights were chosen by hand and do not change.",
}
_GENES = "Settings of the learning algorithm, drawn at random for each agent and inherited with small changes."


def _summary(settings: PopulationSettings, rows: Rows) -> str:
    last = rows[-1]
    copies = sum(len(row["copies"]) for row in rows)
    founders = len({agent["founder"] for agent in last["agents"]})
    hours = last["seconds"] / 3600
    return (
        f"<p>Round {last['round']:,} of {settings.rounds:,}; {last['decisions'] / 1e6:.2f} million decisions learned "
        f"from in {hours:.2f} hours; {copies} copies; the {len(last['agents'])} agents descend from {founders} of the "
        "first ones.</p>"
    )


def _explanation(settings: PopulationSettings) -> str:
    meets = "itself" if settings.opponents == "itself" else "those whom it beats about half of the time"
    play = f"races against {meets}" if settings.is_race else f"plays {escape(settings.environment)}"
    evolution = settings.evolution
    after = (
        f"An agent that would lose more than {evolution.better:.0%} of its matches against another copies it, and "
        "changes a little of what it inherits."
        if evolution.enabled
        else "In this run no agent is copied."
    )
    return _note(
        f"In every round each agent {play} and learns from it. Matches give ratings: 400 points more are ten "
        f"times the odds of winning. {after}"
    )


def _valued(rows: Rows) -> list[str]:
    """Events that ever had a weight in an agent's reward."""
    return [
        name
        for name in rows[-1]["agents"][0]["rewards"]
        if any(agent["rewards"][name] for row in rows for agent in row["agents"])
    ]


def _note(text: str) -> str:
    return f'<p class="note">{text}</p>'


def _words(name: str) -> str:
    return name.replace("_", " ")


def _mark(agent: int, count: int) -> str:
    return f'<b class="agent" style="background:{agent_colour(agent, count)}"></b>'


def _agents(row: Row, races: bool) -> str:
    count = len(row["agents"])
    columns = ["", "rating", "copies since the start", "descended from"]
    columns += ["metres", "finished", "best s"] if races else ["return"]
    body = []
    for agent in sorted(row["agents"], key=lambda one: -one["rating"]):
        shown = [
            f"agent {agent['id']}",
            f"{agent['rating']:.0f} ± {CONFIDENCE * agent['error']:.0f}",
            str(agent["generation"]),
            f"agent {agent['founder']}",
        ]
        found = agent["figures"]
        names = (("metres", ".1f"), ("finish_share", ".0%"), ("best_seconds", ".2f")) if races else (("return", ".1f"),)
        shown += [format(found[name], form) if name in found else "–" for name, form in names]
        body.append(shown)
    for number, rival in enumerate(row["rivals"]):
        rating = f"{rival['rating']:.0f}" + (f" ± {CONFIDENCE * rival['error']:.0f}" if rival["error"] else " (pinned)")
        body.append([f"rival {number + 1}", rating, *["–"] * (len(columns) - 2)])
    table = figures(columns, body)
    for agent in row["agents"]:
        table = table.replace(
            f"<td>agent {agent['id']}</td>", f"<td>{_mark(agent['id'], count)}agent {agent['id']}</td>"
        )
    return table


def _progress(rows: Rows, races: bool) -> str:
    """Charts of the agents' progress."""
    charts = [_chart(rows, "rating", itemgetter("rating"), error=itemgetter("error"))]
    named = (
        {"metres": "metres", "share of races finished": "finish_share", "best time of a round, s": "best_seconds"}
        if races
        else {"return": "return"}
    )
    charts += [_chart(rows, title, _entry("figures", name)) for title, name in named.items()]
    anchor = (
        f"Ratings are relative: {ANCHOR:.0f} is the mean of the prior, or the first rival. In shade: 95 % intervals."
    )
    return f'<div class="charts">{"".join(charts)}</div>{_note(anchor)}'


def _charts(rows: Rows, group: str, names: Iterable[str], titles: Mapping[str, str] = MappingProxyType({})) -> str:
    """Charts of these numbers of the group in an agent's entry."""
    drawn = [
        _chart(rows, titles.get(name, _words(name)), _entry(group, name), log=name in LOGARITHMIC) for name in names
    ]
    return f'<div class="charts">{"".join(drawn)}</div>'


def _chart(rows: Rows, title: str, value: Value, *, log: bool = False, error: Value | None = None) -> str:
    """Chart with one line per agent, over at most about `MOST_POINTS` rounds. error: standard error of the value."""
    count = len(rows[0]["agents"])
    kept = rows[::-1][:: -(-len(rows) // MOST_POINTS)][::-1]  # including the last
    lines: dict[str, list[tuple[float, float]]] = {}
    intervals: dict[str, list[tuple[float, float, float]]] = {}
    for number in range(count):
        name = f"agent {number}"
        found = [(float(row["round"]), row["agents"][number]) for row in kept]
        lines[name] = [(x, y) for x, agent in found if (y := value(agent)) is not None]
        if error is not None:
            sides = [CONFIDENCE * (error(agent) or 0.0) for _, agent in found]
            intervals[name] = [(x, y - side, y + side) for (x, y), side in zip(lines[name], sides, strict=True)]
    colours = {f"agent {number}": agent_colour(number, count) for number in range(count)}
    return line_chart(title, lines, [], "round", log=log, colours=colours, around=intervals or None)


def _entry(group: str, name: str) -> Value:
    return lambda agent: agent[group].get(name)


def _heat(row: Row) -> str:
    """Table of the agents' internal rewards, best agent first."""
    names = list(row["agents"][0]["rewards"])
    head = "".join(f"<th>{escape(_words(name))}</th>" for name in names)
    body = []
    for agent in sorted(row["agents"], key=lambda one: -one["rating"]):
        mark = _mark(agent["id"], len(row["agents"]))
        cells = "".join(_cell(agent["rewards"][name]) for name in names)
        body.append(f"<tr><td>{mark}agent {agent['id']}, {agent['rating']:.0f}</td>{cells}</tr>")
    return f'<div class="scroll"><table class="heat"><tr><td></td>{head}</tr>{"".join(body)}</table></div>'


def _cell(weight: float) -> str:
    hue, strength = (212, weight) if weight >= 0 else (8, -weight)
    light = 100 - 48 * min(strength, 1.0)
    return f'<td style="background:hsl({hue}, 70%, {light:.0f}%)">{weight:+.1f}</td>'


def _evaluation(found: Mapping[str, Any]) -> str:
    lines = [one["said"] for one in found.get("races", [])]
    lines += [found["returns"]["said"]] if "returns" in found else []
    if not lines:
        return ""
    if finals := [one for one in found.get("finalists", []) if "won" in one]:
        shares = ", ".join(f"agent {one['agent']} {one['won']:.0%}" for one in finals)
        lines.insert(0, f"points won in the races of the {len(finals)} highest rated agents among themselves: {shares}")
    body = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>The best after round {found['round']}: agent {found['agent']}</h2><ul>{body}</ul>"


def _time(rows: Rows) -> str:
    kinds = list(rows[-1]["time"])
    total = {kind: sum(row["time"][kind] for row in rows) for kind in kinds}
    everything = sum(total.values()) or 1.0
    body = [[kind, f"{seconds:,.0f}", f"{seconds / everything:.0%}"] for kind, seconds in total.items()]
    rate = rows[-1]["decisions"] / max(rows[-1]["seconds"], 1e-9)
    return figures(["", "seconds", "share"], body) + _note(f"{rate:,.0f} decisions a second, played and learned from.")

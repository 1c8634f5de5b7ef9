"""Descent in a population, from the rows of its history: the family tree, as SVG text."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

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

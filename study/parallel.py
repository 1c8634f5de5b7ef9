"""Parallel coordinates: a vertical axis for each setting and one for the figure, and a line for each trial."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from .space import CATEGORICAL, Parameter

WIDTH, HEIGHT = 1080, 330
LEFT, RIGHT, TOP, BOTTOM = 70, 90, 34, 26
BEST, OTHERS = "#c7522a", "#1f5fa8"

LONGEST_NAME = 30
"""Characters of an axis's name."""


Axis = tuple[str, list[tuple[float, str]]]
"""An axis: its name, and the labels of some places on it (0 at the bottom, 1 at the top)."""


def parallel_coordinates(
    space: Sequence[Parameter], points: Sequence[tuple[Mapping[str, str], float]], figure: str, best: int, sign: int
) -> str:
    """Draw points of the space, values as on the command line, and their figures; the `best` of them stand out.

    sign: 1 where a larger figure is better. An empty text without points.
    """
    if not points:
        return ""
    figures = [value for _, value in points]
    low, high = min(figures), max(figures)
    axes = [axis_of(one) for one in space] + [(figure, [(0.0, f"{low:.4g}"), (1.0, f"{high:.4g}")])]
    gap = (WIDTH - LEFT - RIGHT) / (len(axes) - 1)

    def at(axis: int, place: float) -> str:
        return f"{LEFT + axis * gap:.1f},{HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM):.1f}"

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="parallel coordinates">']
    ranked = sorted(points, key=lambda point: sign * point[1])
    for number, (values, value) in enumerate(ranked):
        places = [place_of(one, values[one.name]) for one in space]
        places.append((value - low) / ((high - low) or 1))
        path = " ".join(at(axis, place) for axis, place in enumerate(places))
        stands_out = number >= len(ranked) - best
        look = f'stroke="{BEST if stands_out else OTHERS}" stroke-opacity="{0.95 if stands_out else 0.25}"'
        said = ", ".join([*(f"{name}={one}" for name, one in values.items()), f"{figure} {value:.4g}"])
        parts.append(f'<polyline points="{path}" {look}><title>{escape(said)}</title></polyline>')
    for number, (name, labels) in enumerate(axes):
        x = LEFT + number * gap
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#555"/>')
        name = name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"
        line = 16 if number % 2 == 0 else 28  # neighbouring names may be long
        parts.append(f'<text x="{x:.1f}" y="{line}" text-anchor="middle">{escape(name)}</text>')
        for place, label in labels:
            y = HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM)
            parts.append(f'<text x="{x + 5:.1f}" y="{y + 4:.1f}">{escape(label)}</text>')
    return "".join([*parts, "</svg>"])


def axis_of(parameter: Parameter) -> Axis:
    """The axis of a setting."""
    ends = parameter.extremes
    if parameter.type != CATEGORICAL:
        return parameter.name, [(0.0, f"{float(ends[0]):.4g}"), (1.0, f"{float(ends[1]):.4g}")]
    return parameter.name, [(place_of(parameter, choice), choice) for choice in ends]


def place_of(parameter: Parameter, value: str) -> float:
    """The height of a value on its axis, from 0 to 1."""
    if parameter.choices is not None:
        return parameter.choices.index(value) / (len(parameter.choices) - 1)
    low, here, high = (float(one) for one in (parameter.extremes[0], value, parameter.extremes[1]))
    if parameter.log:
        low, here, high = math.log(low), math.log(here), math.log(high)
    return (here - low) / (high - low)

"""Line charts as SVG in an HTML figure, for pages that need only a browser."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 440, 220
"""Small enough for text of 11 pixels in a chart that fills a telephone, or a third of a wide page."""

LEFT, RIGHT, TOP, BOTTOM = 54, 14, 6, 40

LETTER = 8
"""Approximate width of a letter."""

COLOURS = ("#1f5fa8", "#c7522a", "#3c8d40", "#7b4fa3", "#a07d00", "#00808a", "#b03060", "#666666")

Point = tuple[float, float]
Points = list[Point]

Interval = tuple[float, float, float]
"""A place on the horizontal axis, and the low and high end of the values there."""

MOST_POINTS = 200
"""Points of a cumulative distribution, at most."""


@dataclass(frozen=True)
class Band:
    """A named stretch of the horizontal axis."""

    start: float
    end: float
    name: str
    shaded: bool


def line_chart(
    title: str,
    lines: Mapping[str, Sequence[Point]],
    bands: Sequence[Band],
    x_name: str,
    *,
    log: bool = False,
    around: Mapping[str, Sequence[Interval]] | None = None,
    colours: Mapping[str, str] | None = None,
) -> str:
    """Draw the lines, by name, over the bands; an empty text if no line has a point.

    log: use a logarithmic vertical axis and leave out points that are not positive. around: an area for each line that
    has one, such as its mean ± standard error, by the line's name; not with log. colours: of the lines by name, if the
    page explains them elsewhere; there is then no legend.
    """
    height = math.log10 if log else float
    curves = {
        name: [(x, height(y)) for x, y in points if math.isfinite(y) and (y > 0 or not log)]
        for name, points in lines.items()
    }
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return ""
    areas = {
        name: [(x, low) for x, low, _ in area] + [(x, high) for x, _, high in reversed(area)]
        for name, area in (around or {}).items()
        if name in curves
    }
    corners = [point for points in (*curves.values(), *areas.values()) for point in points]
    xs = [x for x, _ in corners] + [x for band in bands for x in (band.start, band.end)]
    first, last = min(xs), max(xs)
    if last <= first:  # in the middle
        beside = max(1.0, abs(first) / 1e6)  # more than 1 for large numbers, to which adding 1 changes nothing
        first, last = first - beside, last + beside
    low, high = min(y for _, y in corners), max(y for _, y in corners)
    if log:
        decades = _ticks(math.floor(low), max(math.ceil(high), math.floor(low) + 1))
        ticks = [tick for tick in decades if tick.is_integer()]
    else:
        ticks = _ticks(0.0 if 0 < low < high / 2 else low, high)  # from 0 if that takes little of the axis
    low, high = min(low, *ticks), max(high, *ticks)

    def across(x: float) -> float:
        return LEFT + (x - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (y - low) / ((high - low) or 1) * (HEIGHT - TOP - BOTTOM)

    def path(points: Sequence[Point]) -> str:
        return " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for band in bands:
        x, width = across(band.start), across(band.end) - across(band.start)
        parts.append(
            f'<rect x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{HEIGHT - TOP - BOTTOM}" '
            f'class="{"shaded" if band.shaded else "plain"}"><title>{escape(band.name)}</title></rect>'
        )
        if width > LETTER * len(band.name):
            parts.append(f'<text x="{x + 4:.1f}" y="{TOP + 15}" class="band">{escape(band.name)}</text>')
    for tick in ticks:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(tick):.1f}" y2="{up(tick):.1f}" class="grid"/>')
        parts.append(_label(LEFT - 6, up(tick) + 4, f"{10**tick if log else tick:g}", "end"))
    parts += [_label(across(tick), HEIGHT - BOTTOM + 17, f"{tick:g}", "middle") for tick in _ticks(first, last)]
    parts.append(_label(WIDTH - RIGHT, HEIGHT - 4, x_name, "end"))
    colour_of = dict(zip(curves, cycle(COLOURS), strict=False)) | dict(colours or {})
    parts += [f'<polygon points="{path(area)}" fill="{colour_of[name]}"/>' for name, area in areas.items()]
    for name, points in curves.items():
        dot, drawn = (' class="dot"', points * 2) if len(points) == 1 else ("", points)
        line = f'<polyline points="{path(drawn)}" stroke="{colour_of[name]}"{dot}>'
        parts.append(f"{line}<title>{escape(name)}</title></polyline>")
    names = [f'<span style="color:{colour_of[name]}">{escape(name)}</span>' for name in curves]
    legend = f"<div>{' '.join(names)}</div>" if len(names) > 1 and colours is None else ""
    return "".join([f"<figure><figcaption>{escape(title)}{legend}</figcaption>", *parts, "</svg></figure>"])


def shares_below(values: NDArray[np.floating]) -> Points:
    """The cumulative distribution: each value, and the share of the values that are at most as large."""
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        return []
    at = np.unique(np.linspace(0, len(finite) - 1, min(MOST_POINTS, len(finite))).round().astype(int))
    return [(float(finite[index]), float((index + 1) / len(finite))) for index in at]


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers over the range, about five of them."""
    if high <= low:
        low, high = min(low, 0.0), max(high, 0.0) or float(low == 0)
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if power * one >= raw * 0.999)
    return [round(i * step, 12) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]

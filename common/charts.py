"""Line charts as SVG in an HTML figure, for pages that need only a browser."""

import math
from collections.abc import Iterator, Mapping, Sequence
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


@dataclass(frozen=True)
class _Frame:
    """The axes of a chart: the ranges that they show. log: the vertical one shows powers of ten."""

    first: float
    last: float
    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def across(self, x: float) -> float:
        return LEFT + (x - self.first) / (self.last - self.first) * (WIDTH - LEFT - RIGHT)

    def up(self, y: float) -> float:
        height = math.log10(y) if self.log else y
        return HEIGHT - BOTTOM - (height - self.low) / ((self.high - self.low) or 1) * (HEIGHT - TOP - BOTTOM)

    def path(self, points: Sequence[Point]) -> str:
        return " ".join(f"{self.across(x):.1f},{self.up(y):.1f}" for x, y in points)

    def axes(self, x_name: str) -> Iterator[str]:
        """Grid and labels."""
        for tick in self.ticks:
            value = 10**tick if self.log else tick
            y = self.up(value)
            yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        for tick in _ticks(self.first, self.last):
            yield f'<text x="{self.across(tick):.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{escape(x_name)}</text>'


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
    curves = {
        name: [(x, y) for x, y in points if math.isfinite(y) and (y > 0 or not log)] for name, points in lines.items()
    }
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return ""
    areas = {name: area for name, area in (around or {}).items() if name in curves}
    xs = [x for points in curves.values() for x, _ in points] + [x for band in bands for x in (band.start, band.end)]
    ys = [y for points in curves.values() for _, y in points] + [
        y for area in areas.values() for _, *ends in area for y in ends
    ]
    frame = _frame(xs, ys, log)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts += [*_bands(frame, bands), *frame.axes(x_name)]
    colour_of = dict(zip(curves, cycle(COLOURS), strict=False)) | dict(colours or {})
    for name, area in areas.items():
        edge = [(x, low) for x, low, _ in area] + [(x, high) for x, _, high in reversed(area)]
        parts.append(f'<polygon points="{frame.path(edge)}" fill="{colour_of[name]}"/>')
    for name, points in curves.items():
        tooltip = f"<title>{escape(name)}</title>"
        if len(points) == 1:
            ((x, y),) = points
            circle = f'<circle cx="{frame.across(x):.1f}" cy="{frame.up(y):.1f}" r="2.5"/>'
            parts.append(f'<g fill="{colour_of[name]}">{tooltip}{circle}</g>')
        parts.append(f'<polyline points="{frame.path(points)}" stroke="{colour_of[name]}">{tooltip}</polyline>')
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


def _frame(xs: Sequence[float], ys: Sequence[float], log: bool) -> _Frame:
    """Axes for these numbers; the vertical one starts at 0 if that takes little of its length."""
    heights = [math.log10(y) for y in ys if y > 0] if log else list(ys)
    low, high = min(heights), max(heights)
    from_zero = not log and 0 < low < high / 2
    ticks = _log_ticks(low, high) if log else _ticks(0.0 if from_zero else low, high)
    first, last = min(xs), max(xs)
    if last <= first:  # in the middle
        beside = max(1.0, abs(first) / 1e6)  # more than 1 for large numbers, to which adding 1 changes nothing
        first, last = first - beside, last + beside
    return _Frame(first, last, min(ticks[0], low), max(ticks[-1], high), tuple(ticks), log)


def _bands(frame: _Frame, bands: Sequence[Band]) -> Iterator[str]:
    for band in bands:
        x, width = frame.across(band.start), frame.across(band.end) - frame.across(band.start)
        yield (
            f'<rect x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{HEIGHT - TOP - BOTTOM}" '
            f'class="{"shaded" if band.shaded else "plain"}"><title>{escape(band.name)}</title></rect>'
        )
        if width > LETTER * len(band.name):
            yield f'<text x="{x + 4:.1f}" y="{TOP + 15}" class="band">{escape(band.name)}</text>'


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers over the range, about five of them."""
    if high <= low:
        low, high = min(low, 0.0), max(high, 0.0) or float(low == 0)
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if power * one >= raw * 0.999)
    return [round(i * step, 12) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Whole powers of ten over the range, not more than about six of them."""
    first, last = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
    return [float(power) for power in range(first, last + 1, max(1, (last - first) // 5))]

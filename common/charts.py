"""Line charts as SVG text, for pages that need only a browser."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 440, 250
"""Small enough for text of 11 pixels in a chart that fills a telephone, or a third of a wide page."""

LEFT, RIGHT, TOP, BOTTOM = 54, 14, 30, 40

LEGEND = 20
"""Height of the legend, drawn for several lines."""

LETTER = 8
"""Approximate width of a letter."""

TITLE, LONGEST_TITLE = 15, 48
"""Size of a title, and the letters that fit; the letters of a longer title are smaller."""

COLOURS = ("#1f5fa8", "#c7522a", "#3c8d40", "#7b4fa3", "#a07d00", "#00808a", "#b03060", "#666666")

STYLE = """
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr)); gap: 18px 14px; }
.charts > svg:only-child { max-width: 640px; }
svg { width: 100%; height: auto; background: #fff; }
svg text { font: 13.5px system-ui, sans-serif; fill: #555; }
svg .title { font-weight: 600; font-size: 15px; fill: #222; } svg .grid { stroke: #ddd; stroke-width: 0.7; }
svg polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg polygon { fill-opacity: 0.16; stroke: none; }
svg .band { fill: #888; font-size: 12.5px; } svg .shaded { fill: #f6dfc8; } svg .plain { fill: #f4f6f9; stroke: #fff; }
"""
"""Style of the charts in a page, and of a grid of them (class `charts`)."""

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
    """The axes of a chart: the ranges that they show, and their upper end in the picture. log: the vertical one shows
    powers of ten. places: names of numbers on the horizontal axis, in place of round numbers."""

    first: float
    last: float
    low: float
    high: float
    ticks: tuple[float, ...]
    top: int
    log: bool = False
    places: Mapping[float, str] | None = None

    def across(self, x: float) -> float:
        return LEFT + (x - self.first) / (self.last - self.first) * (WIDTH - LEFT - RIGHT)

    def up(self, y: float) -> float:
        height = math.log10(y) if self.log else y
        return HEIGHT - BOTTOM - (height - self.low) / ((self.high - self.low) or 1) * (HEIGHT - self.top - BOTTOM)

    def drawn(self, title: str, x_name: str) -> list[str]:
        """Grid, labels and names."""
        too_long = len(title) / LONGEST_TITLE
        size = f' style="font-size:{TITLE / too_long:.1f}px"' if too_long > 1 else ""
        parts = [f'<text x="2" y="16" class="title"{size}>{escape(title)}</text>']
        for tick in self.ticks:
            value = 10**tick if self.log else tick
            y = self.up(value)
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        places = self.places or {tick: f"{tick:g}" for tick in _ticks(self.first, self.last)}
        for place, name in places.items():
            x, y = self.across(place), HEIGHT - BOTTOM + 17
            parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{escape(name)}</text>')
        parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{escape(x_name)}</text>')
        return parts


def line_chart(
    title: str,
    lines: Mapping[str, Sequence[Point]],
    bands: Sequence[Band],
    x_name: str,
    *,
    log: bool = False,
    dots: bool = False,
    around: Mapping[str, Sequence[Interval]] | None = None,
    colours: Mapping[str, str] | None = None,
) -> str:
    """Draw the lines, by name, over the bands; an empty text if no line has a point.

    log: use a logarithmic vertical axis and leave out points that are not positive. dots: draw only the points, for
    values without order. around: an area for each line that has one, such as its mean ± standard error, by the line's
    name; not with log. colours: of the lines by name, if the page explains them elsewhere; there is then no legend.
    """
    drawn = {
        name: [(x, y) for x, y in points if math.isfinite(y) and (y > 0 or not log)] for name, points in lines.items()
    }
    drawn = {name: points for name, points in drawn.items() if points}
    if not drawn:
        return ""
    areas = {name: area for name, area in (around or {}).items() if name in drawn}
    xs = [x for points in drawn.values() for x, _ in points] + [
        edge for band in bands for edge in (band.start, band.end)
    ]
    shown = [y for points in drawn.values() for _, y in points]
    shown += [y for area in areas.values() for _, *ends in area for y in ends]
    frame = _frame(xs, shown, log, TOP + (LEGEND if len(drawn) > 1 and colours is None else 0))
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts += [*_drawn_bands(frame, bands), *frame.drawn(title, x_name)]
    coloured = dict(zip(drawn, cycle(COLOURS), strict=False)) | dict(colours or {})
    for name, area in areas.items():
        edge = [(x, low) for x, low, _ in area] + [(x, high) for x, _, high in reversed(area)]
        parts.append(f'<polygon points="{_path(frame, edge)}" fill="{coloured[name]}"/>')
    for name, points in drawn.items():
        title_ = f"<title>{escape(name)}</title>"
        if dots or len(points) == 1:
            circles = "".join(f'<circle cx="{frame.across(x):.1f}" cy="{frame.up(y):.1f}" r="2.5"/>' for x, y in points)
            parts.append(f'<g fill="{coloured[name]}">{title_}{circles}</g>')
        if not dots:
            parts.append(f'<polyline points="{_path(frame, points)}" stroke="{coloured[name]}">{title_}</polyline>')
    return "".join([*parts, *(_legend(coloured) if colours is None else ()), "</svg>"])


def shares_below(values: NDArray[np.floating]) -> Points:
    """The cumulative distribution: each value, and the share of the values that are at most as large."""
    ordered = np.sort(values[np.isfinite(values)])
    if not len(ordered):
        return []
    at = np.unique(np.linspace(0, len(ordered) - 1, min(MOST_POINTS, len(ordered))).round().astype(int))
    return [(float(ordered[index]), float((index + 1) / len(ordered))) for index in at]


def _frame(xs: Sequence[float], ys: Sequence[float], log: bool, top: int) -> _Frame:
    """Axes for these numbers; the vertical one starts at 0 if that takes little of its length."""
    heights = [math.log10(y) for y in ys if y > 0] if log else list(ys)
    low, high = min(heights), max(heights)
    from_zero = not log and 0 < low < high / 2
    ticks = _log_ticks(low, high) if log else _ticks(0.0 if from_zero else low, high)
    first, last, places = min(xs), max(xs), None
    if last <= first:  # in the middle, and the only number on the axis
        places = {first: f"{first:.4g}"}
        beside = max(1.0, abs(first) / 1e6)  # more than 1 for large numbers, to which adding 1 changes nothing
        first, last = first - beside, last + beside
    return _Frame(first, last, min(ticks[0], low), max(ticks[-1], high), tuple(ticks), top, log, places)


def _drawn_bands(frame: _Frame, bands: Sequence[Band]) -> Iterator[str]:
    for band in bands:
        x, width = frame.across(band.start), frame.across(band.end) - frame.across(band.start)
        yield (
            f'<rect x="{x:.1f}" y="{frame.top}" width="{width:.1f}" height="{HEIGHT - frame.top - BOTTOM}" '
            f'class="{"shaded" if band.shaded else "plain"}"><title>{escape(band.name)}</title></rect>'
        )
        if width > LETTER * len(band.name):
            yield f'<text x="{x + 4:.1f}" y="{frame.top + 15}" class="band">{escape(band.name)}</text>'


def _path(frame: _Frame, points: Sequence[Point]) -> str:
    return " ".join(f"{frame.across(x):.1f},{frame.up(y):.1f}" for x, y in points)


def _legend(coloured: Mapping[str, str]) -> list[str]:
    """The names in their colours, cut to fit into a line; nothing for a single one."""
    parts: list[str] = []
    x, gap = 2, 14
    fits = sum(LETTER * len(name) + gap for name in coloured) <= WIDTH
    most = max(len(name) for name in coloured) if fits else (WIDTH // len(coloured) - gap) // LETTER
    for name, colour in coloured.items() if len(coloured) > 1 else ():
        shown = name if len(name) <= most else name[: most - 1] + "…"
        title = "" if shown == name else f"<title>{escape(name)}</title>"
        parts.append(f'<text x="{x}" y="{TOP + 6}" style="fill:{colour}">{title}{escape(shown)}</text>')
        x += LETTER * len(shown) + gap
    return parts


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

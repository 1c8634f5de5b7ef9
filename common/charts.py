"""Line charts as SVG text, for pages that need only a browser."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 30, 34
COLOURS = ("#1f5fa8", "#c7522a", "#3c8d40", "#7b4fa3", "#a07d00", "#00808a", "#b03060", "#666666")

STYLE = """
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 14px; }
svg { width: 100%; height: auto; background: #fff; } svg text { font: 11px system-ui, sans-serif; fill: #555; }
svg .title { font-weight: 600; font-size: 13px; fill: #222; } svg .grid { stroke: #ddd; stroke-width: 0.7; }
svg polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .band { fill: #999; font-size: 10px; } svg .shaded { fill: #f6dfc8; } svg .plain { fill: #f4f6f9; stroke: #fff; }
"""
"""Style of the charts in a page, and of a grid of them (class `charts`)."""

Point = tuple[float, float]
Points = list[Point]

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
    colours: Mapping[str, str] | None = None,
    intervals: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
) -> str:
    """Draw the lines, by name, over the bands; an empty text if no line has a point.

    log: use a logarithmic vertical axis and leave out points that are not positive. colours: of the lines by name,
    where a page explains them elsewhere: there is no legend then. intervals: x, low and high around a line, by its
    name.
    """
    drawn = {
        name: [(x, y) for x, y in points if math.isfinite(y) and (y > 0 or not log)] for name, points in lines.items()
    }
    drawn = {name: points for name, points in drawn.items() if points}
    if not drawn:
        return ""
    xs = [x for points in drawn.values() for x, _ in points] + [
        edge for band in bands for edge in (band.start, band.end)
    ]
    shaded = {} if log or intervals is None else {name: intervals[name] for name in drawn if name in intervals}
    ys = [math.log10(y) if log else y for points in drawn.values() for _, y in points]
    ys += [edge for spans in shaded.values() for _, low, high in spans for edge in (low, high)]
    from_zero = not log and 0 < min(ys) < max(ys) / 2
    ticks = _log_ticks(min(ys), max(ys)) if log else _ticks(0.0 if from_zero else min(ys), max(ys))
    low, high = min(ticks[0], min(ys)), max(ticks[-1], max(ys))
    first, last = min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1

    def across(x: float) -> float:
        return LEFT + (x - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (y - low) / ((high - low) or 1) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for band in bands:
        x, width = across(band.start), across(band.end) - across(band.start)
        parts.append(
            f'<rect x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{HEIGHT - TOP - BOTTOM}" '
            f'class="{"shaded" if band.shaded else "plain"}"><title>{escape(band.name)}</title></rect>'
        )
        if width > 7 * len(band.name):
            parts.append(f'<text x="{x + 4:.1f}" y="{TOP + 13}" class="band">{escape(band.name)}</text>')
    parts.append(f'<text x="{LEFT}" y="16" class="title">{escape(title)}</text>')
    for tick in ticks:
        label = f"{10**tick:g}" if log else f"{tick:g}"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(tick):.1f}" y2="{up(tick):.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{up(tick) + 4:.1f}" text-anchor="end">{label}</text>')
    for tick in _ticks(first, last):
        parts.append(f'<text x="{across(tick):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{escape(x_name)}</text>')
    chosen = dict(zip(drawn, _colours(len(drawn)), strict=True)) | dict(colours or {})
    for name, spans in shaded.items():
        above = [f"{across(x):.1f},{up(high):.1f}" for x, _, high in spans]
        below = [f"{across(x):.1f},{up(low):.1f}" for x, low, _ in reversed(spans)]
        parts.append(f'<polygon points="{" ".join(above + below)}" fill="{chosen[name]}" opacity="0.15"/>')
    for name, points in drawn.items():
        path = " ".join(f"{across(x):.1f},{up(math.log10(y) if log else y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" stroke="{chosen[name]}"><title>{escape(name)}</title></polyline>')
    if len(drawn) > 1 and colours is None:
        x = float(WIDTH - RIGHT)
        for colour, name in reversed(list(zip(_colours(len(drawn)), drawn, strict=True))):
            parts.append(f'<text x="{x:.0f}" y="16" text-anchor="end" style="fill:{colour}">{escape(name)}</text>')
            x -= 7 * len(name) + 10
    return "".join([*parts, "</svg>"])


def shares_below(values: NDArray[np.floating]) -> Points:
    """The cumulative distribution: each value, and the share of the values that are at most as large."""
    ordered = np.sort(values[np.isfinite(values)])
    if not len(ordered):
        return []
    at = np.unique(np.linspace(0, len(ordered) - 1, min(MOST_POINTS, len(ordered))).round().astype(int))
    return [(float(ordered[index]), float((index + 1) / len(ordered))) for index in at]


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers over the range, about five of them."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if power * one >= raw * 0.999)
    return [round(i * step, 12) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Whole powers of ten over the range, not more than about six of them."""
    first, last = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
    return [float(power) for power in range(first, last + 1, max(1, (last - first) // 5))]

"""The page of a report, from samples of one dataset or two."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape

import numpy as np

from ...common.charts import STYLE as CHART_STYLE
from ...common.charts import Points, line_chart, shares_below
from ...common.page import facts, origin, page, tiles
from ...envs.pictures.player import Clip, player
from ..summary import Summary
from .pictures import KEYS, LONGEST, as_html, key_raster, strobe
from .sample import Sample, distances, speeds, taken

MOST_RASTERS = 16
"""Games of a raster, at most."""


def document(samples: Sequence[Sample], made_by: str, settings: str) -> str:
    """The whole page. made_by: the command line; settings: as YAML."""
    title = " against ".join(sample.name for sample in samples)
    parts = [f"<h1>{escape(title)}</h1>"]
    drawn = [sample for sample in samples if sample.clips]
    if len(samples) == 1:
        parts.append(tiles(_headline(samples[0].summary)))
    if drawn:
        parts.append(player(_named_clips(samples)))
    parts += ["<h2>Statistics</h2>", _summary(samples)]
    parts += ["<h2>Episodes</h2>", _note(samples), f'<div class="charts">{"".join(charts(samples))}</div>']
    if drawn:
        keys = "".join(f'<span><b style="background: rgb{colour}"></b>{name}</span> ' for _, name, colour in KEYS)
        seconds = LONGEST // 30
        parts.append(f'<h2>Keys</h2><p class="note legend">A band for each game, up to {seconds} s: {keys}</p>')
        for sample in drawn:
            raster = key_raster(sample.clips[:MOST_RASTERS])
            parts += [_named(sample, samples), as_html(raster, f"Keys of {escape(sample.name)}", "raster")]
        parts.append("<h2>Gait</h2>")
        for sample in drawn:
            picture, begin, end = strobe(sample.clips[0])
            about = f"{sample.clips[0].title}, from {begin:.2f} to {end:.2f} s"
            parts.append(f'{_named(sample, samples)}<p class="note">{escape(about)}</p>')
            parts.append(as_html(picture, f"Gait of {escape(sample.name)}", "strobe"))
    return page(title, "".join([*parts, origin(made_by, settings)]), CHART_STYLE)


def charts(samples: Sequence[Sample]) -> list[str]:
    """The charts that the samples give, as SVG."""
    several = len(samples) > 1
    names = _short_names(samples)

    def lines(points: Callable[[Sample], Points]) -> Mapping[str, Points]:
        found = {name: points(one) for name, one in zip(names, samples, strict=True)}
        return {name: line for name, line in found.items() if line}

    if several:
        metres = lines(lambda one: distances(one.clips, 0.5))
    else:
        shares = {"10 %": 0.1, "median": 0.5, "90 %": 0.9}
        metres = {name: line for name, share in shares.items() if (line := distances(samples[0].clips, share))}
    taken_at = lines(lambda one: shares_below(taken(one.episodes).astype(np.float64)))
    return [
        line_chart("distance, m" + (", median" if several else ""), metres, [], "seconds"),
        line_chart("speed, m/s, median", lines(lambda one: speeds(one.clips)), [], "metres"),
        line_chart("share of episodes, by distance", lines(lambda one: shares_below(one.summary.metres)), [], "metres"),
        line_chart("share of episodes, by return", lines(lambda one: shares_below(one.summary.returns)), [], "return"),
        line_chart("share of decisions, by probability", taken_at, [], "behaviour probability of the action taken"),
    ]


def _summary(samples: Sequence[Sample]) -> str:
    found = [dict(sample.summary.rows()) for sample in samples]
    rows = [
        (name, *(one.get(name, "") for one in found)) for name in dict.fromkeys(name for one in found for name in one)
    ]
    return facts(rows, ("", *_short_names(samples)) if len(samples) > 1 else ())


def _headline(summary: Summary) -> list[tuple[str, str]]:
    """The most important statistics of one dataset."""
    rows = [("episodes", f"{summary.episodes:,}"), ("decisions", f"{summary.steps.sum():,}")]
    known = summary.metres[np.isfinite(summary.metres)]
    if "finished" in summary.outcomes:
        rows.append(("finished", f"{summary.outcomes['finished']:,}"))
    if len(known):
        rows.append(("best distance", f"{known.max():.1f} m"))
    else:
        rows.append(("best return", f"{summary.returns.max():.1f}"))
    return rows


def _note(samples: Sequence[Sample]) -> str:
    parts = [f"{len(one.episodes)} of {one.summary.episodes}" for one in samples]
    return (
        '<p class="note">A share is that of the episodes or decisions up to a value. Distance and return by episodes '
        f"are of all, everything else is of {' and '.join(parts)}: the best, and others at equal distances.</p>"
    )


def _named(sample: Sample, samples: Sequence[Sample]) -> str:
    return f"<h3>{escape(sample.name)}</h3>" if len(samples) > 1 else ""


def _named_clips(samples: Sequence[Sample]) -> list[Clip]:
    """The clips of all samples; of several, each with its dataset's name."""
    if len(samples) == 1:
        return [*samples[0].clips]
    return [
        replace(clip, title=f"{name}, {clip.title}")
        for name, sample in zip(_short_names(samples), samples, strict=True)
        for clip in sample.clips
    ]


def _short_names(samples: Sequence[Sample]) -> list[str]:
    """Names for legends: the folders', or their whole paths if these are the same."""
    short = [sample.name.rstrip("/").rpartition("/")[2] for sample in samples]
    return short if len(set(short)) == len(short) else [sample.name for sample in samples]

"""Figures of a run's evaluations: read from its folder, compared, and the best policy by them.

The figures of an evaluation are those of greedy games; `drawn` holds those of its games with drawn actions.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.errors import BadInput
from ..common.reading import MEGABYTE, read_json

START, START_POLICY = "0-start.json", "start.safetensors"
"""Evaluation of the initial policy, in the folder of the phases, and the policy in the run's."""

Figures = Mapping[str, Any]

LOSS = 0.1
"""Smallest drop in the share of games finished that counts as a loss."""

FASTER, FARTHER = 0.98, 2.0
"""Ratio of median times below which a policy is clearly faster, and the metres by which one that never finishes gets
clearly farther."""

NOISE = 0.02
"""Standard error of a share of 0.96 in 100 games."""

FINALISTS = 4
"""Most policies that play drawn games for the choice alone."""


def read_evaluation(path: Path) -> dict[str, Any]:
    """Read the evaluation at a phase's end; BadInput if the file is not one."""
    document: Any = read_json(path, MEGABYTE, "remove it")
    if not isinstance(document, dict) or "episodes" not in document:
        raise BadInput(f"{path}: not an evaluation; remove it")
    return document


def figures_of(evaluation: Figures) -> dict[str, Any]:
    """The figures of an evaluation, without its games and settings."""
    return {name: one for name, one in evaluation.items() if not isinstance(one, Mapping) and name != "games"}


def success(figures: Figures) -> float:
    """Share of games finished; without a track, the mean return."""
    return float(figures["finishes"] / figures["episodes"] if "finishes" in figures else figures["mean_return"])


def pace(figures: Figures) -> tuple[float, float]:
    """Sort key of policies that finish alike: lower median time, then metres."""
    median = figures.get("median_seconds")
    return -math.inf if median is None else -median, figures.get("mean_metres", 0.0)


def verdict(before: Figures, after: Figures) -> str:
    """One line about a run, from the evaluations of its first and its final policy.

    It learned if more games finish, the same ones faster, or farther where none does; it became worse if fewer finish.
    Fewer means greedy or drawn games, by a tenth of them and by two standard errors of the difference. Without a track
    returns count, where their intervals do not overlap.
    """
    pairs = list(_greedy_and_drawn(before, after))
    if any(_falls_behind(then, now) for then, now in pairs):
        return "learned"
    if any(_falls_behind(now, then) for then, now in pairs):
        return "became worse: try a lower algorithm.learning_rate, or schedule.keep=best"
    if any(_faster_or_farther(now, then) for then, now in pairs):
        return "learned"
    return "no clear gain: try more decisions (schedule.decisions, or schedule.scale), or another schedule or algorithm"


def _greedy_and_drawn(before: Figures, after: Figures) -> Iterator[tuple[Figures, Figures]]:
    """Yield the figures of greedy games of two evaluations, then those of drawn games if both have them."""
    yield before, after
    if "drawn" in before and "drawn" in after:
        yield before["drawn"], after["drawn"]


def _falls_behind(now: Figures, then: Figures) -> bool:
    if "finishes" not in now or "finishes" not in then:
        mine, theirs = now.get("mean_return_interval"), then.get("mean_return_interval")
        return bool(mine and theirs and mine[1] < theirs[0])
    games = now["episodes"], then["episodes"]
    share = (now["finishes"] + then["finishes"]) / sum(games)
    error = math.sqrt(share * (1 - share) * sum(1 / n for n in games))
    return success(then) - success(now) > max(LOSS, 2 * error)


def _faster_or_farther(now: Figures, then: Figures) -> bool:
    if "finishes" not in now or "finishes" not in then:
        return False
    times = now["median_seconds"], then["median_seconds"]
    if None not in times and times[0] < FASTER * times[1]:
        return True
    return bool(then["finishes"] == 0 and now["mean_metres"] > then["mean_metres"] + FARTHER)


def line(figures: Figures) -> str:
    """The figures in a line."""
    if "finishes" not in figures:
        text = f"mean return {_return(figures['mean_return'])}"
        if interval := figures.get("mean_return_interval"):
            text += f" ({' … '.join(map(_return, interval))})"
        text += f" in {figures['episodes']} games"
    else:
        text = (
            f"finished {figures['finishes']} of {figures['episodes']} games, {figures['mean_metres']:.1f} m on average"
        )
        if figures["finishes"]:
            text += f", best {figures['best_seconds']:.2f} s, median {figures['median_seconds']:.2f} s"
    return f"{text}; drawn: {line(figures['drawn'])}" if "drawn" in figures else text


def gain(before: Figures, after: Figures) -> str:
    """Describe the difference between two evaluations."""
    pairs = zip(("", "drawn "), _greedy_and_drawn(before, after), strict=False)
    return "; ".join(_difference(*pair, kind) for kind, pair in pairs)


def _difference(before: Figures, after: Figures, kind: str) -> str:
    if "finishes" not in before or "finishes" not in after:
        return f"{kind}mean return {' → '.join(_return(one['mean_return']) for one in (before, after))}"
    shares = (f"{one['finishes']} of {one['episodes']}" for one in (before, after))
    text = f"{kind}finished {' → '.join(shares)}"
    medians = [one["median_seconds"] for one in (before, after)]
    if None not in medians:
        return f"{text}, median {medians[0]:.2f} → {medians[1]:.2f} s"
    return f"{text}, {before['mean_metres']:.1f} → {after['mean_metres']:.1f} m on average"


def _return(value: float) -> str:
    """A return to a digit, or to two where it is a fraction, as a share of games won is."""
    return f"{value:.{2 if abs(value) <= 1 else 1}f}"


@dataclass(frozen=True)
class Candidate:
    """An evaluated policy of a run: its file, its evaluation's file, and the figures."""

    policy: Path
    evaluation: Path
    figures: Figures


def finalists(run: Path) -> list[Candidate]:
    """The fastest of the evaluated policies of the run in `run` that lead by their greedy games, fastest first."""
    return sorted(_leaders(run), key=lambda one: pace(one.figures), reverse=True)[:FINALISTS]


def best_policy(run: Path) -> Candidate:
    """The best evaluated policy of the run in `run`; the earliest of equals.

    The most greedy games finished count first. Of these policies, those whose drawn finishes come within `NOISE` of
    the most differ by chance, and the fastest of them is the best.
    """
    leaders = _leaders(run)
    games = [one.figures.get("drawn", {}) for one in leaders]
    shares = [success(one) if "finishes" in one else 0.0 for one in games]
    near = [one for one, share in zip(leaders, shares, strict=True) if share >= max(shares) - NOISE]
    return max(near, key=lambda one: pace(one.figures))


def _leaders(run: Path) -> list[Candidate]:
    """The evaluated policies with the most greedy games finished, earliest first."""
    candidates = [
        Candidate(
            run / START_POLICY if path.name == START else path.with_suffix(".safetensors"), path, read_evaluation(path)
        )
        for path in (run / "phases").glob("*.json")
    ]
    most = max(success(one.figures) for one in candidates)
    leaders = [one for one in candidates if success(one.figures) == most]
    return sorted(leaders, key=lambda one: one.figures.get("decisions", 0))

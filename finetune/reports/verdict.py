"""Verdict on a run: learned or not, the likely reason, and a remedy."""

from .phase_evaluator import Figures, finishes_lost, greedy_and_drawn, is_worse, shown_return

FASTER = 0.98
"""Ratio of median times below which a policy that finishes as often is clearly faster."""

FARTHER = 2.0
"""Metres, on average, by which the games of a policy that finishes none get clearly farther."""

MORE = "more decisions (schedule.decisions, or schedule.scale)"

RELIABLE = 0.95
"""Share of finished games from which a policy has little left to learn but pace."""

CERTAIN = 0.1
"""Entropy in nats below which a policy hardly tries anything but its usual actions."""


def verdict(
    before: Figures, after: Figures, decisions: int, entropy: float | None, solved_at: float | None = None
) -> str:
    """One line about a run of this many decisions, from the evaluations of its first and its final policy.

    entropy: mean entropy of the policy in the last update, nats, if known. solved_at: mean return from which the
    environment counts as solved, if it has one.
    """
    solved = None if solved_at is None or "finishes" in after else after["mean_return"] >= solved_at
    if is_better(after, before):
        if solved is not False:
            return "learned"
        reached = shown_return(after["mean_return"])
        return f"learned, but not to the end: mean return {reached}, and {solved_at:g} counts as solved; try {MORE}"
    if solved and not is_worse(after, before):
        return f"stayed as good as it was, which counts as solved (mean return {solved_at:g})"
    if is_worse(after, before):
        said, remedy = "became worse", "a lower algorithm.learning_rate, or schedule.keep=best"
    elif _is_better_throughout(after, before):
        return "learned a little: it became faster, or finishes more often, by no more than chance may do"
    elif min(_shares(before), default=0.0) >= RELIABLE:
        return f"stayed as good as it was: nearly all of its games had finished; for more pace, try {MORE}"
    else:
        said, remedy = "did not learn", f"{MORE}, or another {'schedule' if 'finishes' in after else 'algorithm'}"
    if entropy is not None and entropy < CERTAIN and not any(share > 0.5 for share in _shares(after)):
        why = f"its actions are nearly certain (entropy {entropy:.2f} nats), so it tries nothing new"
        remedy = "a higher algorithm.entropy_coefficient"
        if "finishes" in after:
            remedy = "schedule=person, which shows it the embedded games"
    else:
        why = f"{decisions:,} decisions brought no clear gain"
    return f"{said}: {why}; try {remedy}"


def is_better(after: Figures, before: Figures) -> bool:
    """True if the second evaluation is clearly better: more games finished, the same ones faster, or farther where
    none is; without a track, a clearly higher return."""
    if is_worse(before, after):
        return True
    if "finishes" not in after or "finishes" not in before or is_worse(after, before):
        return False
    return any(_faster_or_farther(now, then) for now, then in greedy_and_drawn(after, before))


def _faster_or_farther(now: Figures, then: Figures) -> bool:
    times = now["median_seconds"], then["median_seconds"]
    if None not in times and times[0] < FASTER * times[1]:
        return True
    return bool(then["finishes"] == 0 and now["mean_metres"] > then["mean_metres"] + FARTHER)


def _is_better_throughout(after: Figures, before: Figures) -> bool:
    """True if runs are at least as fast, greedy and drawn, finish as often but for a standard error, and gained in one
    of these."""
    pairs = list(greedy_and_drawn(after, before))
    if not all(one.get("median_seconds") for pair in pairs for one in pair):
        return False
    losses = [finishes_lost(now, then) for now, then in pairs]
    gains = [then["median_seconds"] - now["median_seconds"] for now, then in pairs]
    as_often = all(lost <= error for lost, error in losses)
    return bool(as_often and min(gains) >= 0 and (max(gains) > 0 or min(lost for lost, _ in losses) < 0))


def _shares(figures: Figures) -> list[float]:
    """Shares of the greedy and of the drawn games that finished; empty without a track."""
    every = (figures, figures.get("drawn", {}))
    return [one["finishes"] / one["episodes"] for one in every if "finishes" in one]

"""Advice after cloning: the clone's worth in sentences, and the command to run next."""

from collections.abc import Sequence
from pathlib import Path

from ..common.command_line import next_command, unused
from ..common.files import beside
from ..envs.qwop.task import PIXELS
from ..envs.spec import EnvironmentSpec
from ..evaluation.evaluate import Evaluation
from ..policies.champion import CHAMPION
from .measures import CLONE, REPEAT_LAST, HeldOut

LIKE = 0.01
"""Differences in accuracy below this do not count."""

PICTURES_TAUGHT = {"stack": 3, "size": 36}
"""Pictures of that schedule."""

MANY = 0.8
"""Share of finished games from which a clone is called a runner."""


def worth(splits: Sequence[HeldOut], games: Sequence[Evaluation], greedy: bool, sharpness: float) -> list[str]:
    """Sentences about a clone: against repeating the last action, and where its games end. greedy, sharpness: how it is
    played."""
    runs = any(one.summary().get("finishes") for one in games)
    said = [_against_repeating(splits, runs)]
    if games and (how := _in_games(games, greedy, sharpness)):
        said.append(how)
    return said


def next_step(policy: Path, environment: EnvironmentSpec, games: Sequence[Evaluation], embedded: bool) -> str:
    """The command that improves the clone, as a line to print."""
    if embedded:
        return next_command("qwop-finetune", policy=policy, schedule="from-clone", out=_beside(policy, "faster"))
    if not environment.capabilities.runs or not environment.capabilities.keys:
        return next_command("qwop-finetune", policy=policy, schedule="from-any-clone", out=_beside(policy, "better"))
    finishes = any(one.summary().get("finishes") for one in games)
    if environment.all_settings["observation"] == PIXELS and not finishes:  # the embedded demonstrations are numbers
        named: dict[str, object] = {"teacher": CHAMPION, "schedule": "pictures"}
        for name, usual in PICTURES_TAUGHT.items():
            if (size := environment.all_settings[name]) != usual:
                named[f"schedule.phases.taught.environment.{name}"] = size
    else:
        named = {"schedule": "person"}
    return next_command("qwop-finetune", policy=policy, **named, out=_beside(policy, "faster"))


def _beside(policy: Path, name: str) -> Path:
    """A folder beside the run's own: runs/me-faster for runs/me."""
    return unused(beside(policy.parent, name))


def _against_repeating(splits: Sequence[HeldOut], runs: bool) -> str:
    clone, repeat = (
        sum(split.measures[name].accuracy for split in splits) / len(splits) for name in (CLONE, REPEAT_LAST)
    )
    judged = "held out" if not splits[0].learned else "that it learned from, as there is no other game"
    figures = f"({clone:.0%} of the decisions {judged}, against {repeat:.0%})"
    if clone > repeat + LIKE:
        return f"The clone predicts its player better than repeating the last action {figures}."
    said = f"The clone predicts its player no better than repeating the last action {figures}"
    return f"{said}, and runs all the same." if runs else f"{said}: record more games, or let it learn by itself."


def _in_games(games: Sequence[Evaluation], greedy: bool, sharpness: float) -> str | None:
    shown = {bool(one.settings.greedy): one.summary() for one in games}
    if any("finishes" not in one for one in shown.values()):
        return None
    figures = shown[greedy]
    finished, count, metres = figures["finishes"], figures["episodes"], figures["mean_metres"]
    how = "with its most probable actions" if greedy else "with drawn actions"
    if not greedy and sharpness != 1.0:
        how = f"with actions drawn from its sharpened probabilities (to the power of {sharpness:g})"
    if not finished:
        return (
            f"Its games get nowhere: they end after {metres:.1f} m, {how}. It needs to learn by itself, and to be "
            "shown how."
        )
    other = shown[not greedy]
    marked = f"It runs {'greedily' if greedy else 'drawn'}: {finished} of {count} games finish {how}"
    if other["finishes"] < finished:
        marked += f", {other['finishes']} otherwise"
    if not greedy:
        marked += "; its file says so, and the commands play it so"
    return f"{marked}." if finished >= MANY * count else f"{marked}; reinforcement learning makes it steady."

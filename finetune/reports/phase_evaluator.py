"""Results of a run: policy and evaluation at its start and after each phase, and a film of the last best game."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...common.errors import BadInput
from ...common.files import write_atomic
from ...common.reading import MEGABYTE, parse_json, read_text
from ...evaluation.evaluate import Evaluation, evaluate
from ...evaluation.film import film
from ...evaluation.settings import EvaluationSettings
from ...policies.files import save_policy
from ...policies.policy import Policy
from ..schedules.phase import Phase
from .run_log import RunLog

START = "0-start.json"
"""Evaluation of the initial policy, in the folder of the phases."""


class _Judged(NamedTuple):
    """An evaluation and its figures, those of drawn games among them."""

    games: Evaluation
    figures: Mapping[str, Any]


class PhaseEvaluator:
    """Saves and evaluates the current policy within and at the end of each phase, and evaluates the initial one.

    Writes `phases/<number>-<name>.safetensors` and, unless the evaluation has no games, `.json` of the same name;
    within a phase the name ends in the decisions so far. The initial policy's evaluation is `phases/0-start.json`.
    Each evaluation also goes to TensorBoard. Beside the greedy games, `drawn` games with drawn actions are played (not
    within phases): a greedy runner may wait at the start for ever.
    """

    def __init__(self, folder: Path, settings: EvaluationSettings, drawn: int, log: RunLog) -> None:
        self._folder = folder / "phases"
        self._settings = settings
        self._drawn = drawn
        self._log = log
        self._last: _Judged | None = None
        self._evaluated: dict[Path, Evaluation] = {}

    def add_start(self, policy: Policy) -> str | None:
        """Evaluate the initial policy; returns a summary in one line, None without games."""
        if self._settings.episodes == 0:
            return None
        self._folder.mkdir(parents=True, exist_ok=True)
        return f"start: {_line(self._evaluate('start', policy, self._folder / START, 0, self._drawn).figures)}"

    def add(self, index: int, phase: Phase, policy: Policy, decisions: int, *, within: bool = False) -> str:
        """Save and evaluate the policy after so many decisions; returns a summary in one line.

        within: the phase goes on.
        """
        path = self._folder / f"{index + 1}-{phase.name}{f'-{decisions}' if within else ''}.safetensors"
        save_policy(path, policy)
        name = f"{phase.name}, {decisions:,} decisions" if within else phase.name
        if self._settings.episodes == 0:
            return f"{name}: {path}"
        drawn = 0 if within else self._drawn
        self._last = self._evaluate(phase.name, policy, path.with_suffix(".json"), decisions, drawn)
        return f"{name}: {_line(self._last.figures)}"

    def forget_after(self, decisions: int) -> None:
        """Remove what was evaluated within phases after so many decisions, for a run that goes on from there."""
        for path in self._folder.glob("*.json"):
            if read_evaluation(path).get("decisions", 0) > decisions:
                path.unlink()
                path.with_suffix(".safetensors").unlink(missing_ok=True)

    def keep(self, path: Path, policy: Policy) -> None:
        """Make an evaluated policy the one that the run leaves, instead of the last one.

        path: its evaluation, which gets the drawn games if it was made within a phase. The others are only played again
        if it was made before the run was resumed.
        """
        figures = read_evaluation(path)
        if self._last is None or self._last.figures["decisions"] != figures["decisions"]:
            played = self._evaluated.get(path)
            self._last = self._evaluate(figures["phase"], policy, path, figures["decisions"], self._drawn, played)

    @property
    def last(self) -> str | None:
        """Summary of the evaluation of the policy that the run leaves; None before the first of a phase."""
        return None if self._last is None else _line(self._last.figures)

    @property
    def gain(self) -> str | None:
        """Comparison of that evaluation with that of the start, in one line; None without one of them."""
        start = self._folder / START
        if self._last is None or not start.exists():
            return None
        return gain(read_evaluation(start), self._last.figures)

    def film_best(self) -> str | None:
        """Write the best game of that evaluation to `best.mp4`; returns the reason if that is impossible."""
        if self._last is None:
            return "no game was evaluated"
        path = self._folder.parent / "best.mp4"
        return film(path, self._last.games.best, self._last.games.environment, lambda done, of: None)

    def _evaluate(
        self, name: str, policy: Policy, path: Path, decisions: int, drawn: int, played: Evaluation | None = None
    ) -> _Judged:
        """Play the policy's games and write their figures. played: the greedy ones, if they are known."""
        evaluation = self._evaluated[path] = played or evaluate(policy, self._settings)
        figures = {"phase": name, "decisions": decisions, **evaluation.to_json()}
        if self._settings.greedy and drawn:
            games = replace(self._settings, greedy=False, episodes=drawn)
            figures["drawn"] = evaluate(policy, games).summary()
            self._log.evaluated(decisions, figures["drawn"], "drawn")
        self._log.evaluated(decisions, figures, "greedy" if self._settings.greedy else "drawn")
        write_atomic(path, json.dumps(figures, indent=1, allow_nan=False) + "\n")
        return _Judged(evaluation, figures)


def read_evaluation(path: Path) -> dict[str, Any]:
    """Read the evaluation at a phase's end; BadInput where it is none."""
    try:
        document = parse_json(read_text(path, MEGABYTE, "remove it"))
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(f"{path}: {error}; remove it") from None
    if not isinstance(document, dict) or "episodes" not in document:
        raise BadInput(f"{path}: not an evaluation; remove it")
    return document


def gain(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The difference between two evaluations in words."""
    parts = [_difference(before, after, "")]
    if "drawn" in before and "drawn" in after:
        parts.append(_difference(before["drawn"], after["drawn"], "drawn "))
    return "; ".join(parts)


def _difference(before: Mapping[str, Any], after: Mapping[str, Any], kind: str) -> str:
    if "finishes" not in before or "finishes" not in after:
        return f"{kind}mean return {before['mean_return']:.1f} → {after['mean_return']:.1f}"
    shares = (f"{one['finishes']} of {one['episodes']}" for one in (before, after))
    said = f"{kind}finished {' → '.join(shares)}"
    medians = [one["median_seconds"] for one in (before, after)]
    if None not in medians:
        return f"{said}, median {medians[0]:.2f} → {medians[1]:.2f} s"
    return f"{said}, {before['mean_metres']:.1f} → {after['mean_metres']:.1f} m on average"


def _line(figures: Mapping[str, Any]) -> str:
    if "finishes" not in figures:
        said = f"mean return {figures['mean_return']:.1f}"
        if interval := figures.get("mean_return_interval"):
            said += f" ({interval[0]:.1f} … {interval[1]:.1f})"
        said += f" in {figures['episodes']} games"
    else:
        said = (
            f"finished {figures['finishes']} of {figures['episodes']} games, {figures['mean_metres']:.1f} m on average"
        )
        if figures["finishes"]:
            said += f", best {figures['best_seconds']:.2f} s, median {figures['median_seconds']:.2f} s"
    return f"{said}; drawn: {_line(figures['drawn'])}" if "drawn" in figures else said

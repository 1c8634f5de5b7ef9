"""Results of each phase of a run: policy, evaluation, and a film of the last one's best game."""

import json
from pathlib import Path

from ...common.files import write_whole
from ...evaluation.evaluate import Evaluation, EvaluationSettings, evaluate
from ...evaluation.film import film
from ...policies.files import save_policy
from ...policies.policy import Policy
from ..schedules.phase import Phase


class PhaseResults:
    """Saves and evaluates the current policy at the end of each phase.

    Writes `phases/<number>-<name>.safetensors` and, unless the evaluation has no games, `.json` of the same name.
    """

    def __init__(self, folder: Path, settings: EvaluationSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._last: Evaluation | None = None

    def add(self, index: int, phase: Phase, policy: Policy) -> str:
        """Save and evaluate the policy; returns a summary in one line."""
        path = self._folder / "phases" / f"{index + 1}-{phase.name}.safetensors"
        save_policy(path, policy)
        if self._settings.episodes == 0:
            return f"{phase.name}: {path}"
        self._last = evaluate(policy, self._settings)
        document = {"phase": phase.name, **self._last.to_json()}
        write_whole(path.with_suffix(".json"), json.dumps(document, indent=1, allow_nan=False) + "\n")
        return f"{phase.name}: {_line(self._last)}"

    @property
    def last(self) -> str | None:
        """Summary of the last evaluation in one line; None before the first."""
        return None if self._last is None else _line(self._last)

    def film_best(self) -> str | None:
        """Write the best game of the last evaluation to `best.mp4`; returns the reason if that is impossible."""
        if self._last is None:
            return "no game was evaluated"
        return film(self._folder / "best.mp4", self._last.best, self._last.environment, lambda done, of: None)


def _line(evaluation: Evaluation) -> str:
    figures = evaluation.summary()
    if not evaluation.has_metres:
        low, high = figures["mean_return_interval"]
        return f"mean return {figures['mean_return']:.1f} ({low:.1f} … {high:.1f}) in {figures['episodes']} games"
    said = f"finished {figures['finishes']} of {figures['episodes']} games, {figures['mean_metres']:.1f} m on average"
    if figures["finishes"]:
        said += f", best {figures['best_seconds']:.2f} s, median {figures['median_seconds']:.2f} s"
    return said

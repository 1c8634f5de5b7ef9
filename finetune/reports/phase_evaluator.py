"""Results of a run: policy and evaluation at its start and after each phase, and a film of its best game."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...common.cores import cores, use_cores
from ...common.errors import BadInput
from ...common.files import file_name, write_atomic
from ...common.reading import MEGABYTE, read_json
from ...datasets.reader import Dataset
from ...envs.spec import Observations
from ...evaluation.evaluate import Evaluation, evaluate
from ...evaluation.film import film
from ...evaluation.settings import EvaluationSettings
from ...policies.files import save_policy
from ...policies.policy import Policy
from ..display import Display
from ..schedules.phase import Phase
from .run_log import RunLog

LOSS = 0.1
"""Smallest drop in the share of games finished that causes a warning."""

FILM = "best.mp4"
"""Name of the film of the best game, in the run's folder."""

START = "0-start.json"
"""Evaluation of the initial policy, in the folder of the phases."""

LONGEST_NAME = 50
"""Characters of a phase's name in the names of its files, of which systems permit 255 bytes."""

LIKENESS = "player_actions"
"""Figure of an evaluation: share of the demonstrated decisions whose action is the policy's most probable one."""

MOST_SHOWN = 5000
"""Most demonstrated decisions to compare a policy with."""

Figures = Mapping[str, Any]
"""Figures of an evaluation, as its file has them; `drawn`: those of its games with drawn actions."""


class _Judged(NamedTuple):
    """An evaluation and its figures, including those of games with drawn actions."""

    games: Evaluation
    figures: Figures


class PhaseEvaluator:
    """Saves and evaluates the current policy within and at the end of each phase, and evaluates the initial one.

    Writes `phases/<number>-<name>.safetensors` and, unless the evaluation has no games, `.json` of the same name;
    within a phase the name ends in the decisions so far. The initial policy's evaluation is `phases/0-start.json`.
    Each evaluation is also logged to TensorBoard. Besides the greedy games, `drawn` games with drawn actions are played
    (not within phases), because a greedy runner may never leave the start. Policies that are marked to be played with
    drawn actions play greedily too, unless the settings choose. keeps_best: whether the run keeps the best policy in
    the end, or the last one.
    """

    def __init__(
        self,
        folder: Path,
        settings: EvaluationSettings,
        drawn: int,
        log: RunLog,
        demonstrations: Dataset | None = None,
        display: Display | None = None,
        *,
        keeps_best: bool = False,
    ) -> None:
        self._folder = folder / "phases"
        self._settings = settings.playing(True)
        self._drawn = drawn
        self._log = log
        self._keeps_best = keeps_best
        self._demonstrations = demonstrations
        self._display = display or Display()
        self._last: _Judged | None = None
        self._evaluated: dict[Path, Evaluation] = {}
        self._games: dict[str, Evaluation] = {}
        self._drawn_games: dict[str, Figures] = {}
        """Greedy games and figures of drawn ones, by the policy that played them (`_who_plays`)."""

    @cached_property
    def _shown(self) -> tuple[Observations, NDArray[np.int64]] | None:
        """Demonstrated decisions, to compare each policy with; None without demonstrations."""
        return None if self._demonstrations is None else decisions_of(self._demonstrations)

    def add_start(self, policy: Policy) -> str | None:
        """Evaluate the initial policy; prints and returns a summary, None without games."""
        if self._settings.episodes == 0:
            return None
        self._display.show("evaluating the start")
        said = self._start(policy)
        self._display.say(said)
        return said

    def _start(self, policy: Policy) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        said = f"start: {_line(self._evaluate('start', policy, self._folder / START, 0, self._drawn).figures)}"
        if policy.sharpness == 1.0:
            return said
        return (
            f"{said}\nnote: the start draws from sharpened probabilities (to the power of {policy.sharpness:g}); "
            "training begins from the network's own, whose drawn games may be worse at first"
        )

    def add(self, index: int, phase: Phase, policy: Policy, decisions: int, *, within: bool = False) -> str:
        """Save and evaluate the policy after this many decisions; prints and returns a summary.

        within: the phase is not over.
        """
        self._display.show(f"evaluating {'in' if within else 'after'} {phase.name}")
        said = self._add(index, phase, policy, decisions, within=within)
        self._display.say(said)
        return said

    def _add(self, index: int, phase: Phase, policy: Policy, decisions: int, *, within: bool) -> str:
        stem = f"{index + 1}-{file_name(phase.name)[:LONGEST_NAME]}{f'-{decisions}' if within else ''}"
        path = self._folder / f"{stem}.safetensors"
        save_policy(path, policy)
        name = f"{phase.name}, {decisions:,} decisions" if within else phase.name
        if self._settings.episodes == 0:
            return f"{name}: {path}"
        drawn = 0 if within else self._drawn
        before = {one.stem: read_evaluation(one) for one in self._folder.glob("*.json")}
        self._last = self._evaluate(phase.name, policy, path.with_suffix(".json"), decisions, drawn, before=before)
        said = f"{name}: {_line(self._last.figures)}"
        if (better := self._last.figures.get("worse_than")) is None:
            return said
        worse = f"clearly worse than {better} ({_line(before[better])})"
        if self._keeps_best:
            return f"{said}\nnote: {worse}; in the end the run keeps its best policy"
        return f"{said}\nwarning: {worse}; the run keeps its last policy, with schedule.keep=best its best one"

    def forget_after(self, decisions: int) -> None:
        """Remove evaluations within phases after this many decisions, for a run resumed from there."""
        for path in self._folder.glob("*.json"):
            if read_evaluation(path).get("decisions", 0) > decisions:
                path.unlink()
                path.with_suffix(".safetensors").unlink(missing_ok=True)

    def add_drawn(self, policies: Mapping[Path, Policy]) -> None:
        """Add the drawn games to evaluations that lack them, because they were made within a phase; on each core one
        policy plays at a time. policies: by their evaluations."""
        found = {path: read_evaluation(path) for path in policies}
        lacking = {
            path: one for path, one in found.items() if self._settings.greedy and self._drawn and "drawn" not in one
        }
        side_by_side = all(one.environment.capabilities.parallel for one in policies.values())
        threads = (torch.get_num_threads(),)
        pool = ThreadPoolExecutor(cores() if side_by_side else 1, "drawn", initializer=use_one_core, initargs=threads)
        try:
            played = [pool.submit(self._drawn_figures, policies[path]) for path in lacking]
            for (path, figures), drawn in zip(lacking.items(), played, strict=True):
                self._log.evaluated(figures["decisions"], drawn.result(), "drawn")
                self._write(path, figures | {"drawn": drawn.result()})
        finally:
            pool.shutdown(cancel_futures=True)

    def keep(self, path: Path, policy: Policy) -> None:
        """Make an evaluated policy the run's final one, instead of the last one.

        path: its evaluation. Greedy games are repeated only if it was made before the run was resumed.
        """
        figures = read_evaluation(path)
        if self._last is None or self._last.figures["decisions"] != figures["decisions"]:
            self._last = _Judged(self._evaluated.get(path) or evaluate(policy, self._settings), figures)

    @property
    def last(self) -> str | None:
        """Summary of the final policy's evaluation; None before the first evaluation of a phase."""
        return None if self._last is None else _line(self._last.figures)

    @property
    def gain(self) -> str | None:
        """One-line comparison of that evaluation with the initial one; None if either is missing."""
        return None if self.ends is None else gain(*self.ends)

    @property
    def ends(self) -> tuple[Figures, Figures] | None:
        """Figures of the initial and of the final policy; None if either is missing."""
        start = self._folder / START
        return (read_evaluation(start), self._last.figures) if self._last is not None and start.exists() else None

    @property
    def solved_at(self) -> float | None:
        """Mean return from which the environment counts as solved; None if it has no such threshold."""
        return None if self._last is None else self._last.games.environment.open().reward_threshold

    def film_best(self) -> str | None:
        """Write the best game of that evaluation to `best.mp4`; returns the reason if it cannot."""
        if self._last is None:
            return "no game was evaluated"
        path = self._folder.parent / FILM
        return film(path, self._last.games.best, self._last.games.environment, lambda done, of: None)

    def _evaluate(
        self,
        name: str,
        policy: Policy,
        path: Path,
        decisions: int,
        drawn: int,
        before: Mapping[str, Figures] = MappingProxyType({}),
    ) -> _Judged:
        """Play the policy's games and write their figures. before: earlier evaluations by name. The best one that
        clearly beats the policy is recorded with the figures, unless it was played with sharper probabilities: training
        begins from the network's own."""
        who = _who_plays(policy)
        if who not in self._games:  # a phase that trains the critic alone leaves the policy as it was
            self._games[who] = evaluate(policy, self._settings)
        evaluation = self._evaluated[path] = self._games[who]
        figures: dict[str, Any] = {"phase": name, "decisions": decisions, **evaluation.to_json()}
        if policy.sharpness != 1.0:
            figures["sharpness"] = policy.sharpness
        before = {name: one for name, one in before.items() if one.get("sharpness", 1.0) == policy.sharpness}
        if self._shown is not None and not policy.initial_state(1):
            observations, actions = self._shown
            figures[LIKENESS] = float((policy.probabilities(observations).argmax(1) == actions).mean())
        if self._settings.greedy and drawn:
            figures["drawn"] = self._drawn_figures(policy)
            self._log.evaluated(decisions, figures["drawn"], "drawn")
        if lost := {name: one for name, one in before.items() if is_worse(figures, one)}:
            figures["worse_than"] = max(lost, key=lambda name: success(lost[name]))
        self._log.evaluated(decisions, figures, "greedy" if self._settings.greedy else "drawn")
        self._write(path, figures)
        return _Judged(evaluation, figures)

    def _drawn_figures(self, policy: Policy) -> Figures:
        who = _who_plays(policy)
        if who not in self._drawn_games:
            drawn = self._settings.with_(greedy=False, episodes=self._drawn)
            self._drawn_games[who] = evaluate(policy, drawn).summary()
        return self._drawn_games[who]

    def _write(self, path: Path, figures: Figures) -> None:
        write_atomic(path, json.dumps(figures, indent=1, allow_nan=False) + "\n")


def decisions_of(dataset: Dataset) -> tuple[Observations, NDArray[np.int64]]:
    """Observations, [n, …], and actions, int64 [n], of at most `MOST_SHOWN` decisions, as many of each game, evenly
    spaced."""
    each = max(MOST_SHOWN // len(dataset), 1)
    observations, actions = [], []
    for episode in dataset:
        chosen = np.linspace(0, len(episode) - 1, min(each, len(episode))).astype(np.int64)
        observations.append(episode.observations[chosen])
        actions.append(episode.actions[chosen].astype(np.int64))
    return np.concatenate(observations), np.concatenate(actions)


def _who_plays(policy: Policy) -> str:
    """Digest of all that a policy's games depend on, apart from the settings of its evaluation."""
    network = policy.network
    deciding = [
        (name, tensor) for name, tensor in network.state_dict().items() if name.partition(".")[0] not in network.judging
    ]
    said = [network.architecture, network.description(), policy.environment.to_json(), policy.sharpness]
    found = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for name, tensor in deciding:
        found.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def read_evaluation(path: Path) -> dict[str, Any]:
    """Read the evaluation at a phase's end; BadInput if the file is not one."""
    document: Any = read_json(path, MEGABYTE, "remove it")
    if not isinstance(document, dict) or "episodes" not in document:
        raise BadInput(f"{path}: not an evaluation; remove it")
    return document


def figures_of(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of an evaluation, without its games and settings."""
    return {name: one for name, one in evaluation.items() if not isinstance(one, Mapping) and name != "games"}


def is_worse(figures: Figures, before: Figures) -> bool:
    """True if a policy is clearly worse than an earlier one: it finishes fewer games, greedy or drawn, by a tenth and
    two standard errors of the difference. Without a track: the intervals of the mean returns do not overlap."""
    return any(_falls_behind(now, then) for now, then in greedy_and_drawn(figures, before))


def greedy_and_drawn(now: Figures, then: Figures) -> Iterator[tuple[Figures, Figures]]:
    """Yield the figures of greedy games of two evaluations, then those of drawn games if both have them."""
    yield now, then
    if "drawn" in now and "drawn" in then:
        yield now["drawn"], then["drawn"]


def _falls_behind(figures: Figures, before: Figures) -> bool:
    if "finishes" not in figures or "finishes" not in before:
        now, then = figures.get("mean_return_interval"), before.get("mean_return_interval")
        return bool(now and then and now[1] < then[0])
    lost, error = finishes_lost(figures, before)
    return lost > max(LOSS, 2 * error)


def finishes_lost(figures: Figures, before: Figures) -> tuple[float, float]:
    """The share of finished games by which a policy is behind an earlier one, and its standard error (pooled)."""
    games = figures["episodes"], before["episodes"]
    pooled = (figures["finishes"] + before["finishes"]) / sum(games)
    error = math.sqrt(pooled * (1 - pooled) * sum(1 / n for n in games))
    return before["finishes"] / games[1] - figures["finishes"] / games[0], error


def success(figures: Figures) -> float:
    """Share of games finished; without a track, the mean return."""
    return float(figures["finishes"] / figures["episodes"] if "finishes" in figures else figures["mean_return"])


def shown_return(value: float) -> str:
    """A return to a digit, or to two where it is a fraction, as a share of games won is."""
    return f"{value:.{2 if abs(value) <= 1 else 1}f}"


def gain(before: Figures, after: Figures) -> str:
    """Describe the difference between two evaluations."""
    pairs = zip(("", "drawn "), greedy_and_drawn(before, after), strict=False)
    return "; ".join(_difference(*pair, kind) for kind, pair in pairs)


def _difference(before: Figures, after: Figures, kind: str) -> str:
    if "finishes" not in before or "finishes" not in after:
        return f"{kind}mean return {' → '.join(shown_return(one['mean_return']) for one in (before, after))}"
    shares = (f"{one['finishes']} of {one['episodes']}" for one in (before, after))
    said = f"{kind}finished {' → '.join(shares)}"
    medians = [one["median_seconds"] for one in (before, after)]
    if None not in medians:
        return f"{said}, median {medians[0]:.2f} → {medians[1]:.2f} s"
    return f"{said}, {before['mean_metres']:.1f} → {after['mean_metres']:.1f} m on average"


def _line(figures: Figures) -> str:
    if "finishes" not in figures:
        said = f"mean return {shown_return(figures['mean_return'])}"
        if interval := figures.get("mean_return_interval"):
            said += f" ({' … '.join(map(shown_return, interval))})"
        said += f" in {figures['episodes']} games"
    else:
        said = (
            f"finished {figures['finishes']} of {figures['episodes']} games, {figures['mean_metres']:.1f} m on average"
        )
        if figures["finishes"]:
            said += f", best {figures['best_seconds']:.2f} s, median {figures['median_seconds']:.2f} s"
    return f"{said}; drawn: {_line(figures['drawn'])}" if "drawn" in figures else said


def use_one_core(threads: int) -> None:
    """Prepare a thread that plays the games of one policy. Games that were divided among several would wait for
    Python's lock at every decision; without a number of threads MKL would take all cores, and the last bits depend on
    it."""
    use_cores(1)
    torch.set_num_threads(threads)

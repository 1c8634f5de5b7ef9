"""Evaluations of a run: its policy at the start, within and after each phase, and a film of the best game."""

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.files import file_name, write_atomic
from ..datasets.reader import Dataset
from ..envs.spec import Observations
from ..evaluation.evaluate import Evaluation, evaluate
from ..evaluation.film import film
from ..policies.files import load_policy, save_policy
from ..policies.policy import Policy
from .figures import START, Candidate, Figures, best_policy, finalists, line, read_evaluation
from .schedules.phase import Phase
from .settings import PhaseEvaluationSettings

FILM = "best.mp4"
"""Name of the film of the best game, in the run's folder."""

LONGEST_NAME = 50
"""Characters of a phase's name in the names of its files, of which systems permit 255 bytes."""

LIKENESS = "player_actions"
"""Figure of an evaluation: share of the demonstrated decisions whose action is the policy's most probable one."""

MOST_SHOWN = 5000
"""Most demonstrated decisions to compare a policy with."""


class Evaluations:
    """Saves and evaluates the current policy within and at the end of each phase, and evaluates the initial one.

    Writes `phases/<number>-<name>.safetensors` and, unless the evaluation has no games, `.json` of the same name;
    within a phase the name ends in the decisions so far. The initial policy's evaluation is `phases/0-start.json`.
    Besides the greedy games, `drawn` games with drawn actions are played (not within phases), because a greedy runner
    may never leave the start. Policies that are marked to be played with drawn actions play greedily too, unless the
    settings choose. A policy that decides as an earlier one did plays no games. demonstrations: each policy is compared
    with their player. say: prints a line.
    """

    def __init__(
        self,
        folder: Path,
        settings: PhaseEvaluationSettings,
        demonstrations: Dataset | None = None,
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        self._run, self._folder = folder, folder / "phases"
        self._settings = settings.playing(True)
        self._demonstrations, self._say = demonstrations, say
        self.last: Figures | None = None
        """Figures of the final policy; None before the first evaluation of a phase."""
        self._evaluations: dict[tuple[str, bool], Evaluation] = {}
        """Games by the policy that played them (`_who_plays`), and True for drawn ones."""

    def add_start(self, policy: Policy) -> None:
        """Evaluate the initial policy, if there are games; prints a summary."""
        if self._settings.episodes != 0:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._say(f"start: {line(self._evaluate('start', policy, self._folder / START, 0))}")

    def add(self, index: int, phase: Phase, policy: Policy, decisions: int, *, within: bool = False) -> None:
        """Save and evaluate the policy after this many decisions; prints a summary.

        within: the phase is not over.
        """
        stem = f"{index + 1}-{file_name(phase.name)[:LONGEST_NAME]}{f'-{decisions}' if within else ''}"
        path = self._folder / f"{stem}.safetensors"
        save_policy(path, policy)
        name = f"{phase.name}, {decisions:,} decisions" if within else phase.name
        if self._settings.episodes == 0:
            self._say(f"{name}: {path}")
        else:
            self.last = self._evaluate(phase.name, policy, path.with_suffix(".json"), decisions, within=within)
            self._say(f"{name}: {line(self.last)}")

    def keep_best(self) -> Candidate:
        """Choose the best policy evaluated, which counts as the run's final one.

        The finalists that were evaluated within a phase play their drawn games first.
        """
        for one in finalists(self._run) if self._settings.greedy and self._settings.drawn else ():
            if "drawn" not in one.figures:
                drawn = self._games(load_policy(one.policy), drawn=True).summary()
                _write(one.evaluation, {**one.figures, "drawn": drawn})
        best = best_policy(self._run)
        self.last = best.figures
        self._say(f"kept the best policy evaluated: {best.policy}")
        return best

    @property
    def ends(self) -> tuple[Figures, Figures] | None:
        """Figures of the initial and of the final policy; None if either is missing."""
        start = self._folder / START
        return (read_evaluation(start), self.last) if self.last is not None and start.exists() else None

    def film_best(self, policy: Policy) -> str | None:
        """Write the best game of the final policy to `best.mp4`; returns the reason if it cannot."""
        if self._settings.episodes == 0:
            return "no game was evaluated"
        games = self._games(policy)
        return film(self._run / FILM, games.best, games.environment, lambda frames, total: None)

    def _evaluate(
        self,
        name: str,
        policy: Policy,
        path: Path,
        decisions: int,
        *,
        within: bool = False,
    ) -> Figures:
        """Play the policy's games; write their figures and return them."""
        games = self._games(policy)
        figures: dict[str, Any] = {"phase": name, "decisions": decisions, **games.to_json()}
        if self._player is not None and not policy.initial_state(1):
            observations, actions = self._player
            figures[LIKENESS] = float((policy.probabilities(observations).argmax(1) == actions).mean())
        if self._settings.greedy and self._settings.drawn and not within:
            figures["drawn"] = self._games(policy, drawn=True).summary()
        _write(path, figures)
        return figures

    def _games(self, policy: Policy, *, drawn: bool = False) -> Evaluation:
        who = _who_plays(policy), drawn
        if who not in self._evaluations:
            settings = self._settings.with_(greedy=False, episodes=self._settings.drawn) if drawn else self._settings
            self._evaluations[who] = evaluate(policy, settings)
        return self._evaluations[who]

    @cached_property
    def _player(self) -> tuple[Observations, NDArray[np.int64]] | None:
        """Observations, [n, …], and actions, int64 [n], of at most `MOST_SHOWN` demonstrated decisions, as many of each
        game, evenly spaced; None without demonstrations."""
        if self._demonstrations is None:
            return None
        each = max(MOST_SHOWN // len(self._demonstrations), 1)
        observations, actions = [], []
        for episode in self._demonstrations:
            indices = np.linspace(0, len(episode) - 1, min(each, len(episode))).astype(np.int64)
            observations.append(episode.observations[indices])
            actions.append(episode.actions[indices].astype(np.int64))
        return np.concatenate(observations), np.concatenate(actions)


def _who_plays(policy: Policy) -> str:
    """Digest of all that a policy's games depend on, apart from the settings of its evaluation."""
    network = policy.network
    content = [network.architecture, network.description(), policy.environment.to_json(), policy.sharpness]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name, tensor in network.state_dict().items():
        if name.partition(".")[0] not in network.judging:  # a phase that trains the critic alone changes nothing
            digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _write(path: Path, figures: Figures) -> None:
    write_atomic(path, json.dumps(figures, indent=1, allow_nan=False) + "\n")

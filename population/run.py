"""`qwop-population`: agents that race each other, learn and evolve, and the files in the run's folder."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..common.errors import BadInput
from ..common.files import write_atomic
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console, progress_bar
from ..common.resume import (
    checkpoint_to_resume,
    kept_policy,
    removed_unless_begun,
    require_same_settings,
    restoring,
    saying_how_to_continue,
)
from ..common.run_folder import CONFIGURATION, next_command, read_settings, require_no_other_run, write_configuration
from ..common.settings import to_plain
from ..finetune.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from ..finetune.distributed.actors import RayEngine
from ..finetune.settings import RaySettings
from ..policies.devices import use_one_thread
from ..policies.files import load_policy, save_policy
from ..policies.policy import Policy
from ..policies.rollout import play
from .evolution import Member
from .head_to_head import figures_of, film_race, play_head_to_head, shared_race, tournament
from .history import HISTORY, History, Row
from .population import Population
from .report import FILM, sentences, write_report
from .rival_races import view_of
from .settings import FIRST, PopulationSettings
from .training import AgentTrainer, Distributed, Report, Workers

MAY_DIFFER = ("resume", "out", "rounds", "device", "evaluation", "video", "distributed")
"""Settings in which a resumed run may differ from its earlier part."""

BEST = "best.safetensors"
"""The best agent: the highest rated one, at the end the winner of the finals."""

EVALUATION = "evaluation.json"
"""The results of the finals, in the run's folder."""

REPORT_EVERY = 5
"""Rounds between updates of the report."""

RIVALS = "rivals"
"""Folder of the rivals, in the order of the settings that name them."""


class Run:
    """A population and its folder."""

    def __init__(self, settings: PopulationSettings) -> None:
        self._settings, self._out = settings, Path(settings.out)
        self._console = plain_console()
        self._task = settings.task

    def run(self) -> None:
        use_one_thread()
        settings = self._settings
        newest, state = self._newest_checkpoint() or (None, None)
        require_no_other_run(self._out, PopulationSettings, (BEST, HISTORY, EVALUATION, FILM))
        rivals = self._rivals(resumed=state is not None)
        start = [(path, load_policy(path)) for path in settings.start or ()] if state is None else []
        against = self._against(rivals)
        fixed = {settings.agents + number: policy for number, policy in enumerate(rivals.values())}
        arguments: tuple[Any, ...] = (
            self._task, settings.agent, settings.work, settings.race, fixed, settings.device
        )  # fmt: skip
        with closing(AgentTrainer(*arguments)) as trainer:
            workers: Workers = trainer
            if isinstance(how := settings.distributed, RaySettings):
                workers = Distributed(RayEngine(how.actors, how.address), how.actors, *arguments)
            self._population = Population(settings, trainer, workers, len(rivals))
            if newest is not None and state is not None:
                with restoring(newest):
                    self._population.set_state(state)
            else:
                self._population.begin(start)  # refuses unsuitable policies before anything is written
            with removed_unless_begun(self._out, lambda: self._population.round > 0):
                if newest is None:
                    for number, policy in enumerate(rivals.values()):
                        save_policy(self._out / RIVALS / _rival(number), policy)
                self._train(newest)
            self._save_policies()
            self._end(against)

    def _newest_checkpoint(self) -> tuple[Path, dict[str, Any]] | None:
        """The newest checkpoint, and its state; None for a new run, or one killed before its first checkpoint.

        Raises BadInput if a run exists without resume=true, if there is none to resume, or if its settings differ.
        """
        settings, out = self._settings, self._out
        begun = (out / (FIRST if settings.resume else HISTORY)).exists()
        paths = checkpoints(out / "checkpoints")
        newest = checkpoint_to_resume(out, settings.resume, paths, begun, out / BEST)
        if newest is None:
            return None
        require_same_settings(read_settings(out / CONFIGURATION), to_plain(settings), out, MAY_DIFFER)
        return newest, load_checkpoint(newest)

    def _train(self, newest: Path | None) -> None:
        """Play the rounds, from the newest checkpoint on if there is one."""
        write_configuration(self._settings, self._out)
        if newest is None:
            self._save_first()
        else:
            self._first_agents()  # which the final races need: told now, not after hours
        self._history = History(self._out, None if newest is None else self._population.round)
        (self._out / FILM).unlink(missing_ok=True)  # of earlier agents

        def how_far() -> str:
            return f"round {self._population.round}"

        with saying_how_to_continue(self._console, how_far, lambda: self._population.round > 0):
            try:
                self._rounds(newest)
            except KeyboardInterrupt:
                if self._history.rows:
                    self._save_policies()
                    self._report()
                raise

    def _save_first(self) -> None:
        for member in self._population.members:
            save_policy(self._out / FIRST / _name(member.id), self._population.policy(member))
        self._checkpoint()

    def _rounds(self, resumed_from: Path | None) -> None:
        settings, population, per_round = self._settings, self._population, self._settings.agents
        # The first round loads what the checkpoint has of learners and games.
        first_round: AbstractContextManager[None] = nullcontext() if resumed_from is None else restoring(resumed_from)
        with progress_bar("agents", self._console) as bar:
            task = bar.add_task("starting", total=settings.rounds * per_round, completed=population.round * per_round)
            while population.round < settings.rounds:
                began = time.perf_counter()
                with first_round:
                    row = population.play_round(lambda number: bar.advance(task))
                first_round = nullcontext()
                self._history.write(row, time.perf_counter() - began)
                bar.update(task, description=_describe(row), completed=population.round * per_round)
                for child, parent in row.copies:
                    why = ", which diverged," if child in row.diverged else ""
                    bar.console.print(f"round {row.round}: agent {child}{why} copies agent {parent}")
                self._checkpoint()
                if row.round % REPORT_EVERY == 0:
                    self._save_policies()
                    self._report()

    def _end(self, against: Mapping[str, list[Policy]]) -> None:
        population, console, settings = self._population, self._console, self._settings
        finalists = population.best[: settings.evaluation.finalists]
        meetings = len(finalists) * (len(finalists) - 1) // 2 + len(against)
        with progress_bar("races", console) as bar:
            total = meetings * settings.evaluation.games if settings.is_race else None
            task = bar.add_task("racing the finalists", total=total)
            report = partial(bar.advance, task)
            finals = self._finals(finalists, report)
            best = population.members[finals[0]["agent"]]
            path = save_policy(self._out / BEST, population.policy(best))
            bar.console.print(f"best: agent {best.id}, {path}")
            bar.update(task, description="evaluating")
            evaluation = self._evaluate(best, against, report) | {"finalists": finals}
            if settings.video and settings.is_race:
                bar.update(task, description="filming the best agents' race")
                self._film([population.members[one["agent"]] for one in finals])
        for sentence in sentences(evaluation):
            console.print(sentence)
        write_atomic(self._out / EVALUATION, json.dumps(evaluation, indent=1) + "\n")
        console.print(f"report: {self._report(evaluation)}")
        console.print(next_command("qwop-evaluate", policy=self._out / BEST))

    def _finals(self, finalists: Sequence[Member], report: Report) -> list[dict[str, Any]]:
        """Finalists, best first, with each one's share of points in races among them."""
        if not (self._settings.is_race and self._settings.evaluation.games) or len(finalists) == 1:
            return [{"agent": one.id} for one in finalists]
        policies = [self._population.policy(one) for one in finalists]
        points = tournament(policies, self._task, self._settings.evaluation.games, report)
        order = np.argsort(-points, kind="stable").tolist()
        return [{"agent": finalists[place].id, "won": float(points[place])} for place in order]

    def _evaluate(self, best: Member, against: Mapping[str, list[Policy]], report: Report) -> dict[str, Any]:
        how, policy = self._settings.evaluation, self._population.policy(best)
        evaluation: dict[str, Any] = {"round": self._population.round, "agent": best.id, "races": []}
        if not how.games:
            return evaluation
        if not self._settings.is_race:
            games = play(policy, episodes=how.games, seed=self._settings.seed, greedy=True)
            returns = np.array([game.rewards.sum() for game in games])
            sentence = f"mean return {returns.mean():.2f} over {len(returns)} episodes"
            return {**evaluation, "returns": {"mean": float(returns.mean()), "sentence": sentence}}
        first = self._first_agents()
        for name, others in against.items():
            races = play_head_to_head(policy, others or first, self._task, games=how.games, report=report)
            evaluation["races"].append(figures_of(races, name))
        return evaluation

    def _first_agents(self) -> list[Policy]:
        """All agents as they began; none where no final race is run."""
        policies: list[Policy] = []
        for member in self._population.members if self._settings.is_race and self._settings.evaluation.games else ():
            path = self._out / FIRST / _name(member.id)
            policies.append(load_policy(kept_policy(path)))
        return policies

    def _against(self, rivals: Mapping[str, Policy]) -> dict[str, list[Policy]]:
        """Opponents of the final races, by name; an empty list for the first agents, which may not exist yet."""
        if not self._settings.is_race:
            if {*self._settings.evaluation.against} - {FIRST}:
                raise BadInput(f"evaluation.against: {self._settings.environment} is played alone; leave it out")
            return {}
        opponents = {name: [] if name == FIRST else [rivals.get(name) or self._opponent(name)]
                     for name in self._settings.evaluation.against}  # fmt: skip
        return {**opponents, **{name: [policy] for name, policy in rivals.items()}}

    def _rivals(self, resumed: bool) -> dict[str, Policy]:
        if self._settings.rivals and not self._settings.is_race:
            raise BadInput(f"rivals: {self._settings.environment} is played alone; leave them out")
        rivals = {}
        for number, name in enumerate(dict.fromkeys(self._settings.rivals or ())):
            rivals[name] = load_policy(kept_policy(self._out / RIVALS / _rival(number)) if resumed else name)
            view_of(rivals[name], self._task, name)
        return rivals

    def _opponent(self, name: str) -> Policy:
        """Load a policy, and check that it can run in a final race."""
        policy = load_policy(name)
        view_of(policy, shared_race(self._task, [policy]), name, may_hold=True)
        return policy

    def _checkpoint(self) -> None:
        folder, population = self._out / "checkpoints", self._population
        save_checkpoint(folder, population.decisions, population.get_state(), learning_rate="agent.learning_rate")

    def _save_policies(self) -> None:
        for member in self._population.members:
            save_policy(self._out / "agents" / _name(member.id), self._population.policy(member))
        save_policy(self._out / BEST, self._population.policy(self._population.best[0]))

    def _film(self, best: Sequence[Member]) -> None:
        """Film a race between the best two, or of a single agent against itself."""
        one, other = (self._population.policy(member) for member in (best[0], best[min(1, len(best) - 1)]))
        film_race(self._out / FILM, (one, other), self._task)

    def _report(self, evaluation: Mapping[str, Any] | None = None) -> Path:
        return write_report(self._out, self._settings, self._history.rows, evaluation)


def run(settings: PopulationSettings) -> None:
    """Train and evolve the population; write policies, checkpoints, history, report and evaluation to `out`."""
    with exclusive_lock(Path(settings.out), "out", within=("checkpoints", "agents", FIRST)):
        Run(settings).run()


def _rival(number: int) -> str:
    return f"policy-{number:02d}.safetensors"


def _name(number: int) -> str:
    return f"agent-{number:02d}.safetensors"


def _describe(row: Row) -> str:
    best = max(row.agents, key=lambda agent: agent.rating)
    figures = best.figures
    if "metres" in figures:
        return f"best: agent {best.id}, {figures['metres']:.1f} m, {figures['finish_share']:.0%} finish"
    if "return" in figures:
        return f"best: agent {best.id}, return {figures['return']:.1f}"
    return f"best: agent {best.id}, none of its games ended"

"""`qwop-finetune`: a run from its start to its end, and the files in its folder."""

import copy
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from ..common.files import write_atomic
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console
from ..common.resume import kept_policy, removed_unless_begun, restoring, saying_how_to_continue
from ..common.run_folder import command_line, next_command, require_no_other_run, write_configuration
from ..common.settings import to_plain
from ..common.tracker import require_tracker
from ..datasets.reader import Dataset
from ..envs.registration import REGISTERED
from ..evaluation.evaluate import evaluate as games_of
from ..evaluation.settings import EvaluationSettings
from ..policies.devices import choose_device
from ..policies.files import load_policy, save_policy
from ..policies.policy import Policy
from .agents.registry import BUILT_IN
from .agents.settings import Discounted, LiveSettings
from .checkpoint import checkpoints
from .display import Display
from .evaluation import FILM, Evaluations
from .figures import gain, line, verdict
from .log import RunLog, read_metrics
from .loop import Loop, build
from .report import write_report
from .run import POLICY, START, TEACHER, Run, Watch
from .schedules.phase import Schedule
from .settings import BEST, FinetuneSettings, option_of
from .start import MAY_DIFFER, Start, find_start, fitting, require_resumable

LATE = 0.25
"""Fraction of the schedule before the first update, above which the terminal warns."""

LONGER = 0.25
"""Fraction of the schedule that whole iterations add to it, above which the terminal says so."""

AnyRun = Run[Discounted, LiveSettings]
State = dict[str, Any]


def run(settings: FinetuneSettings, **parts: Any) -> str | None:
    """Train along the schedule; leave policy, checkpoints, log, evaluations and report in `out`.

    parts: arguments of `Training`. Returns the verdict, None without evaluations.
    """
    training = Training(settings, **parts)
    with exclusive_lock(Path(settings.out), "out", within=("checkpoints", "phases")):
        return training.run()


class Training:
    """Trains along a schedule, shows progress and leaves the results in the folder.

    policy, demonstrations: in place of those that the settings name. watch: called after each iteration; False ends the
    run.
    """

    def __init__(
        self,
        settings: FinetuneSettings,
        *,
        policy: Policy | None = None,
        demonstrations: Dataset | None = None,
        watch: Watch | None = None,
        console: Console | None = None,
    ) -> None:
        self._settings, self._out = settings, Path(settings.out)
        self._policy, self._demonstrations, self._watch = policy, demonstrations, watch
        self._display = Display(console or plain_console())

    def run(self) -> str | None:
        """Start or resume the run in the folder, train to the end of the schedule, and write the report.

        Returns the verdict, None without evaluations.
        """
        settings, out = self._settings, self._out
        torch.set_num_threads(settings.threads)
        checkpoint = require_resumable(settings, out, self._display.say)
        require_no_other_run(out, FinetuneSettings, (POLICY, FILM))
        run, start, notes = self._prepared(None if checkpoint is None else checkpoint[1])
        if start.to_clone is not None:  # see what does not fit before the clone is made
            _rehearse(run)
        for note in notes:
            self._display.say(note)
        start = start.with_clone(settings.seed)
        run = replace(run, policy=_to_train(start.policy, run.whole))
        loop: Loop | None = None
        unbegun = removed_unless_begun(out, lambda: loop is not None and loop.decisions > 0)
        with unbegun, self._display, closing(run.log):
            if checkpoint is not None:
                with restoring(checkpoint[0]):
                    run = run.at(run.whole.stage_of(checkpoint[1]["phase"]), int(checkpoint[1]["begun_at"]), run.policy)
            for later in run.later():  # their errors come now, not after hours
                later.rehearse()
            loop = build(run)
            for one in (run, *run.later()):
                for note in length_notes(one.loop, one.schedule):
                    self._display.say(note)
            if checkpoint is None:
                save_policy(out / START, start.policy)
                if run.teacher is not None:
                    save_policy(out / TEACHER, run.teacher[1])
            else:
                with restoring(checkpoint[0]):
                    loop.set_state(checkpoint[1])
                loop.save_policy()  # again: the run may have been killed before that
            over = loop.finished and not any(run.later())
            loop = self._train(run, loop, start.policy if checkpoint is None else None, over)
        return self._finish(run, loop.decisions, over)

    def _prepared(self, state: State | None) -> tuple[AnyRun, Start, list[str]]:
        """The run, whose policy is not yet a copy, what it starts from, and lines to print. state: that of a resumed
        run."""
        settings = self._settings
        device = choose_device(settings.device)
        require_tracker(settings.tracker)
        teacher = None  # before the start, which may be cloned first
        if settings.teacher is not None:
            teacher_file = settings.teacher if state is None else kept_policy(self._out / TEACHER)
            teacher = settings.teacher, load_policy(teacher_file)
        start = find_start(
            settings,
            start_file=None if state is None else kept_policy(self._out / START),
            record=None if state is None else state["demonstrations"],
            policy=self._policy,
            dataset=self._demonstrations,
        )
        notes = [*start.notes]
        capabilities = start.policy.environment.capabilities
        if settings.falling is not None and capabilities.runs and capabilities.keys:
            start = start.with_clone(settings.seed)
            settings, note = _for_its_games(settings, settings.falling, start.policy)
            notes.append(note)
        notes[:0] = settings_notes(settings, start.policy.environment.id)
        settings, omissions = fitting(settings, start.policy.environment.id)
        log = RunLog(self._out, settings.tracker, to_plain(self._settings))
        best = settings.schedule.keep == BEST
        evaluations = Evaluations(
            self._out, settings.evaluation, log, start.demonstrations, self._display, keeps_best=best
        )
        run: AnyRun = Run(
            settings,
            start.policy,
            start.demonstrations,
            device,
            log,
            self._out,
            teacher,
            evaluations,
            self._display,
            self._watch,
        )
        return run, start, notes + omissions

    def _train(self, run: AnyRun, loop: Loop, start: Policy | None, over: bool) -> Loop:
        """Train to the end of the schedule; returns the loop of its last stage. start: of a new run. over: there is
        nothing left to train."""
        assert run.evaluations is not None
        run.evaluations.forget_after(loop.decisions)
        write_configuration(self._settings, self._out)
        if not over:
            (self._out / FILM).unlink(missing_ok=True)  # of the policy as it was before the schedule went on
        run.log.open(resume_at=loop.decisions if self._settings.resume else None)
        with saying_how_to_continue(
            self._display.console, lambda: f"{loop.decisions:,} decisions", lambda: bool(checkpoints(run.checkpoints))
        ):
            if start is not None:
                with run.log.metrics.timer.section("evaluating the start"):
                    run.evaluations.add_start(start)
            loop.run()
            for later in run.later():
                loop = build(later.at(later.stage, loop.decisions, loop.policy_in(loop.phase_index)))
                loop.run()
        return loop

    def _finish(self, run: AnyRun, decisions: int, over: bool) -> str | None:
        """Choose the final policy; write its film and the report. Returns the verdict."""
        out, say, evaluations = self._out, self._display.say, run.evaluations
        assert evaluations is not None
        best = None
        if run.whole.schedule.keep == BEST:
            best = evaluations.keep_best(out / START)
            write_atomic(out / POLICY, best.policy.read_bytes())
        why_not: str | None = "the schedule was over already; add a phase to continue"
        if not over:
            why_not = evaluations.film_best() if self._settings.video else "video=false"
        command = command_line("qwop-finetune", self._settings.words, without=("resume",))
        report = write_report(out, f"qwop-finetune: {out}", command, None if best is None else best.evaluation.stem)
        say(f"policy: {out / POLICY}\nreport: {report}")
        say(f"no film: {why_not}" if why_not else f"film of its best game: {out / FILM}")
        if evaluations.last is not None:
            say(f"in the end: {line(evaluations.last)}")
        conclusion: str | None = None
        if evaluations.ends is not None:
            say(f"from start to end: {gain(*evaluations.ends)}")
            entropies = [row["learner/entropy"] for row in read_metrics(out) if "learner/entropy" in row]
            entropy = entropies[-1] if entropies else None
            conclusion = verdict(*evaluations.ends, decisions, entropy, evaluations.solved_at)
            say(f"verdict: {conclusion}")
        say(next_command("qwop-evaluate", policy=out / POLICY))
        return conclusion


def _rehearse(run: AnyRun) -> None:
    for one in (run, *run.later()):
        one.rehearse()


def _for_its_games(
    settings: FinetuneSettings, falling: FinetuneSettings, policy: Policy
) -> tuple[FinetuneSettings, str]:
    """The settings for a policy that falls, if it does, and a line that says so.

    The policy plays from every start, with the actions that its file asks for.
    """
    games = EvaluationSettings(seed=settings.seed, max_idle_frames=settings.max_idle_frames)
    figures = games_of(policy, games).summary()
    choice, kind = (settings, "runs") if figures["finishes"] else (falling, "falls")
    who = f"the policy finishes {figures['finishes']} of {figures['episodes']} games"
    return choice, f"{who}: phases for one that {kind} ({', '.join(phase.name for phase in choice.phases)})"


def _to_train(policy: Policy, settings: FinetuneSettings) -> Policy:
    """Copy the policy and its network; label it with the training settings, without paths."""
    label: dict[str, Any] = {
        "command": "qwop-finetune",
        "settings": {name: value for name, value in to_plain(settings).items() if name not in MAY_DIFFER},
        "from": dict(policy.training),
    }
    return replace(policy, network=copy.deepcopy(policy.network), training=label, greedy=True, sharpness=1.0)


def settings_notes(settings: FinetuneSettings, environment: str) -> Iterator[str]:
    """Yield notes on an algorithm that the schedule or the environment (its id) is not made for."""
    algorithm, name = settings.schedule.algorithm.get("name"), option_of(settings.algorithm)
    if algorithm is not None and algorithm.partition("-")[0] != name:
        yield f"note: this schedule is made for algorithm={algorithm}; the run learns by {name}"
    if environment not in REGISTERED and name in BUILT_IN and settings.algorithm == type(settings.algorithm)():
        yield (
            f"note: algorithm={name} has the settings for QWOP; algorithm=ppo-small has those for small "
            "environments, algorithm=ppo-atari those for pictures"
        )


def length_notes(loop: LiveSettings, schedule: Schedule) -> Iterator[str]:
    """Yield notes on a schedule that is too short: for filling the memory, whole iterations, or one of its phases."""
    planned, decisions = schedule.planned, schedule.in_iterations(loop.decisions)
    if loop.before_learning > LATE * planned:
        yield (
            f"warning: learning begins after {loop.before_learning:,} of {planned:,} decisions, when the memory holds "
            "loop.start; set it lower, or make the schedule longer"
        )
    if decisions - planned > LONGER * planned:
        yield (
            f"note: {decisions:,} decisions are played in place of the schedule's {planned:,}, as each phase ends with "
            f"a whole iteration (loop.num_envs × loop.steps = {loop.decisions:,})"
        )
    for phase, length in zip(schedule.phases, schedule.lengths, strict=True):
        if phase.length(1.0) and not length:
            yield f"note: phase {phase.name} is left out, as the schedule is too short for it; make the schedule longer"

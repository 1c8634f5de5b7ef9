"""One run of `qwop-finetune`: initial policy, training, and the files in its folder."""

import copy
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from ..common.command import require_no_other_run, write_configuration
from ..common.command_line import command_line, next_command
from ..common.files import write_atomic
from ..common.progress import plain_console, progress_bar
from ..common.resume import kept_policy, removed_unless_begun, restoring, saying_how_to_continue
from ..common.settings import to_plain
from ..common.tracker import require_tracker
from ..datasets.reader import Dataset
from ..evaluation.evaluate import evaluate as games_of
from ..evaluation.settings import EvaluationSettings
from ..policies.devices import choose_device
from ..policies.files import load_policy, save_policy
from ..policies.policy import Policy
from .agents.settings import Discounted, LiveSettings
from .checkpoint import checkpoints
from .loop import Loop, Observer, Progress
from .reports.model_selection import Candidate, best_policy, finalists
from .reports.phase_evaluator import FILM, PhaseEvaluator, decisions_of
from .reports.report import write_report
from .reports.run_log import RunLog
from .reports.verdict import verdict
from .resume import MAY_DIFFER, POLICY, require_resumable
from .run import Run, build, rehearse
from .schedules.environments import phases_in
from .schedules.schedule import Schedule
from .settings import BEST, FinetuneSettings, stage_of
from .start import SCRATCH, Start, find_start

START, TEACHER = "start.safetensors", "teacher.safetensors"
"""A run's initial policy and its teacher, in its folder."""

OUTSIDE = 0.2
"""Fraction of the critic's values outside the returns seen so far, above which the terminal warns."""

LATE = 0.25
"""Fraction of the schedule before the first update, above which the terminal warns."""

LONGER = 0.25
"""Fraction of the schedule that whole iterations add to it, above which the terminal says so."""


class Training(Observer):
    """Trains along a schedule; shows progress, evaluates and saves results."""

    def __init__(
        self,
        settings: FinetuneSettings,
        *,
        policy: Policy | None = None,
        demonstrations: Dataset | None = None,
        watch: Callable[[Progress], bool] = lambda now: True,
        console: Console | None = None,
    ) -> None:
        """policy, demonstrations: in place of those that the settings name. watch: called after each iteration; False
        ends the run."""
        self._asked = self._settings = settings
        self._out = Path(settings.out)
        self._policy, self._demonstrations, self._watch = policy, demonstrations, watch
        self.verdict: str | None = None
        """A sentence on what the training achieved; None before its end, and without evaluations."""
        self._bar = progress_bar("decisions", console or plain_console())
        self._task = self._bar.add_task("starting", total=None)
        self._log = RunLog(self._out, settings.tracker, to_plain(settings))
        self._results = PhaseEvaluator(
            self._out, settings.evaluation, settings.evaluation.drawn, self._log,
            keeps_best=settings.schedule.keep == BEST,
        )  # fmt: skip
        self._warned = False
        self._decisions = 0
        self._entropy: float | None = None
        self._planned_later = 0

    def run(self) -> None:
        """Start or resume the run in the folder, train to the end of the schedule, and write the report."""
        settings = self._settings
        device = choose_device(settings.device)
        torch.set_num_threads(settings.threads)
        require_tracker(settings.tracker)
        resumed = require_resumable(settings, self._out, self._say)
        taken, state = resumed or (None, None)
        require_no_other_run(self._out, FinetuneSettings, (POLICY, FILM))
        teacher = self._teacher(resumed=state is not None)  # before the start, which may be cloned first
        start, runs, notes = self._runs(state, teacher, device)
        start, runs = self._cloned(start, runs, notes)
        policy, folder = runs[0].policy, runs[0].folder
        unbegun = removed_unless_begun(self._out, lambda: self._decisions > 0)
        with unbegun, self._bar, closing(self._log):
            number = 0
            if taken is not None and state is not None:
                with restoring(taken):
                    number = stage_of(state["phase"], [run.settings for run in runs])
            for later in runs[number + 1 :]:  # build later stages now, so that errors come at once, not after hours
                rehearse(later)
            loop = build(runs[number])
            self._planned_later = sum(run.schedule.planned for run in runs[number + 1 :])
            for run in runs[number:]:
                for note in length_notes(run.loop, run.schedule):
                    self._say(note)
            if taken is None or state is None:
                save_policy(self._out / START, start.policy)
                if teacher is not None:
                    save_policy(self._out / TEACHER, teacher[1])
            else:
                with restoring(taken):
                    loop.set_state(state)
                self.checkpoint(loop)  # repeat this step: the run may have been killed before it
            self._results.forget_after(loop.decisions)
            if start.demonstrations is not None:
                self._results.shown = decisions_of(start.demonstrations)
            write_configuration(settings, self._out)
            over = loop.finished and number == len(runs) - 1
            if not over:
                (self._out / FILM).unlink(missing_ok=True)  # of the policy as it was before the schedule went on
            self._log.open(resume_at=loop.decisions if settings.resume else None)
            with saying_how_to_continue(
                self._bar.console, lambda: f"{loop.decisions:,} decisions", lambda: bool(checkpoints(folder))
            ):
                if state is None:
                    self._evaluate_start(start.policy)
                loop.run()
                for run in runs[number + 1 :]:
                    self._planned_later -= run.schedule.planned
                    before = replace(loop.policy_in(loop.phase_index), environment=policy.environment)
                    loop = build(replace(run, policy=before, begun_at=loop.decisions))
                    loop.run()
        self._finish(over)

    def check(self) -> None:
        """Raise BadInput for what a new run would refuse at its start; write nothing."""
        device = choose_device(self._settings.device)
        require_tracker(self._settings.tracker)
        for run in self._runs(None, self._teacher(resumed=False), device)[1]:
            rehearse(run)

    def _runs(
        self, state: dict[str, Any] | None, teacher: tuple[str, Policy] | None, device: torch.device
    ) -> tuple[Start, list[Run[Discounted, LiveSettings]], list[str]]:
        """Choose what the run starts from; prepare the run of each stage, with its policy; and lines to print."""
        folder = self._out / "checkpoints"
        start, said = self._suited(self._start(state))
        settings = self._settings
        fitting, left_out = self._fitting(start.policy.environment.id)
        every = fitting.stages()
        taught = [any(phase.kickstarts for phase in stage.phases) for stage in every]
        runs: list[Run[Discounted, LiveSettings]] = [
            Run(
                stage,
                start.policy,
                start.demonstrations,
                device,
                self._log,
                folder,
                teacher if taught[number] or not any(taught) else None,
                self,
                number,
                whole=fitting.phases,
            )
            for number, stage in enumerate(every)
        ]
        return start, runs, [*settings.notes(start.policy.environment.id), *start.notes, *said, *left_out]

    def _suited(self, start: Start) -> tuple[Start, tuple[str, ...]]:
        """Take the settings for a policy that falls, if the schedule has some and it does, and say so.

        The policy plays from every start, with the actions that its file asks for.
        """
        falling, capabilities = self._settings.falling, start.policy.environment.capabilities
        if falling is None or not (capabilities.runs and capabilities.keys):
            return start, ()
        start = start.with_clone(self._settings.seed)
        games = EvaluationSettings(seed=self._settings.seed, max_idle_frames=self._settings.max_idle_frames)
        played = games_of(start.policy, games).summary()
        self._settings = self._settings if played["finishes"] else falling
        phases = ", ".join(phase.name for phase in self._settings.phases)
        who = f"the policy finishes {played['finishes']} of {played['episodes']} games"
        return start, (f"{who}: phases for one that {'runs' if played['finishes'] else 'falls'} ({phases})",)

    def _cloned(
        self, start: Start, runs: list[Run[Discounted, LiveSettings]], notes: list[str]
    ) -> tuple[Start, list[Run[Discounted, LiveSettings]]]:
        """Print the notes, and make the clone that the run starts from, if any; the runs get a copy of the policy."""
        if start.to_clone is not None:  # see what does not fit before the clone is made
            for run in runs:
                rehearse(run)
        for line in notes:
            self._say(line)
        start = start.with_clone(self._settings.seed)
        policy = _copy_for_training(start.policy, self._settings)
        return start, [replace(run, policy=policy) for run in runs]

    def evaluate(self, loop: Loop, index: int, *, within: bool) -> None:
        phase = self._settings.phases[index]
        self._bar.update(self._task, description=f"evaluating {'in' if within else 'after'} {phase.name}")
        self._say(self._results.add(index, phase, loop.policy_in(index), loop.decisions, within=within))

    def checkpoint(self, loop: Loop) -> None:
        save_policy(self._out / POLICY, loop.policy_in(loop.phase_index))

    def progress(self, now: Progress) -> bool:
        if not self._warned and (warning := outside_warning(now)) is not None:
            self._warned = True
            self.note(warning)
        self._decisions, self._entropy = now.decisions, now.row.get("learner/entropy", self._entropy)
        total = now.decisions + now.remaining + self._planned_later
        self._bar.update(self._task, description=_describe(now), completed=now.decisions, total=total)
        return self._watch(now)

    def aside(self, decisions: int) -> None:
        self._bar.update(self._task, description=f"fitting values: {decisions:,} decisions beside the schedule")

    def note(self, line: str) -> None:
        self._say(line)

    def _start(self, state: dict[str, Any] | None) -> Start:
        """Choose the initial policy and the demonstrations. state: that of a resumed run."""
        settings, algorithm, resumed = self._settings, self._settings.chosen_algorithm, state is not None
        phases = (*settings.phases, *(settings.falling.phases if settings.falling is not None else ()))
        first = settings.policy or (SCRATCH if settings.starts_from_scratch else None)
        return find_start(
            policy=str(kept_policy(self._out / START)) if resumed else first,
            demonstrations=settings.demonstrations,
            environment=None if resumed else settings.environment,
            needs_demonstrations=any(phase.needs_demonstrations for phase in phases),
            seed=settings.seed,
            new_network=algorithm.new_network(settings.algorithm),
            settings=self._fitting(settings.environment)[0].phases[0].environment,
            shown=None if state is None else state.get("demonstrations"),
            loaded=None if resumed else self._policy,
            dataset=self._demonstrations,
        )

    def _fitting(self, environment: str | None) -> tuple[FinetuneSettings, tuple[str, ...]]:
        """The settings for this environment, without those that the schedule has for another one, and a line that names
        these, if there are any."""
        settings, schedule = self._settings, self._settings.schedule
        if environment is None or schedule.environment is None:
            return settings, ()
        phases, names = phases_in(environment, schedule.phases, schedule.environment)
        said = (
            f"note: this schedule is made for {schedule.environment}; in {environment} it leaves out {', '.join(names)}"
        )
        return settings.with_(schedule=schedule.with_(phases=phases)), (said,) if names else ()

    def _teacher(self, resumed: bool) -> tuple[str, Policy] | None:
        name = self._settings.teacher
        return None if name is None else (name, load_policy(kept_policy(self._out / TEACHER) if resumed else name))

    def _evaluate_start(self, policy: Policy) -> None:
        self._bar.update(self._task, description="evaluating the start")
        with self._log.metrics.timer.section("evaluating the start"):
            said = self._results.add_start(policy)
        if said is not None:
            self._say(said)

    def _finish(self, was_over: bool) -> None:
        """Choose the final policy; write its film and the report."""
        kept = self._keep_best() if self._settings.schedule.keep == BEST else None
        why_not: str | None = "the schedule was over already; add a phase to continue"
        if not was_over:
            why_not = self._results.film_best() if self._settings.video else "video=false"
        report = write_report(
            self._out,
            f"qwop-finetune: {self._out}",
            command_line("qwop-finetune", self._asked, without=("resume",)),
            None if kept is None else kept.evaluation.stem,
        )
        self._say(f"policy: {self._out / POLICY}\nreport: {report}")
        self._say(f"no film: {why_not}" if why_not else f"film of its best game: {self._out / FILM}")
        for title, said in (("in the end", self._results.last), ("from start to end", self._results.gain)):
            if said is not None:
                self._say(f"{title}: {said}")
        if self._results.ends is not None:
            self.verdict = verdict(*self._results.ends, self._decisions, self._entropy, self._results.solved_at)
            self._say(f"verdict: {self.verdict}")
        self._say(next_command("qwop-evaluate", policy=self._out / POLICY))

    def _keep_best(self) -> Candidate:
        leaders = finalists(self._out, self._out / START)
        self._results.add_drawn({one.evaluation: load_policy(one.policy) for one in leaders})
        kept = best_policy(self._out, self._out / START)
        write_atomic(self._out / POLICY, kept.policy.read_bytes())
        self._results.keep(kept.evaluation, load_policy(kept.policy))
        self._say(f"kept the best policy evaluated: {kept.policy}")
        return kept

    def _say(self, line: str) -> None:
        self._bar.console.print(line)


def length_notes(loop: LiveSettings, schedule: Schedule) -> Iterator[str]:
    """Yield notes on a schedule that is too short: for filling the memory, whole iterations, or one of its phases."""
    planned, played = schedule.planned, schedule.in_iterations(loop.decisions)
    if loop.before_learning > LATE * planned:
        yield (
            f"warning: learning begins after {loop.before_learning:,} of {planned:,} decisions, when the memory holds "
            "loop.start; set it lower, or make the schedule longer"
        )
    if played - planned > LONGER * planned:
        yield (
            f"note: {played:,} decisions are played in place of the schedule's {planned:,}, as each phase ends with a "
            f"whole iteration (loop.num_envs × loop.steps = {loop.decisions:,})"
        )
    for phase, length in zip(schedule.phases, schedule.lengths, strict=True):
        if phase.length(1.0) and not length:
            yield f"note: phase {phase.name} is left out, as the schedule is too short for it; make the schedule longer"


def outside_warning(now: Progress) -> str | None:
    """Warning about a critic whose values leave the range of all returns seen, else None.

    While all returns are the same, as before the first rare reward, any value is outside, which says nothing.
    """
    row = now.row
    if row.get("learner/values_outside", 0.0) <= OUTSIDE or row["learner/value_low"] == row["learner/value_high"]:
        return None
    low, high = row["learner/value_low"], row["learner/value_high"]
    return (
        f"warning: after {row['decisions']:,} decisions {row['learner/values_outside']:.0%} of the critic's values are "
        f"beyond the returns seen so far ({low:.3g} to {high:.3g}, scaled): it diverges; lower the learning rate, "
        "or start from a clone"
    )


def _copy_for_training(policy: Policy, settings: FinetuneSettings) -> Policy:
    """Copy the policy and its network; label it with the training settings, without paths."""
    made: dict[str, Any] = {
        "command": "qwop-finetune",
        "settings": {name: value for name, value in to_plain(settings).items() if name not in MAY_DIFFER},
        "from": dict(policy.training),
    }
    return replace(policy, network=copy.deepcopy(policy.network), training=made, greedy=True, sharpness=1.0)


def _describe(now: Progress) -> str:
    row = now.row
    if "live/metres" in row:
        return f"{now.phase}: {row['live/metres']:.1f} m, {row.get('live/finish_share', 0.0):.0%} finish"
    return f"{now.phase}: return {row['live/return']:.1f}" if "live/return" in row else now.phase

"""`qwop-finetune`: a run from its start to its end, and the files in its folder."""

import copy
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from ..common.files import write_atomic
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console, progress_bar
from ..common.resume import kept_policy, removed_unless_begun, restoring, saying_how_to_continue
from ..common.run_folder import command_line, next_command, require_no_other_run, write_configuration
from ..common.settings import to_plain
from ..common.tracker import TENSORBOARD, require_tracker
from ..datasets.reader import Dataset
from ..evaluation.evaluate import evaluate as games_of
from ..evaluation.settings import EvaluationSettings
from ..policies.devices import choose_device
from ..policies.files import load_policy, save_policy
from ..policies.policy import Policy
from .agents.settings import Discounted, LiveSettings
from .checkpoint import checkpoints
from .evaluation import FILM, Evaluations
from .figures import gain, line, verdict
from .log import Progress, RunLog
from .loop import Loop, build
from .report import write_report
from .run import POLICY, START, TEACHER, Run, Watch
from .settings import BEST, FinetuneSettings
from .start import MAY_DIFFER, Start, find_start, require_resumable

AnyRun = Run[Discounted, LiveSettings]
State = dict[str, Any]


def run(
    settings: FinetuneSettings,
    *,
    policy: Policy | None = None,
    demonstrations: Dataset | None = None,
    watch: Watch | None = None,
    console: Console | None = None,
) -> str | None:
    """Train along the schedule; leave policy, checkpoints, log, evaluations and report in `out`.

    policy, demonstrations: in place of those that the settings name. watch: called after each iteration; False ends the
    run. Returns the verdict, None without evaluations.
    """
    out, bar = Path(settings.out), progress_bar("decisions", console or plain_console())
    task, say = bar.add_task("starting", total=None), bar.console.print

    def show(now: Progress) -> bool | None:
        bar.update(task, description=str(now), completed=now.decisions, total=now.decisions + now.remaining)
        return None if watch is None else watch(now)

    loop: Loop | None = None
    torch.set_num_threads(settings.threads)
    with exclusive_lock(out, "out", within=("checkpoints", "phases", TENSORBOARD)):
        newest, state = require_resumable(settings, out) or (out, None)
        require_no_other_run(out, FinetuneSettings, (POLICY, FILM))
        run, start = _prepared(settings, state, policy, demonstrations, say, show)
        for one in run.later() if start.to_clone is None else (run, *run.later()):
            one.rehearse()  # what does not fit is seen before the clone is made, and not after hours
        start = start.with_clone(settings.seed)
        run = replace(run, policy=_to_train(start.policy, run.whole))
        with removed_unless_begun(out, lambda: loop is not None and loop.decisions > 0), bar, closing(run.log):
            if state is not None:
                run = run.at(state["stage"], state["begun_at"], run.policy)
            loop = build(run)
            if state is None:
                save_policy(out / START, start.policy)
                if run.teacher is not None:
                    save_policy(out / TEACHER, run.teacher[1])
            else:
                with restoring(newest):
                    loop.set_state(state)
                loop.save_policy()  # again: the run may have been killed before that
            write_configuration(settings, out)
            run.log.open(resume_at=loop.decisions if settings.resume else None)
            stop = lambda: f"{loop.decisions if loop else 0:,} decisions", lambda: bool(checkpoints(run.checkpoints))
            with saying_how_to_continue(bar.console, *stop):
                if state is None:
                    run.evaluations.add_start(start.policy)
                loop.run()
                for later in run.later():
                    loop = build(later.at(later.stage, loop.decisions, loop.policy_in()))
                    loop.run()
        return _finish(run, settings, say)


def _prepared(
    settings: FinetuneSettings,
    state: State | None,
    policy: Policy | None,
    dataset: Dataset | None,
    say: Callable[[str], object],
    watch: Watch,
) -> tuple[AnyRun, Start]:
    """The run, whose policy is not yet a copy, and what it starts from. state: that of a resumed run."""
    label, out, device = to_plain(settings), Path(settings.out), choose_device(settings.device)
    require_tracker(settings.tracker)
    settings = settings.without("taught" if settings.teacher is None else "untaught")
    teacher = None  # before the start, which may be cloned first
    if settings.teacher is not None:
        teacher_file = settings.teacher if state is None else kept_policy(out / TEACHER)
        teacher = settings.teacher, load_policy(teacher_file)
    start = find_start(settings, say, state, policy, dataset)
    if any(phase.only in ("runs", "falls") for phase in settings.phases):
        finishes, able = True, start.policy.environment.capabilities
        if able.runs and able.keys:
            start = start.with_clone(settings.seed)
            games = EvaluationSettings(seed=settings.seed, max_idle_frames=settings.max_idle_frames)
            figures = games_of(start.policy, games).summary()  # from every start, as the policy's file says
            finishes, kind = figures["finishes"] > 0, "runs" if figures["finishes"] else "falls"
            who = f"the policy finishes {figures['finishes']} of {figures['episodes']} games"
            say(f"{who}: phases for one that {kind}")
        settings = settings.without("falls" if finishes else "runs")
    log = RunLog(out, settings.tracker, label)
    evaluations = Evaluations(out, settings.evaluation, start.demonstrations, say)
    run: AnyRun = Run(settings, start.policy, start.demonstrations, device, log, out, evaluations, teacher, watch)
    return run, start


def _finish(run: AnyRun, settings: FinetuneSettings, say: Callable[[str], object]) -> str | None:
    """Choose the final policy; write its film and the report. settings: as the command line gave them. Returns the
    verdict."""
    out, evaluations = run.out, run.evaluations
    best = None
    if run.whole.schedule.keep == BEST:
        best = evaluations.keep_best()
        write_atomic(out / POLICY, best.policy.read_bytes())
    why_not = None
    if not (out / FILM).exists():  # else the run was over already
        why_not = evaluations.film_best(load_policy(out / POLICY)) if settings.video else "video=false"
    command = command_line("qwop-finetune", settings.words, without=("resume",))
    report = write_report(out, f"qwop-finetune: {out}", command, None if best is None else best.evaluation.stem)
    say(f"policy: {out / POLICY}\nreport: {report}")
    say(f"no film: {why_not}" if why_not else f"film of its best game: {out / FILM}")
    if evaluations.last is not None:
        say(f"in the end: {line(evaluations.last)}")
    conclusion: str | None = None
    if evaluations.ends is not None:
        conclusion = verdict(*evaluations.ends)
        say(f"from start to end: {gain(*evaluations.ends)}\nverdict: {conclusion}")
    say(next_command("qwop-evaluate", policy=out / POLICY))
    return conclusion


def _to_train(policy: Policy, settings: FinetuneSettings) -> Policy:
    """Copy the policy and its network; label it with the training settings, without paths."""
    label: dict[str, Any] = {
        "command": "qwop-finetune",
        "settings": {name: value for name, value in to_plain(settings).items() if name not in MAY_DIFFER},
        "from": dict(policy.training),
    }
    return replace(policy, network=copy.deepcopy(policy.network), training=label, greedy=True, sharpness=1.0)

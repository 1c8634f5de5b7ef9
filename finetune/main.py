"""`qwop-finetune`: reinforcement learning from a policy, demonstrations mixed in and removed on a schedule."""

import copy
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..common.checks import show
from ..common.command import Command, write_configuration
from ..common.command_line import command_line
from ..common.errors import BadInput, naming
from ..common.files import write_whole
from ..common.occupancy import sole_writer
from ..common.progress import plain_console, progress_bar
from ..common.settings import to_plain
from ..common.tracker import require_tracker
from ..envs.spec import EnvironmentSpec
from ..policies.devices import choose_device
from ..policies.files import load_policy, save_policy
from ..policies.policy import Policy
from .checkpoint import checkpoints
from .command_settings import FinetuneSettings
from .loop import Loop, Progress
from .reports.kept_policy import BEST, best_candidate
from .reports.phase_results import PhaseResults
from .reports.report import write_report
from .reports.run_log import METRICS, RunLog
from .resume import MAY_DIFFER, require_resumable
from .run import RunContext, build_run
from .schedules.environments import phase_environments
from .schedules.phase import Phase
from .start import SCRATCH, find_start

START, TEACHER = "start.safetensors", "teacher.safetensors"
"""The initial policy of a run and its teacher, in its folder."""

OUTSIDE = 0.2
"""Fraction of the critic's values beyond the returns seen so far that the terminal warns about."""


def run(settings: FinetuneSettings) -> None:
    """Train along the schedule; leave policy, checkpoints, log, evaluations and report in `out`."""
    with sole_writer(Path(settings.out), "out", within=("checkpoints", "phases")):
        _train(settings)


def _train(settings: FinetuneSettings) -> None:
    console = plain_console()
    algorithm, device, run_settings = settings.chosen_algorithm, choose_device(settings.device), settings.run
    torch.set_num_threads(settings.threads)
    require_tracker(settings.tracker)
    out = Path(settings.out)
    state = require_resumable(settings, out) if settings.resume else None
    if state is None and not settings.resume:
        _require_new(out)
    start = find_start(
        policy=str(out / START) if state else settings.policy or (SCRATCH if algorithm.starts_from_scratch else None),
        demonstrations=settings.demonstrations,
        environment=None if state else settings.environment,
        needs_demonstrations=any(phase.needs_demonstrations for phase in run_settings.phases),
        seed=run_settings.seed,
        new_network=algorithm.new_network(run_settings.algorithm),
        settings=run_settings.phases[0].environment,
    )
    for note in (*settings.notes, *start.notes):
        console.print(note, highlight=False, soft_wrap=True)
    teacher = None
    if settings.teacher is not None:
        teacher = settings.teacher, load_policy(str(out / TEACHER) if state else settings.teacher)
    trained = _copy_for_training(start.policy, settings)
    environments = phase_environments(trained.environment, run_settings.phases)
    with progress_bar("decisions", console) as bar, closing(RunLog(out, settings.tracker)) as log:
        results = PhaseResults(out, settings.evaluation, settings.evaluation.drawn, log)
        task = bar.add_task("starting", total=None)

        warned = False

        def show(done: Progress) -> None:
            nonlocal warned
            if not warned and done.row.get("learner/values_outside", 0.0) > OUTSIDE:
                warned = True
                bar.console.print(outside_warning(done), highlight=False, soft_wrap=True)
            total = done.decisions + done.remaining
            bar.update(task, description=_describe(done), completed=done.decisions, total=total)

        def now(environment: EnvironmentSpec) -> Policy:
            return replace(trained, environment=environment, network=loop.agent.network, values=loop.agent.values)

        def evaluate(index: int, phase: Phase, within: bool) -> None:
            bar.update(task, description=f"evaluating {'in' if within else 'after'} {phase.name}")
            summary = results.add(index, phase, now(environments[index]), loop.decisions, within=within)
            bar.console.print(summary, highlight=False, soft_wrap=True)

        def save() -> None:
            save_policy(out / "policy.safetensors", now(environments[loop.phase_index]))

        context = RunContext(
            device,
            out / "checkpoints",
            log,
            on_evaluation=partial(evaluate, within=True),
            on_phase_end=partial(evaluate, within=False),
            on_checkpoint=save,
            on_progress=show,
        )
        loop = build_run(algorithm, trained, start.demonstrations, run_settings, context, teacher)
        if state is None:
            save_policy(out / START, start.policy)
            if teacher is not None:
                save_policy(out / TEACHER, teacher[1])
        else:
            _continue(loop, state, out)
            save()  # the run may have been killed between its last checkpoint and this
        results.forget_after(loop.decisions)
        write_configuration(settings, out)
        already_over = loop.finished
        log.open(resume_at=loop.decisions if settings.resume else None)
        try:
            if state is None:
                bar.update(task, description="evaluating the start")
                with log.metrics.stopwatch.on("evaluating the start"):
                    said = results.add_start(start.policy)
                if said is not None:
                    bar.console.print(said, highlight=False, soft_wrap=True)
            loop.run()
        except KeyboardInterrupt:
            taken = checkpoints(out / "checkpoints")
            hint = "continues" if taken else "starts anew, for there is no checkpoint yet"
            bar.console.print(
                f"stopped after {loop.decisions:,} decisions; the same command with resume=true {hint}",
                highlight=False, soft_wrap=True,
            )  # fmt: skip
            raise
    kept = best_candidate(out, out / START) if settings.schedule.keep == BEST else None
    if kept is not None:
        write_whole(out / "policy.safetensors", kept.policy.read_bytes())
        results.keep(kept.evaluation, load_policy(kept.policy))
        console.print(f"kept the best policy evaluated: {kept.policy}", highlight=False, soft_wrap=True)
    if already_over:
        why_not: str | None = "the schedule was over already; add a phase to continue"
    else:
        why_not = results.film_best() if settings.video else "video=false"
    report = write_report(
        out,
        f"qwop-finetune: {out}",
        command_line("qwop-finetune", settings, without=("resume",)),
        None if kept is None else kept.evaluation.stem,
    )
    console.print(f"policy: {out / 'policy.safetensors'}\nreport: {report}", highlight=False, soft_wrap=True)
    film = f"no film: {why_not}" if why_not else f"film of its best game: {out / 'best.mp4'}"
    console.print(film, highlight=False, soft_wrap=True)
    if results.last is not None:
        console.print(f"in the end: {results.last}", highlight=False, soft_wrap=True)
    if results.gain is not None:
        console.print(f"from start to end: {results.gain}", highlight=False, soft_wrap=True)


def outside_warning(now: Progress) -> str:
    """A warning about a critic whose values leave the range of all returns seen."""
    row = now.row
    low, high = row["learner/value_low"], row["learner/value_high"]
    return (
        f"warning: after {row['decisions']:,} decisions {row['learner/values_outside']:.0%} of the critic's values are "
        f"beyond the returns seen so far ({low:.3g} to {high:.3g}, scaled): it diverges; lower the learning rate, "
        "or start from a clone"
    )


def _continue(loop: Loop, state: dict[str, Any], out: Path) -> None:
    """Restore a checkpoint's state in the loop; BadInput if it does not fit."""
    newest = checkpoints(out / "checkpoints")[-1]
    try:
        with naming(newest):
            loop.set_state(state)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise BadInput(
            f"{newest}: does not fit this run ({type(error).__name__}: {show(error)}); remove it to resume from an "
            "older one"
        ) from error


def _require_new(out: Path) -> None:
    if (out / METRICS).exists():
        raise BadInput(f"{out}: holds a run already; resume=true continues it, out=... starts another")


def _copy_for_training(policy: Policy, settings: FinetuneSettings) -> Policy:
    """A copy of the policy with its own network, labelled with the settings that train it, without paths."""
    made: dict[str, Any] = {
        "command": "qwop-finetune",
        "settings": {name: value for name, value in to_plain(settings).items() if name not in MAY_DIFFER},
        "from": dict(policy.training),
    }
    return replace(policy, network=copy.deepcopy(policy.network), training=made)


def _describe(now: Progress) -> str:
    row = now.row
    if "live/metres" in row:
        return f"{now.phase}: {row['live/metres']:.1f} m, {row.get('live/finish_share', 0.0):.0%} finish"
    return f"{now.phase}: return {row['live/return']:.1f}" if "live/return" in row else now.phase


main = Command(
    "finetune",
    FinetuneSettings,
    run,
    about="Continue a policy by reinforcement learning, with demonstrations in its replay memory that a schedule mixes "
    "in and removes.",
    examples=[
        ("qwop-finetune schedule=kurodo", "the published schedule; schedule.scale=0.1 makes it ten times shorter"),
        ("qwop-finetune schedule=kurodo policy=runs/clone/policy.safetensors demonstrations=data/kurodo", ""),
        ("qwop-finetune schedule=champion policy=scratch environment=QWOP-v1", "from nothing, by PPO"),
        ("qwop-finetune schedule=kurodo resume=true", "continue the run in runs/finetune"),
        ("qwop-finetune schedule=champion --help", "the settings of another schedule, and of its algorithm"),
    ],
)

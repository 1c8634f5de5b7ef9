"""`qwop-pretrain`: clone a dataset's player into a policy, and measure the clone."""

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ..common.errors import BadInput, EnvironmentFailed
from ..common.files import write_atomic
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console, progress_bar
from ..common.run_folder import CONFIGURATION, REPORT, command_line, require_no_other_run, to_yaml, write_configuration
from ..common.settings import to_plain
from ..common.tracker import TENSORBOARD, Tracker, require_tracker
from ..datasets.reader import Dataset, open_dataset
from ..datasets.relabelled_dataset import with_task
from ..datasets.schema import DatasetInfo
from ..evaluation.evaluate import Evaluation, evaluate
from ..evaluation.settings import EvaluationSettings
from ..policies.devices import choose_device, use_one_thread
from ..policies.files import load_policy, save_policy
from ..policies.policy import Policy
from .clone import Epoch, clone, continued, hold_out_cloned
from .d3rlpy_backend import require_d3rlpy
from .measures import HeldOut, measure_held_out
from .rate_search import (
    GAMES,
    Trial,
    best,
    decisions_a_second,
    games_for_scaling,
    rates_to_try,
    runs_greedily,
    try_clone,
)
from .report import games_table, measures_table, next_step, pretraining_page, worth, write_json
from .settings import PretrainSettings

POLICY = "policy.safetensors"
"""Name of the clone's file in a run's folder. It is written after each best pass, so that an interrupted run leaves
one too."""

MEASURES = "pretraining.json"
"""Name of the measures' file, the last that is written."""


def run(
    settings: PretrainSettings,
    dataset: Dataset | None = None,
    start: Policy | None = None,
    console: Console | None = None,
) -> None:
    """Clone, measure on held-out episodes and in games; write the policy and the measures to `out`.

    dataset, start: in place of the dataset and the policy that the settings name.
    """
    with exclusive_lock(Path(settings.out), "out", within=(TENSORBOARD,)):
        _pretrain(settings, dataset, start, console or plain_console())


def _pretrain(settings: PretrainSettings, dataset: Dataset | None, start: Policy | None, console: Console) -> None:
    use_one_thread()
    cloning, out = settings.cloning, Path(settings.out)
    dataset = open_dataset(settings.dataset) if dataset is None else dataset
    if not len(dataset.lengths()):  # raises BadInput for a damaged episode
        raise BadInput(f"{dataset.folder}: no episode to clone; record games")
    if cloning.backend == "d3rlpy":
        require_d3rlpy(cloning)
    choose_device(settings.device)
    if start is None and settings.policy is not None:
        start = load_policy(settings.policy)
    if start is not None:
        continued(start, dataset.info, cloning)
    require_tracker(settings.tracker)
    if settings.games:
        _require_playable(dataset.info)
    _require_new(settings, out)
    require_no_other_run(out, PretrainSettings, (MEASURES,))
    write_configuration(settings, out)
    fields = {name: value for name, value in to_plain(settings).items() if name != "out"}
    provenance = {"command": "qwop-pretrain", "settings": fields}  # the same run elsewhere gives the same file

    def save(policy: Policy, **more: Any) -> None:
        save_policy(out / POLICY, replace(policy, training={**policy.training, **provenance}, **more))

    try:
        games, whole = (dataset, None) if start is not None else _at_the_best_rate(dataset, settings, console)
        policy, splits = _clone(games, start, settings, save, console)
        if whole is not None:  # measured by the clone that never saw some games, which this one has learned from
            policy = whole
            save(policy)
        console.print(measures_table(splits))
        evaluations = _play(policy, settings, console)
    except (KeyboardInterrupt, EnvironmentFailed):
        if (out / POLICY).exists():
            console.print(
                f"stopped: the best pass so far is in {out / POLICY}, unmeasured; the same command makes it anew"
            )
        raise
    greedy = runs_greedily(evaluations, policy)
    save(policy, greedy=greedy)
    command = command_line("qwop-pretrain", settings.words)
    page = pretraining_page(str(dataset.folder), splits, evaluations, command, to_yaml(settings))
    write_atomic(out / REPORT, page)
    write_json(out / MEASURES, str(dataset.folder), policy.environment, splits, evaluations)
    lines = [
        f"policy: {out / POLICY}",
        f"report: {out / REPORT}",
        *worth(splits, greedy, policy.sharpness),
        next_step(out / POLICY, policy.environment, evaluations, str(settings.dataset)),
    ]
    console.print("\n".join(lines))


def _require_playable(info: DatasetInfo) -> None:
    """Raise BadInput unless the environment is here, in the form that it was recorded in: cloning can take hours."""
    advice = "games=0 clones without playing"
    try:
        interface = info.environment.interface()
    except BadInput as error:
        raise BadInput(f"{error}; {advice}") from error.__cause__
    if interface != (info.observation, info.actions):
        raise BadInput(
            f"environment {info.environment}: it has {interface[0]} and {interface[1]} actions, but the dataset has "
            f"{info.observation} and {info.actions}; record games of it as it is now, or {advice}"
        )


def _require_new(settings: PretrainSettings, out: Path) -> None:
    """Raise BadInput if `out` holds a policy, unless the same command was interrupted there."""
    if not (out / POLICY).exists():
        return
    with suppress(OSError, UnicodeDecodeError):
        interrupted = not (out / MEASURES).exists()
        if interrupted and (out / CONFIGURATION).read_text(encoding="utf-8").endswith(f"\n{to_yaml(settings)}"):
            return
    raise BadInput(f"{out}: holds a policy already, which stays; name another folder with out=, or move it away")


def _at_the_best_rate(dataset: Dataset, settings: PretrainSettings, console: Console) -> tuple[Dataset, Policy | None]:
    """A person's games at the decision rate whose clone runs best, and this clone of all of them.

    Other games stay as they are, and there is no clone yet.
    """
    rates = () if dataset.shares_control else rates_to_try(dataset, settings.frames_per_step)
    if not rates:
        return dataset, None
    device = choose_device(settings.device)

    def attempt(games: Dataset, frames: int, number: int) -> Trial:
        trial = try_clone(games, frames, number, settings, device)
        bar.update(task, advance=1)
        return trial

    with progress_bar("clones", console) as bar:
        task = bar.add_task("trying decision rates", total=len(rates) + settings.clones - 1)
        trials = [attempt(with_task(dataset, frames, settings.observation), frames, 0) for frames in rates]
        choice = best(trials)
        more = range(1, settings.clones if choice.finishes else 1)
        alike = [choice, *(attempt(choice.dataset, choice.frames_per_step, number) for number in more)]
        bar.update(task, completed=len(rates) + settings.clones - 1)
    message = f"decisions: tried {'; '.join(map(str, trials))}; kept {decisions_a_second(choice.frames_per_step)}"
    if len(alike) > 1:
        choice = best(alike)
        finished = ", ".join(str(trial.finishes) for trial in alike)
        message += f"\nclones: {len(alike)} at this rate finish {finished} of {GAMES}; kept the best"
    console.print(message)
    return choice.dataset, choice.policy


def _clone(
    dataset: Dataset,
    start: Policy | None,
    settings: PretrainSettings,
    save: Callable[[Policy], None],
    console: Console,
) -> tuple[Policy, list[HeldOut]]:
    """Make and measure a clone for each split.

    Returns the first one's policy, which is saved whenever it improves, and the measures of each.
    """
    cloning, device = settings.cloning, choose_device(settings.device)
    policies, splits = [], []
    with (
        progress_bar("passes", console) as bar,
        closing(Tracker(settings.tracker, Path(settings.out), to_plain(settings))) as board,
    ):
        task = bar.add_task("cloning", total=settings.splits * cloning.epochs)
        for part in range(settings.splits):
            train, held_out = hold_out_cloned(dataset, dataset.info, cloning, settings.held_out, settings.seed, part)

            def report(epoch: Epoch, policy: Policy, part: int = part) -> None:
                name = f"split {part + 1}: " if settings.splits > 1 else ""
                bar.update(task, advance=1, description=f"{name}{epoch.validation_nats:.3f} nats")
                measures = ("training_loss", "validation_nats", "validation_accuracy")
                figures = {f"split-{part + 1}/{measure}": getattr(epoch, measure) for measure in measures}
                board.log(figures, epoch.number)
                if part == 0 and epoch.is_best:
                    save(policy)

            games, more = dataset.select(train), games_for_scaling(dataset)
            policies.append(clone(games, dataset.info, cloning, settings.seed, report, device, more, start))
            bar.update(task, completed=(part + 1) * cloning.epochs)
            splits.append(measure_held_out(policies[-1], dataset, train, held_out))
    return policies[0], splits


def _play(policy: Policy, settings: PretrainSettings, console: Console) -> list[Evaluation]:
    """Let the clone play, greedily and with its actions drawn."""
    if settings.games == 0:
        return []
    evaluations = []
    with progress_bar("games", console) as bar:
        task = bar.add_task("playing", total=2 * settings.games)
        for greedy in (True, False):
            games = EvaluationSettings(
                episodes=settings.games, seed=settings.seed, max_idle_frames=settings.max_idle_frames, greedy=greedy
            )
            evaluations.append(evaluate(policy, games, progress=lambda _: bar.advance(task)))
    console.print(games_table(evaluations))
    return evaluations

"""The functions of the package: clone, fine-tune and evaluate from Python.

Keyword arguments are the settings of the command line, by the same names: `qwop.finetune(policy, seed=1,
algorithm="ppo")`. Settings in a group are a mapping: `loop={"num_envs": 8}`. A wrong setting raises `BadInput` with the
sentence that the command line prints.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch

from . import commands
from .common.command import Command
from .common.errors import BadInput
from .common.progress import plain_console
from .common.run_folder import REPORT, override
from .common.schema import schema
from .common.settings import Settings, read, to_plain
from .datasets.reader import Dataset
from .envs.spec import EnvironmentSpec
from .evaluation.commands import CommandGamesSettings
from .evaluation.evaluate import Evaluation
from .evaluation.evaluate import evaluate as play_games
from .finetune.figures import figures_of, read_evaluation
from .finetune.log import Progress, read_metrics
from .finetune.loop import Stopped
from .finetune.main import run as run_finetune
from .finetune.run import POLICY, START
from .finetune.settings import ScheduleSettings
from .policies.files import load_policy
from .policies.policy import Policy
from .pretrain.main import MEASURES
from .pretrain.main import run as run_pretrain

S = TypeVar("S", bound=Settings)

PolicyLike = Policy | str | os.PathLike[str]
"""A policy, the path of its file, or champion, which comes with the package."""

DatasetLike = Dataset | str | os.PathLike[str]
"""A dataset, or its folder."""

Callback = Callable[[str, int, Mapping[str, Any]], bool | None]
"""A function of the phase, the decisions so far and the newest row of the log. The run ends if it returns False."""

Schedule = ScheduleSettings
"""Phases of training: `Schedule([Phase("mixed", hours=10, demonstrations=1.0), Phase("alone", hours=5)])`."""

PLAIN = (str, os.PathLike, bool, int, float, type(None), list, tuple, np.generic, Mapping, Settings)
"""Types that a setting may have."""


@dataclass(frozen=True)
class CloneResult:
    """A clone and its measures.

    policy: the clone. measures: a row for each predictor, means over the splits: accuracy, nats (−ln p of the action
    taken) and calibration error on episodes that the clone never saw. games: a row for each way of playing. report: the
    page, HTML.
    """

    policy: Policy
    measures: pd.DataFrame
    games: pd.DataFrame
    report: str


@dataclass(frozen=True)
class FinetuneResult:
    """A finished or stopped training.

    policy: the final policy. log: a row for each interval, with `phase`, `decisions` and numbers named `group/figure`.
    evaluations: a row for the start and one for each phase; figures of games with drawn actions are named `drawn/…`.
    verdict: a sentence on the gain; None without evaluations. stopped: True if a callback ended the run. report: the
    page, HTML; None for a stopped run.
    """

    policy: Policy
    log: pd.DataFrame
    evaluations: pd.DataFrame
    verdict: str | None
    stopped: bool
    report: str | None


class Print:
    """Callback that prints a line for each row of the log, with these figures of it.

    Default: mean return of the games, or their metres and the share finished.
    """

    def __init__(self, *figures: str) -> None:
        self._figures = figures or ("live/return", "live/metres", "live/finish_share")

    def __call__(self, phase: str, decisions: int, row: Mapping[str, Any]) -> None:
        figures = [f"{name.rpartition('/')[2]} {row[name]:.3g}" for name in self._figures if name in row]
        print(", ".join([f"{phase}: {decisions:,} decisions", *figures]))


def pretrain(
    dataset: DatasetLike | None = None,
    *,
    policy: PolicyLike | None = None,
    out: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **settings: Any,
) -> CloneResult:
    """Clone the player of a dataset, as `qwop-pretrain` does.

    dataset: default: the demonstrations that come with the package. policy: continue this one instead of a new network.
    out: folder of the run; None: no files are left. quiet: print nothing. settings: those of `qwop-pretrain`, such as
    seed=0, epochs=60, games=50 (games that the clone plays, in each way). Raises BadInput for wrong settings, and for a
    dataset that cannot be cloned.
    """
    with _run_in(out) as folder:
        alone = {"tracker": "none"} if out is None else {}
        arguments = {"dataset": _name_of(dataset), "policy": None if isinstance(policy, Policy) else policy}
        run_settings = read_settings(commands.pretrain, {**alone, **_present(arguments), **settings, "out": folder})
        run_pretrain(
            run_settings,
            dataset=dataset if isinstance(dataset, Dataset) else None,
            start=policy if isinstance(policy, Policy) else None,
            console=plain_console(quiet=quiet),
        )
        measures = json.loads((folder / MEASURES).read_text(encoding="utf-8"))
        return CloneResult(
            load_policy(folder / POLICY),
            pd.DataFrame.from_dict(measures["held_out"], orient="index"),
            pd.DataFrame(measures["games"]),
            (folder / REPORT).read_text(encoding="utf-8"),
        )


def finetune(
    policy: PolicyLike | None = None,
    *,
    demonstrations: DatasetLike | None = None,
    schedule: str | Schedule | Mapping[str, Any] | None = None,
    callbacks: Sequence[Callback] = (),
    out: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **settings: Any,
) -> FinetuneResult:
    """Train a policy along a schedule, as `qwop-finetune` does.

    policy: start; "scratch": a new network. demonstrations: recorded games for the phases that use them. schedule: a
    name such as "kurodo", the path of a YAML file, or a `Schedule`. callbacks: called with phase, decisions and row
    whenever the log gets a row; the run ends if one returns False, and leaves a checkpoint. out: folder of the run,
    which resume=True continues; None: no files are left. quiet: print nothing. settings: those of `qwop-finetune`, such
    as seed=0, algorithm="ppo", loop={"num_envs": 8}, evaluation={"episodes": 20}. Raises BadInput for wrong settings,
    and for parts that do not fit together.
    """
    with _run_in(out) as folder:
        start = policy
        if isinstance(policy, Policy):
            start = START if out is None else folder / START  # where the run leaves it
        alone = {"tracker": "none", "video": False} if out is None else {}
        arguments = {"policy": start, "demonstrations": _name_of(demonstrations), "schedule": schedule}
        run_settings = read_settings(commands.finetune, {**alone, **_present(arguments), **settings, "out": folder})
        if run_settings.seeds != 1:
            raise BadInput(f"seeds={run_settings.seeds}: expected 1; qwop.compare trains with several seeds")
        verdict, stopped = None, False
        try:
            verdict = run_finetune(
                run_settings,
                policy=policy if isinstance(policy, Policy) else None,
                demonstrations=demonstrations if isinstance(demonstrations, Dataset) else None,
                watch=_Watch(callbacks),
                console=plain_console(quiet=quiet),
            )
        except Stopped:
            stopped = True
        report = None if stopped else (folder / REPORT).read_text(encoding="utf-8")
        log = pd.DataFrame(read_metrics(folder))
        return FinetuneResult(load_policy(folder / POLICY), log, _evaluations(folder), verdict, stopped, report)


def evaluate(
    policy: PolicyLike,
    *,
    environment: EnvironmentSpec | Mapping[str, Any] | None = None,
    progress: Callable[[int], None] | None = None,
    **settings: Any,
) -> Evaluation:
    """Play a policy's games; `Evaluation.summary()` has the figures, `Evaluation.table` a row for each game.

    environment: settings that differ from the policy's own, such as {"frames_per_step": 2}, or another environment of
    the same shapes. progress: called with the number of games finished. settings: of the games, as of `qwop-evaluate`:
    episodes, seed, greedy, max_idle_frames, idle_limit, num_envs. Raises BadInput for wrong settings, and for a policy
    that does not fit the environment.
    """
    games = read(CommandGamesSettings, settings)
    changes = environment if isinstance(environment, Mapping) else {}
    player = policy if isinstance(policy, Policy) else load_policy(policy, overrides=changes.keys())
    own = player.environment
    spec = (
        environment if isinstance(environment, EnvironmentSpec) else replace(own, settings={**own.settings, **changes})
    )
    return play_games(player, games, spec, progress)


def read_settings(command: Command[S], arguments: Mapping[str, Any]) -> S:
    """The checked settings of a command, from keyword arguments; BadInput for wrong ones."""
    return command.read([word for name, value in arguments.items() for word in _words(name, value, command.settings)])


def _words(name: str, value: Any, settings: type[Settings]) -> Iterator[str]:
    """The words of a command line that give a setting this value."""
    if not isinstance(value, PLAIN):
        raise BadInput(f"{name}: a {type(value).__name__}, expected a value such as the command line takes")
    one, value = schema(settings).get(name), to_plain(value) if isinstance(value, Settings) else value
    if not isinstance(value, Mapping) or "phases" in value or one is None or not (one.options or one.nested):
        yield override(name, value.item() if isinstance(value, np.generic) else value)
        return
    if one.tag in value:
        yield override(name, value[one.tag])
    yield from (override(f"{name}.{key}", inner) for key, inner in value.items() if key != one.tag)


def _present(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _name_of(dataset: DatasetLike | None) -> str | os.PathLike[str] | None:
    return dataset.folder if isinstance(dataset, Dataset) else dataset


@contextmanager
def _run_in(out: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Context manager: the folder of a run; without `out` one that is removed at the end.

    Afterwards PyTorch has as many threads as before.
    """
    threads = torch.get_num_threads()
    try:
        if out is not None:
            yield Path(out).expanduser()
            return
        with TemporaryDirectory(prefix="qwop-") as folder:
            yield Path(folder) / "run"
    finally:
        torch.set_num_threads(threads)


class _Watch:
    """Calls the callbacks with each new row of the log; False if one of them ends the run."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks = tuple(callbacks)
        self._row: Mapping[str, Any] | None = None

    def __call__(self, now: Progress) -> bool:
        if not now.row or now.row is self._row:
            return True
        self._row = now.row
        answers = [one(now.phase, now.decisions, now.row) for one in self._callbacks]
        return all(answer is not False for answer in answers)


def _evaluations(folder: Path) -> pd.DataFrame:
    """The evaluations of a run, a row each, in the order they were made."""
    evaluations = [read_evaluation(path) for path in sorted((folder / "phases").glob("*.json"))]
    rows = [
        {**figures_of(one), **{f"drawn/{name}": value for name, value in figures_of(one.get("drawn", {})).items()}}
        for one in sorted(evaluations, key=lambda one: int(one["decisions"]))
    ]
    return pd.DataFrame(rows)

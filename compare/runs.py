"""Finished runs, read from their folders: evaluations, logs and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any

from ..commands import evaluate, finetune, pretrain
from ..common.errors import BadInput
from ..common.reading import MEGABYTE, read_json
from ..common.run_folder import CONFIGURATION, REPORT, command_line, read_settings, words_of
from ..finetune.figures import best_policy, figures_of, read_evaluation
from ..finetune.log import METRICS, read_metrics

Plain = dict[str, Any]

KINDS = GREEDY, DRAWN = ("greedy", "drawn")
OWN = ("seed", "seeds", "out", "resume")
EVALUATION, CLONE, POLICY = "evaluation.json", "pretraining.json", "policy.safetensors"


NOTES = "made"
"""Folder beside the runs with what `qwop-compare` notes of them."""


@dataclass(frozen=True)
class Run:
    """A finished run.

    greedy, drawn: figures of its final policy's games, as `Evaluation.summary` has them; empty if none were played.
    decisions: until that policy. is_best: it is the best of several that were evaluated. origins: the commands, times
    and machine, where `qwop-compare` ran them. log: rows of `metrics.jsonl`, empty without learning.
    """

    folder: str
    seed: int
    environment: str
    greedy: Mapping[str, Any]
    drawn: Mapping[str, Any]
    command: str
    decisions: int = 0
    is_best: bool = False
    origins: Sequence[Plain] = ()
    log: Sequence[Plain] = ()

    def to_json(self) -> Plain:
        """The run without its log, its games and the settings of these."""
        games = {kind: figures_of(getattr(self, kind)) for kind in KINDS}
        return {name: value for name, value in {**vars(self), **games}.items() if name != "log"}


def read_row(name: str, places: Sequence[str]) -> list[Run]:
    """The runs of a row, from folders or patterns such as `runs/with-*`, in order of their seeds.

    Where some have equal seeds, as evaluations do, the number that ends each folder's name stands for it. BadInput
    where no folder is found, or one holds no finished run.
    """
    matches = dict.fromkeys(Path(one) for place in places for one in sorted(glob(place)))
    folders = [one for one in matches if one.is_dir() and one.name != NOTES]  # a pattern may name all of `out`
    if not folders:
        raise BadInput(f"{name}={','.join(places)}: no such folder; expected those of finished runs, or a command line")
    runs = [read_run(folder) for folder in folders]
    if len({run.seed for run in runs}) < len(runs):
        numbers = [folder.name.rpartition("-")[2] for folder in folders]
        if not all(map(str.isdecimal, numbers)) or len(set(map(int, numbers))) < len(runs):
            raise BadInput(f"{name}: some runs have the same seed; end each folder's name with a number (NAME-SEED)")
        runs = [replace(run, seed=int(number)) for run, number in zip(runs, numbers, strict=True)]
    return sorted(runs, key=lambda run: run.seed)


def read_run(folder: Path) -> Run:
    """The finished run of `qwop-evaluate`, `qwop-finetune` or `qwop-pretrain` in a folder; BadInput for anything else.

    Without a log of its own, that of a folder within it counts: of the training that an evaluation follows.
    """
    is_best, command = False, finetune
    games: Mapping[str, Mapping[str, Any]]
    if (folder / EVALUATION).exists():
        command, last = evaluate, _document(folder / EVALUATION)
        games = {GREEDY if last.get("settings", {}).get("greedy") else DRAWN: last}
    elif (folder / CLONE).exists():
        from ..policies.files import load_policy  # with PyTorch

        command, last = pretrain, {"environment": load_policy(folder / POLICY).environment.to_json()}
        games = {GREEDY if one["greedy"] else DRAWN: one for one in _document(folder / CLONE)["games"]}
    elif (folder / REPORT).exists() and (folder / METRICS).exists():
        every = [read_evaluation(path) for path in folder.glob("phases/*.json")]
        last = max(every, key=lambda one: one["decisions"], default={})
        if is_best := len(every) > 1 and read_settings(folder / CONFIGURATION)["schedule"]["keep"] == "best":
            last = {**best_policy(folder).figures}
        games = {GREEDY: last, DRAWN: last.get("drawn", {})}
    else:
        raise BadInput(f"{folder}: no finished run of qwop-finetune, qwop-evaluate or qwop-pretrain")
    if not any("mean_return" in one for one in games.values()):
        raise BadInput(f"{folder}: no policy played games; run qwop-evaluate with its policy, and give that folder")
    note, path = read_note(folder), folder / CONFIGURATION
    settings = read_settings(path) if path.exists() else {}  # other programs may leave evaluations, too
    line = command_line(command.program, words_of(path) if path.exists() else (), without=OWN)
    logs = [*sorted(folder.glob(f"*/{METRICS}")), *folder.glob(METRICS)]
    log = read_metrics(logs[-1].parent) if logs else []
    return Run(
        str(folder), note.get("seed", settings.get("seed", 0)), last["environment"]["id"],
        games.get(GREEDY, {}), games.get(DRAWN, {}), "\n".join(note.get("row", [line])),
        last.get("decisions", log[-1]["decisions"] if log else 0), is_best, note.get("done", ()), log,
    )  # fmt: skip


def note_of(folder: Path) -> Path:
    """The file beside a run's folder in which `qwop-compare` notes the commands that made it."""
    return folder.parent / NOTES / f"{folder.name}.json"


def read_note(folder: Path) -> Plain:
    """The note beside a run: the row's command lines, the commands that are done, and the seed; empty without one."""
    return _document(note_of(folder)) if note_of(folder).exists() else {}


def _document(path: Path) -> Plain:
    document: Plain = read_json(path, 64 * MEGABYTE, "remove it")
    return document

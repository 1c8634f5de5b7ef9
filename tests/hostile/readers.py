"""The reading of each kind of file, as deep as the commands go, and the commands themselves."""

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwop.commands import evaluate as evaluate_command
from qwop.commands import finetune as finetune_command
from qwop.commands import population as population_command
from qwop.commands import pretrain as pretrain_command
from qwop.commands import record as record_command
from qwop.commands import study as study_command
from qwop.common.errors import naming
from qwop.datasets import open_dataset
from qwop.datasets.exchange.import_command import DatasetImportSettings
from qwop.datasets.exchange.import_command import command as import_command
from qwop.datasets.from_keys import replay_episode
from qwop.datasets.main import main as dataset_command
from qwop.datasets.reconstruction.samples import read_samples
from qwop.envs.qwop.keys_file import read_keys
from qwop.evaluation.keys_game import in_simulator
from qwop.policies.files import ARCHITECTURES, load_policy
from qwop.policies.rollout import play
from qwop.recorder.page.library import Library
from qwop.recorder.published_source import open_import
from qwop.recorder.settings import ImportSettings

from . import mutations
from .mutations import Named
from .originals import DIGEST, POPULATION, RUN


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    original: what is copied for every case, and file: the one in it that is changed ('' where it is the file itself).
    changes: of its bytes. read: reads the copy in the library, command: on the command line; both may write into the
    second folder.
    """

    original: str
    file: str
    changes: Callable[[], Iterator[Named]]
    read: Callable[[Path, Path], Any]
    command: Callable[[Path, Path], list[str]]
    main: Callable[[], None]


def read_policy(path: Path, out: Path) -> None:
    policy = load_policy(path)
    with naming(path):  # as the commands do
        for _ in play(policy, episodes=2, seed=0, greedy=True, num_envs=2):
            pass


def read_dataset(folder: Path, out: Path) -> None:
    dataset = open_dataset(folder)
    dataset.summary().table(str(folder))
    for index, episode in enumerate(dataset):
        dataset.metadata(index)
        if episode.keys is not None and dataset.info.environment.id == "QWOP-v1":
            replay_episode(episode)
    dataset.steps()
    Library(folder).to_json()


def read_keys_file(path: Path, out: Path) -> None:
    in_simulator(read_keys(path)).to_json()


def read_recording_file(path: Path, out: Path) -> None:
    for _ in open_import(ImportSettings(files=(str(path),)), out).episodes:
        pass


def import_folder(folder: Path, out: Path) -> None:
    import_command.run(DatasetImportSettings(str(folder), str(out / "imported")))


def import_own(path: Path, out: Path) -> None:
    settings = DatasetImportSettings(str(path), str(out / "imported"), environment_id="CartPole-v1")
    import_command.run(settings)


def resume_run(folder: Path, out: Path) -> None:
    finetune_command.run(_RUN.with_(out=str(folder)))


def resume_population(folder: Path, out: Path) -> None:
    population_command.run(_POPULATION.with_(out=str(folder)))


def continue_study(folder: Path, out: Path) -> None:
    """Continue the study in the folder, with another trial and fresh seed, as its definition beside it says."""
    study_command.run(study_command.read(_continued(folder, out)))


def begin_study(path: Path, out: Path) -> None:
    with naming(path):
        study_command.run(study_command.read(_begun(path, out)))


_POPULATION = population_command.read([*POPULATION, "rounds=3", "out=run", "resume=true"])

_RUN = finetune_command.read([*RUN, "out=run", "resume=true"])

_EVALUATE = ["episodes=1", "num_envs=1", "video=false"]

_PRETRAIN = ["epochs=1", "splits=1", "games=0"]


def _alternating(*streams: Iterator[Named]) -> Iterator[Named]:
    """One of each in turn; a stream that ends is left out."""
    waiting = list(streams)
    while waiting:
        for stream in list(waiting):
            try:
                yield next(stream)
            except StopIteration:
                waiting.remove(stream)


def _evaluated(name: str) -> Callable[[Path, Path], list[str]]:
    return lambda path, out: [f"{name}={path}", f"out={out}", *_EVALUATE]


def _resumed(folder: Path, out: Path) -> list[str]:
    return [*RUN, f"out={folder}", "resume=true"]


def _populated(folder: Path, out: Path) -> list[str]:
    return [*POPULATION, "rounds=3", f"out={folder}", "resume=true"]


def _continued(folder: Path, out: Path) -> list[str]:
    return [f"study={ORIGINALS / 'study.yaml'}", "study.budget.trials=3", "study.budget.fresh_seeds=3", f"out={folder}"]


def _imported_own(path: Path, out: Path) -> list[str]:
    return ["import", str(path), f"out={out / 'imported'}", "environment_id=CartPole-v1"]


def _begun(path: Path, out: Path) -> list[str]:
    return [f"study={path}", f"out={out / 'study'}"]


def _pretrained(folder: Path, out: Path) -> list[str]:
    return [f"dataset={folder}", f"out={out}", *_PRETRAIN]


KINDS = {
    "policy": Kind(
        "policy.safetensors", "",
        lambda: _alternating(mutations.safetensors(0, "policy", "environment"), mutations.any_file(1)),
        read_policy, _evaluated("policy"), evaluate_command,
    ),
    "policy of CartPole": Kind(
        "dueling-q.safetensors", "", lambda: mutations.safetensors(2, "policy", "environment"),
        read_policy, lambda path, out: [f"source.policy={path}", "source=policy", f"dataset={out}", "source.episodes=1"],
        record_command,
    ),
    "keys": Kind(
        "keys.txt", "", lambda: _alternating(mutations.keys_texts(), mutations.any_file(3)), read_keys_file,
        _evaluated("keys"), evaluate_command,
    ),
    "dataset.json": Kind(
        "dataset", "dataset.json",
        lambda: _alternating(
            ((name, _of_text(change)) for name, change in mutations.json_documents(4)), mutations.any_file(5)
        ),
        read_dataset, _pretrained, pretrain_command,
    ),
    "episode": Kind(
        "dataset", "episodes/episode-000002-*.parquet", lambda: mutations.any_file(7),
        read_dataset, _pretrained, pretrain_command,
    ),
    "samples": Kind(
        "dataset", f"aside/samples-{DIGEST}.npz",
        lambda: _alternating(mutations.npz_files(8), mutations.any_file(9)),
        lambda folder, out: read_samples(folder, DIGEST),
        lambda folder, out: ["reconstruct", f"dataset={folder}", f"out={out}"], dataset_command,
    ),
    "recording": Kind(
        "recording.npz", "", lambda: _alternating(mutations.npz_files(10), mutations.any_file(11)), read_recording_file,
        lambda path, out: ["source=import", f"source.files=[{path}]", f"dataset={out}"], record_command,
    ),
    "checkpoint": Kind(
        "run", "checkpoints/decisions-000000000160.checkpoint",
        lambda: _alternating(mutations.safetensors(12, "state", "collector"), mutations.any_file(13)),
        resume_run, _resumed, finetune_command,
    ),
    "settings of a run": Kind(
        "run", "config.yaml", lambda: _alternating(mutations.yaml_texts(), mutations.any_file(14)),
        resume_run, _resumed, finetune_command,
    ),
    "policy of a run": Kind(
        "run", "start.safetensors",
        lambda: _alternating(mutations.safetensors(15, "policy", "environment"), mutations.any_file(16)),
        resume_run, _resumed, finetune_command,
    ),
    "log of a run": Kind("run", "metrics.jsonl", lambda: mutations.any_file(17), resume_run, _resumed, finetune_command),
}  # fmt: skip


KINDS |= {
    f"{said} of a population": Kind("population", file, changes, resume_population, _populated, population_command)
    for said, file, changes in (
        ("checkpoint", "checkpoints/decisions-000000000040.checkpoint",
         lambda: _alternating(mutations.safetensors(30, "state", ""), mutations.any_file(31))),
        ("settings", "config.yaml", lambda: _alternating(mutations.yaml_texts(), mutations.any_file(32))),
        ("history", "history.jsonl", lambda: _alternating(mutations.json_lines(33), mutations.any_file(34))),
        ("first agent", "first/agent-00.safetensors", lambda: mutations.safetensors(35, "policy", "environment")),
    )
}  # fmt: skip

KINDS |= {
    f"{said} of a study": Kind("study", file, changes, continue_study, _continued, study_command)
    for said, file, changes in (
        ("journal", "journal.log", lambda: _alternating(mutations.json_lines(36), mutations.any_file(37))),
        ("settings", "config.yaml", lambda: _alternating(mutations.yaml_texts(), mutations.any_file(38))),
    )
}  # fmt: skip

KINDS["study"] = Kind(
    "study.yaml", "", lambda: _alternating(mutations.yaml_texts(), mutations.any_file(41)), begin_study, _begun,
    study_command,
)  # fmt: skip

KINDS |= {
    f"policy of {name}": Kind(
        f"{name}.safetensors", "", lambda number=number: mutations.safetensors(50 + 2 * number, "policy", ""),
        read_policy, _evaluated("policy"), evaluate_command,
    )
    for number, name in enumerate(ARCHITECTURES)
}  # fmt: skip

KINDS |= {
    f"import of {file}": Kind(
        original, file, changes, import_folder, lambda folder, out: ["import", str(folder), f"out={out / 'imported'}"],
        dataset_command,
    )
    for original, file, changes in (
        ("minari", "data/metadata.json", lambda: _alternating(
            ((name, _of_text(change)) for name, change in mutations.json_documents(21)), mutations.any_file(22)
        )),
        ("minari", "data/main_data.hdf5", lambda: mutations.any_file(23)),
    )
}  # fmt: skip


KINDS |= {
    f"import of {original}": Kind(original, file, changes, import_own, _imported_own, dataset_command)
    for original, file, changes in (
        ("arrays.npz", "", lambda: _alternating(mutations.npz_files(60), mutations.any_file(61))),
        ("rows.csv", "", lambda: mutations.any_file(63)),
        ("rows.parquet", "", lambda: mutations.any_file(64)),
        ("robot", "data/file-000.parquet", lambda: mutations.any_file(65)),
    )
}

ORIGINALS = Path("originals")
"""Folder of the originals, from the folder that the cases are tried in."""

LEFT_OUT = shutil.ignore_patterns("tensorboard", "phases", "*000128*")


def _of_text(change: Callable[[Any], str]) -> mutations.Change:
    import json

    return lambda data: change(json.loads(data)).encode(errors="surrogatepass")


def prepare(kind: Kind, originals: Path, case: Path, change: mutations.Change | None) -> Path:
    """Copy the original into the empty folder `case`; returns the copy. Its file is changed, if it is to be."""
    source, copy = originals / kind.original, case / kind.original
    if source.is_dir():
        shutil.copytree(source, copy, ignore=LEFT_OUT)
    else:
        shutil.copy(source, copy)
    if change is not None:
        changed_file(kind, copy).write_bytes(change(changed_file(kind, copy).read_bytes()))
    return copy


def changed_file(kind: Kind, copy: Path) -> Path:
    """The file of the copy that is changed."""
    return next(copy.glob(kind.file)) if kind.file else copy


def on_command_line(kind: Kind, copy: Path, out: Path) -> None:
    """Run the command as its console script does."""
    arguments = kind.command(copy, out)
    program = getattr(kind.main, "program", "qwop-dataset")
    sys.argv = [program, *arguments]
    kind.main()


def warm(originals: Path, out: Path) -> None:
    """Read the originals, so that no child has to load modules and compiled kernels first."""
    for name in ("policy", "policy of CartPole", "keys", "episode", "samples"):
        KINDS[name].read(originals / KINDS[name].original, out)

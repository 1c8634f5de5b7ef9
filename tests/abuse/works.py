"""Small but real runs of the commands that write: what they are called with, and what must be true of their folders."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from qwop.common.errors import BadInput
from qwop.common.folder_lock import LEFTOVER
from qwop.datasets import open_dataset
from qwop.datasets.exchange.export_command import ExportSettings
from qwop.datasets.exchange.export_command import run as export
from qwop.datasets.folder import EPISODE_NAME
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.parquet import read_episode
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.policies.files import load_policy, save_policy

from ..fakes import dataset_of, game_of, untrained
from ..search.conftest import made_up, runner, searched

SHORT = {"frames_per_step": 3, "reward": "shaped", "observation_lag": 0, "time_limit": 3.0}
"""Games of at most 30 decisions."""

_TRAINING = (
    "finetune", "loop.num_envs=4", "loop.checkpoint_every=160",
    "loop.log_every=80", "evaluation.episodes=2", "video=false",
)  # fmt: skip

_MIXED = ("schedule=kurodo-published", "schedule.scale=0.00034", "demonstrations=demonstrations")


@dataclass(frozen=True)
class Work:
    """One command. arguments: without its folder, which the setting `place` names.

    resumes: with resume=true, where the run's folder has this file or a checkpoint. over: a file that says that the
    work is done, which is then refused to be done again. games: subfolder of the dataset that is its result ('' for its
    folder, None where it has other results). copies: folder whose copy it works on.
    """

    name: str
    arguments: tuple[str, ...]
    place: str = "out"
    resumes: str = ""
    over: str = ""
    games: str | None = None
    copies: str = ""

    def command(self, folder: str, *more: str) -> list[str]:
        return [*self.arguments, f"{self.place}={folder}", *more]

    def again(self, folder: Path) -> list[str]:
        """The command that a person gives after an interruption."""
        begun = (folder / self.resumes).exists() or checkpoints(folder / "checkpoints")
        more = ["resume=true"] if self.resumes and begun else []
        return self.command(folder.name, *more)

    def check(self, folder: Path) -> list[str]:
        """The command that finds fault with a damaged result."""
        return [] if self.games is None else ["verify", f"dataset={Path(folder.name) / self.games}"]


WORK = {
    work.name: work
    for work in (
        Work(
            "recording",
            ("record", "source=policy", "source.policy=policy.safetensors", "source.episodes=15", "source.num_envs=4"),
            place="dataset",
            games="",
        ),
        Work(
            "cloning",
            ("pretrain", "dataset=demonstrations", "epochs=8", "games=2", "hidden=[32]", "frames_per_step=[2,3]"),
            over="pretraining.json",
        ),
        Work(
            "ACER",
            (*_TRAINING, *_MIXED, "algorithm=acer", "policy=policy.safetensors", "loop.capacity=64",
             "loop.start=8", "loop.value_decisions=160"),
            resumes="metrics.jsonl",
        ),
        Work(
            "DDQN",
            (*_TRAINING, *_MIXED, "algorithm=ddqn", "policy=scratch", "loop.capacity=2000", "loop.start=100",
             "loop.batch_size=32", "loop.train_every=16", "algorithm.hidden=[32]"),
            resumes="metrics.jsonl",
        ),
        Work(
            "PPO",
            (*_TRAINING, "algorithm=ppo", "policy=policy.safetensors", "schedule=live-only", "schedule.scale=0.00034",
             "loop.steps=20", "algorithm.minibatch=80", "algorithm.hidden=[32]"),
            resumes="metrics.jsonl",
        ),
        Work(
            "CartPole",
            (*_TRAINING, "algorithm=dqn", "environment=CartPole-v1", "schedule.decisions=600", "loop.capacity=500",
             "loop.start=100", "loop.batch_size=32", "algorithm.hidden=[16]"),
            resumes="metrics.jsonl",
        ),
        Work(
            "re-estimating",
            ("reestimate", "dataset=demonstrations", "cloning.epochs=6", "folds=2", "cloning.hidden=[32]"),
            over="dataset.json",
            games="",
        ),
        Work("evaluating", ("evaluate", "policy=policy.safetensors", "episodes=20", "video=false")),
        Work(
            "searching",
            ("search", "policy=runner.safetensors", "games=2", "width=2", "lookahead=2", "every=5", "threads=1",
             "video=false"),
            games="games",
        ),
        Work(
            "distilling",
            ("distil", "policy=runner.safetensors", "games=[searched]", "own_games=2", "steps=20", "max_idle_frames=5"),
            over="policy.safetensors",
        ),
        Work("studying", ("study", "study=study.yaml")),
        Work(
            "population",
            ("population", "agents=2", "rounds=2", "agent=vtrace", "agent.hidden=[16]", "agent.memory=16",
             "work.num_games=4", "work.steps=10", "work.unrolls=1", "work.opponents=2", "race.time_limit=2",
             "evaluation.games=2", "video=false"),
            resumes="history.jsonl",
        ),
        Work("describing", ("describe",), place="dataset", games="", copies="demonstrations"),
        Work("splitting", ("copy", "dataset=demonstrations", "parts={a: 0.5, b: 0.5}"), over="b", games="b"),
        Work("merging", ("copy", "dataset=demonstrations", "others=[demonstrations]"), over="dataset.json", games=""),
        Work("relabelling", ("relabel", "dataset=demonstrations", "reward=speed"), over="dataset.json", games=""),
        Work("exporting", ("export", "dataset=demonstrations", "to=minari"), over="data"),
        Work("importing", ("import", "dataset=hub"), over="dataset.json", games=""),
    )
}  # fmt: skip

QUICK = (
    "recording", "searching", "distilling", "describing", "merging", "splitting", "relabelling",
    "exporting", "importing",
)  # fmt: skip
"""Works of less than a second."""


STUDY = """
command: qwop-evaluate
settings: [policy=policy.safetensors, episodes=2, video=false, late=0, num_envs=1]
space:
  max_idle_frames: {type: int, low: 0, high: 20}
objective: {file: evaluation.json, figure: mean_return}
budget: {trials: 2, repeats: 1, random_trials: 1, pruner: none, finalists: 1, fresh_seeds: 2}
"""


def prepare(folder: Path) -> None:
    """Make what the commands read: a policy and demonstrations of short games."""
    save_policy(folder / "policy.safetensors", untrained(EnvironmentSpec("QWOP-v1", SHORT)))
    info, random = qwop_info(**SHORT), np.random.default_rng(0)
    games = [game_of(np.repeat(random.integers(0, 16, 20), 4), info) for _ in range(6)]
    dataset_of(folder / "demonstrations", info, *games)
    searcher = runner(width=8)
    save_policy(folder / "runner.safetensors", searcher)
    searched(folder / "searched", searcher, made_up(0, 20), made_up(1, 20))
    (folder / "study.yaml").write_text(STUDY)
    export(ExportSettings(str(folder / "demonstrations"), "minari", str(folder / "hub")))


def require_whole(folder: Path) -> None:
    """AssertionError unless every file of a folder that has its name is whole; hidden ones are not finished."""
    for path in _files(folder):
        try:
            if path.suffix == ".safetensors":
                load_policy(path)
            elif path.suffix == ".checkpoint":
                load_checkpoint(path)
            elif EPISODE_NAME.fullmatch(path.name):
                read_episode(path, open_dataset(path.parents[1]).info)
            elif path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".yaml":
                assert path.read_text().endswith("\n"), f"{path} is cut off"
        except (BadInput, ValueError) as error:
            raise AssertionError(f"{path}: {error}") from None


def _files(folder: Path) -> Iterator[Path]:
    """The finished files of a folder."""
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        if path.is_file() and not any(map(LEFTOVER.fullmatch, path.parts)):
            yield path


def leftovers(path: Path) -> list[Path]:
    """Whatever is half-written in a folder itself; of a file, whether it is or lies in something half-written."""
    if path.is_dir():
        return [one for one in path.iterdir() if LEFTOVER.fullmatch(one.name)]
    return [path] if any(map(LEFTOVER.fullmatch, path.parts)) else []


def require_clean(folder: Path) -> None:
    """AssertionError if something half-written is left in a folder."""
    left = [path for path in folder.rglob(".*") if LEFTOVER.fullmatch(path.name)] if folder.is_dir() else []
    assert left == [], left


def digest(work: Work, folder: Path) -> dict[str, str]:
    """Results of a run: a digest of each file that interruptions must not change, or of each game by its number."""
    if work.games is not None:
        return games(folder / work.games)
    weights = [path for path in _files(folder) if path.suffix == ".safetensors"]
    names = ("phases/*.json", "evaluation.json", "study.json")
    figures = [path for name in names for path in folder.glob(name)]
    found = {path: path.read_bytes() for path in [*weights, *folder.glob("*/train-*.parquet")]}
    found |= {path: json.dumps(json.loads(path.read_text()), sort_keys=True).encode() for path in figures}
    return {str(path.relative_to(folder)): _sha(data) for path, data in sorted(found.items())}


def games(folder: Path) -> dict[str, str]:
    """A digest of each readable game, by where it is from; empty for a folder that is not there."""
    if not list(folder.glob("episodes/episode-*.parquet")):
        return {}
    found = {}
    for episode in open_dataset(folder):
        names = ("observations", "actions", "behaviour_probabilities", "rewards", "times")
        arrays = (getattr(episode, name) for name in names)
        key = f"game {len(found)}" if episode.seed is None else f"seed {episode.seed}"
        assert key not in found, f"{key} was recorded twice"
        found[key] = _sha(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
    return found


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

"""Small but real runs of the commands that write: what they are called with, and what must be true of their folders."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from qwop.common.errors import BadInput
from qwop.common.folder_lock import LEFTOVER
from qwop.datasets import open_dataset
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.reader import read_episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

SHORT = {"frames_per_step": 3, "reward": "shaped", "observation_lag": 0, "time_limit": 3.0}
"""Games of at most 30 decisions."""

_TRAINING = (
    "finetune", "loop.num_envs=4", "loop.checkpoint_every=160",
    "loop.log_every=80", "evaluation.episodes=2", "video=false",
)  # fmt: skip

_MIXED = ("schedule=kurodo-published", "schedule.scale=0.00034", "demonstrations=demonstrations")


@dataclass(frozen=True)
class Work:
    """One command. arguments: without its folder, which the setting `place` names. resumes: with resume=true."""

    name: str
    arguments: tuple[str, ...]
    place: str = "out"
    resumes: bool = False

    def command(self, folder: str, *more: str) -> list[str]:
        return [*self.arguments, f"{self.place}={folder}", *more]

    def again(self, folder: Path) -> list[str]:
        """The command that a person gives after an interruption."""
        more = ["resume=true"] if self.resumes and (folder / "metrics.jsonl").exists() else []
        return self.command(folder.name, *more)


WORK = {
    work.name: work
    for work in (
        Work(
            "recording",
            ("record", "source=policy", "source.policy=policy.safetensors", "source.episodes=25", "source.num_envs=4"),
            place="dataset",
        ),
        Work(
            "cloning",
            ("pretrain", "dataset=demonstrations", "epochs=8", "games=2", "hidden=[32]"),
        ),
        Work(
            "ACER",
            (*_TRAINING, *_MIXED, "algorithm=acer", "policy=policy.safetensors", "loop.capacity=64",
             "loop.start=8", "loop.value_decisions=160"),
            resumes=True,
        ),
        Work(
            "DDQN",
            (*_TRAINING, *_MIXED, "algorithm=ddqn", "policy=scratch", "loop.capacity=2000", "loop.start=100",
             "loop.batch_size=32", "loop.train_every=16", "algorithm.hidden=[32]"),
            resumes=True,
        ),
        Work(
            "PPO",
            (*_TRAINING, "algorithm=ppo", "policy=policy.safetensors", "schedule=live-only", "schedule.scale=0.00034",
             "loop.steps=20", "algorithm.minibatch=80", "algorithm.hidden=[32]"),
            resumes=True,
        ),
        Work(
            "re-estimating",
            ("reestimate", "dataset=demonstrations", "cloning.epochs=6", "folds=2", "cloning.hidden=[32]"),
        ),
        Work("evaluating", ("evaluate", "policy=policy.safetensors", "episodes=20", "video=false")),
    )
}  # fmt: skip


def prepare(folder: Path) -> None:
    """Make what the commands read: a policy and demonstrations of short games."""
    environment = EnvironmentSpec("QWOP-v1", SHORT)
    observation, actions = environment.interface()
    network = ActorCritic(observation.size, actions, (32,), torch.Generator().manual_seed(0))
    save_policy(folder / "policy.safetensors", Policy(network, environment, observation))
    info = qwop_info(**SHORT)
    writer = DatasetWriter(folder / "demonstrations", info)
    random = np.random.default_rng(0)
    for _ in range(6):
        keys = np.repeat(random.integers(0, 16, 20), 4).astype(np.uint8)
        writer.write(episode_from_keys(keys, info, player="tests", source="page", epsilon=0.05))


def require_whole(folder: Path) -> None:
    """AssertionError unless every file of a folder that has its name is whole; hidden ones are not finished."""
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        if path.is_dir() or LEFTOVER.fullmatch(path.name) or any(LEFTOVER.fullmatch(part) for part in path.parts):
            continue
        try:
            _require_whole_file(path)
        except (BadInput, ValueError) as error:
            raise AssertionError(f"{path}: {error}") from None


def _require_whole_file(path: Path) -> None:
    match path.suffix:
        case ".safetensors":
            load_policy(path)
        case ".checkpoint":
            load_checkpoint(path)
        case ".parquet":
            read_episode(path, open_dataset(path.parent).info)
        case ".json":
            json.loads(path.read_text())
        case ".yaml" | ".html":
            assert path.read_text().endswith("\n") or path.suffix == ".html", f"{path} is cut off"


def require_clean(folder: Path) -> None:
    """AssertionError if something half-written is left in a folder."""
    left = [path for path in folder.rglob(".*") if LEFTOVER.fullmatch(path.name)] if folder.is_dir() else []
    assert left == [], left


def digest(work: Work, folder: Path) -> dict[str, str]:
    """Results of a run: a digest of each file that interruptions must not change, or of each game by its number."""
    if work.name in ("recording", "re-estimating"):
        return games(folder)
    weights = [path for path in folder.rglob("*.safetensors") if not LEFTOVER.fullmatch(path.name)]
    figures = [*folder.glob("phases/*.json"), *folder.glob("evaluation.json")]
    found = {path: path.read_bytes() for path in weights}
    found |= {path: json.dumps(json.loads(path.read_text()), sort_keys=True).encode() for path in figures}
    return {str(path.relative_to(folder)): _sha(data) for path, data in sorted(found.items())}


def games(folder: Path) -> dict[str, str]:
    """A digest of each readable game, by where it is from; empty for a folder that is not there."""
    if not list(folder.glob("episode-*.parquet")):
        return {}
    found = {}
    for episode in open_dataset(folder):
        arrays = (
            episode.observations,
            episode.actions,
            episode.behaviour_probabilities,
            episode.rewards,
            episode.times,
        )
        key = f"game {len(found)}" if episode.seed is None else f"seed {episode.seed}"
        assert key not in found, f"{key} was recorded twice"
        found[key] = _sha(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
    return found


def newest_checkpoint(folder: Path) -> Sequence[Path]:
    return checkpoints(folder / "checkpoints")[-1:]


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

"""Files that are not what they claim to be, read by the commands that read such files.

A seed decides the kind of file and its change (`formats.py`), or what stands in its place. The command runs limited and
watched: it has to read the file, or to refuse it in one line that names it. Nothing may be started, imported,
unpickled, connected, or written elsewhere.
"""

import hashlib
import json
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from qwop.datasets.reconstruction.samples import write_samples
from qwop.envs.names import FEATURES
from qwop.envs.qwop.keys_file import write_keys

from .children import CANARY, Child, command, guarded
from .children import run as run_command
from .formats import PATHS, Format, any_bytes, document, npz, safetensors
from .works import WORK, prepare

OUT = "out"


@dataclass(frozen=True)
class Kind:
    """A kind of file. original: what is copied. file: the one in it that is changed, '' where it is the file itself.
    words: the command that reads the copy, `{}` in them. writes: it writes into the copy, not into `OUT`."""

    original: str
    file: str
    formats: tuple[Format, ...]
    words: tuple[str, ...]
    writes: bool = False


_EVALUATE = ("evaluate", "episodes=1", "num_envs=1", "video=false", f"out={OUT}")
_VERIFY = ("verify", "dataset={}", "replay=true")
_IMPORT = ("import", "dataset={}", f"out={OUT}/imported")
_OWN = (*_IMPORT, "environment_id=CartPole-v1")
_PPO = (*WORK["PPO"].again(Path("{}")), "resume=true")
_POPULATION = (*WORK["population"].again(Path("{}")), "resume=true", "rounds=3")
_STUDY = ("study", "study=study.yaml", "study.budget.trials=3", "out={}")

KINDS = {
    "policy": Kind("policy.safetensors", "", (safetensors, any_bytes), (*_EVALUATE, "policy={}")),
    "keys": Kind("keys.txt", "", (any_bytes,), (*_EVALUATE, "keys={}")),
    "dataset.json": Kind("demonstrations", "dataset.json", (document, any_bytes), _VERIFY),
    "episode": Kind("demonstrations", "episodes/episode-000002-*.parquet", (any_bytes,), _VERIFY),
    "renamed episode": Kind("demonstrations", "episodes/episode-000002-*.parquet", (any_bytes,), _VERIFY),
    "samples": Kind(
        "demonstrations", "aside/samples-*.npz", (npz, any_bytes), ("reconstruct", "dataset={}", f"out={OUT}")
    ),
    "recording": Kind(
        "recording.npz", "", (npz, any_bytes), ("record", "source=import", "source.files=[{}]", f"dataset={OUT}")
    ),
    "checkpoint": Kind("PPO", "checkpoints/*.checkpoint", (safetensors, any_bytes), _PPO, True),
    "settings of a run": Kind("PPO", "config.yaml", (document, any_bytes), _PPO, True),
    "policy of a run": Kind("PPO", "start.safetensors", (safetensors, any_bytes), _PPO, True),
    "log of a run": Kind("PPO", "metrics.jsonl", (document, any_bytes), _PPO, True),
    "checkpoint of a population": Kind(
        "population", "checkpoints/*.checkpoint", (safetensors, any_bytes), _POPULATION, True
    ),
    "settings of a population": Kind("population", "config.yaml", (document, any_bytes), _POPULATION, True),
    "history of a population": Kind("population", "history.jsonl", (document, any_bytes), _POPULATION, True),
    "journal of a study": Kind("studying", "journal.log", (any_bytes,), _STUDY, True),
    "settings of a study": Kind("studying", "config.yaml", (document, any_bytes), _STUDY, True),
    "study": Kind("study.yaml", "", (document, any_bytes), ("study", "study={}", f"out={OUT}/study")),
    "metadata of Minari": Kind("hub", "data/metadata.json", (document, any_bytes), _IMPORT),
    "rows of Minari": Kind("hub", "data/main_data.hdf5", (any_bytes,), _IMPORT),
    "arrays": Kind("arrays.npz", "", (npz, any_bytes), _OWN),
    "CSV": Kind("rows.csv", "", (any_bytes,), _OWN),
    "Parquet": Kind("rows.parquet", "", (any_bytes,), _OWN),
    "LeRobot": Kind("robot", "data/file-000.parquet", (any_bytes,), _OWN),
}


class Files:
    """Changed files in one folder. only: names of kinds."""

    NAMES, QUICK = (*KINDS,), (*KINDS,)

    def __init__(self, folder: Path, only: Sequence[str]) -> None:
        self.folder, self.only = folder, only
        child = Child(lambda: _make_originals(folder), folder)  # whose memory and threads the others do not inherit
        made = child.wait(300.0)
        assert made.code == 0, made
        for name in {kind.original for kind in KINDS.values()} & WORK.keys():
            end = run_command(WORK[name].command(name), folder)
            assert end.code == 0, end
            if checkpoints := sorted((folder / name / "checkpoints").glob("*.checkpoint")):
                checkpoints[-1].unlink()  # so that resuming goes on
        (folder / f"{CANARY}.py").write_text(f"open({str(folder / CANARY)!r}, 'w')\n")
        sys.path.insert(0, str(folder))

    def run(self, seed: int) -> str:
        """Read the file of a seed; how that ended, in words."""
        draw, name = random.Random(seed), self.only[seed % len(self.only)]
        kind = KINDS[name]
        for left in ("case", OUT):
            shutil.rmtree(self.folder / left, ignore_errors=True)
            (self.folder / left).mkdir()
        original, copy = self.folder / kind.original, self.folder / "case" / kind.original
        (shutil.copytree if original.is_dir() else shutil.copy)(original, copy)
        path = next(copy.glob(kind.file)) if kind.file else copy
        if draw.random() < 0.1:
            change = draw.choice([*PATHS])
            path.unlink()
            PATHS[change](path)
        else:
            data = path.read_bytes()
            change, changed = draw.choice(kind.formats)(data, draw)
            path.write_bytes(changed)
            if name == "renamed episode":
                path.rename(path.with_name(f"{path.name[:15]}{hashlib.sha256(changed).hexdigest()[:12]}.parquet"))
        words = [word.format(copy) for word in kind.words]
        end = Child(command(words), self.folder, guarded(copy if kind.writes else self.folder / OUT)).wait()
        case = f"{name}, {change}: {end}"
        assert "forbidden: " not in end.err, case
        assert not (self.folder / CANARY).exists(), case
        if end.code != 0:
            assert end.code == 2, case
            line = end.lines[-1]  # libraries warn before it
            assert line.startswith("qwop-"), case
            assert line.isprintable(), case
            assert str(copy) in line, case
        return f"{name}: {'read' if end.code == 0 else 'refused'}"


def _make_originals(folder: Path) -> None:
    """Write what no work makes: keys, samples, a recording, and rows of CartPole as other tools have them."""
    prepare(folder)
    draw = np.random.default_rng(0)
    write_keys(folder / "keys.txt", np.repeat(draw.integers(16, size=30), 9).astype(np.uint8), "a game")
    write_samples(folder / "demonstrations", "0123456789ab", [np.zeros((12, len(FEATURES))) + n for n in range(3)])
    rewards = draw.normal(size=60)
    np.savez_compressed(
        folder / "recording.npz", obs=draw.normal(size=(60, len(FEATURES))), actions=draw.integers(11, size=(60, 1)),
        rewards=rewards, episode_starts=np.arange(60) % 30 == 0, episode_returns=rewards.reshape(2, 30).sum(1),
    )  # fmt: skip
    rows = {"actions": draw.integers(2, size=20), "rewards": np.ones(20), "terminations": np.arange(20) % 10 == 9}
    observations = draw.normal(size=(20, 4)).astype(np.float32)
    np.savez_compressed(folder / "arrays.npz", observations=observations, **rows)
    table = pd.DataFrame({"action": rows["actions"], "reward": rows["rewards"], "terminated": rows["terminations"]})
    table.assign(**{f"x{place}": observations[:, place] for place in range(4)}).to_csv(folder / "rows.csv", index=False)
    table["observation.state"] = observations.tolist()
    table.to_parquet(folder / "rows.parquet")
    table["frame_index"], table["episode_index"] = np.arange(20) % 10, np.arange(20) // 10
    for name in ("data", "meta"):
        (folder / "robot" / name).mkdir(parents=True)
    table.to_parquet(folder / "robot" / "data" / "file-000.parquet")
    features = {name: {"dtype": "float32", "shape": [1]} for name in table.columns}
    (folder / "robot" / "meta" / "info.json").write_text(json.dumps({"features": features}))

"""Real files of every kind, small, from which the hostile ones are made."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from qwop.commands import finetune as main
from qwop.commands import population, study
from qwop.datasets import embedded_dataset, open_dataset
from qwop.datasets.exchange.export_command import ExportSettings
from qwop.datasets.exchange.export_command import run as export
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.origin import Origin
from qwop.datasets.reconstruction.samples import write_samples
from qwop.datasets.writer import DatasetWriter
from qwop.envs.names import FEATURES
from qwop.envs.qwop.keys_file import write_keys
from qwop.envs.qwop.session import GameStart, Opening, PlayedGame
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import ARCHITECTURES, save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

DIGEST = "0123456789ab"

RUN = (
    "schedule=champion", "schedule.scale=1e-6", "algorithm=ppo", "policy=scratch", "environment=QWOP-v1",
    "loop.num_envs=4", "loop.steps=8", "algorithm.epochs=1", "loop.checkpoint_every=1", "loop.log_every=1",
    "evaluation.episodes=0", "video=false", "device=cpu", "threads=1",
)  # fmt: skip
"""A run of a second, by PPO, in QWOP."""

POPULATION = (
    "agents=2", "agent=vtrace", "agent.hidden=[16]", "agent.memory=16", "work.num_games=2", "work.steps=5",
    "work.unrolls=1", "work.opponents=1", "race.time_limit=1", "evaluation.games=1", "video=false",
    "checkpoint_every=1",
)  # fmt: skip
"""A population of a second: two rounds, continued by a third."""

STUDY = """
command: qwop-evaluate
settings: [policy=policy.safetensors, episodes=1, video=false, late=0, num_envs=1]
space:
  max_idle_frames: {type: int, low: 0, high: 20}
objective: {file: evaluation.json, figure: mean_return}
budget: {trials: 2, repeats: 1, random_trials: 1, pruner: none, finalists: 1, fresh_seeds: 2}
"""
"""A study of four runs, in a folder with the policy that it evaluates."""


def make_originals(folder: Path) -> None:
    """Write `policy.safetensors`, one of each network for CartPole as `NAME.safetensors`, `keys.txt`,
    `recording.npz`, `dataset`, `run`, `population`, `study` and `study.yaml`, the dataset as `minari`, and
    episodes of CartPole as `arrays.npz`, `rows.csv`, `rows.parquet` and the folder `robot`."""
    folder.mkdir(parents=True)
    generator = torch.Generator().manual_seed(0)
    task = EnvironmentSpec("QWOP-v1", {"frames_per_step": 4, "time_limit": 6.0})
    save_policy(
        folder / "policy.safetensors", Policy(ActorCritic(71, 11, (16,), generator), task, ObservationSpec((71,)))
    )
    cartpole = EnvironmentSpec("CartPole-v1")
    for name, made in ARCHITECTURES.items():
        network: Any = made
        policy = Policy(network(4, 2, (8,), generator=generator), cartpole, ObservationSpec((4,)))
        save_policy(folder / f"{name}.safetensors", policy)
    keys = np.concatenate(open_dataset(embedded_dataset())[0].keys or ())
    write_keys(folder / "keys.txt", keys[:300], "a game")
    _dataset(folder / "dataset", keys)
    export(ExportSettings(str(folder / "dataset"), "minari", str(folder / "minari")))
    _own_data(folder)
    _recording(folder / "recording.npz")
    _run([f"out={folder / 'run'}", *RUN])
    population.run(population.read([*POPULATION, "rounds=2", f"out={folder / 'population'}"]))
    (folder / "study.yaml").write_text(STUDY.replace("=policy.", f"={folder / 'policy'}."))
    study.run(study.read([f"study={folder / 'study.yaml'}", f"out={folder / 'study'}"]))


def _dataset(folder: Path, keys: np.ndarray) -> None:
    """Three games of keys; one of them with a start of its own."""
    info = qwop_info(frames_per_step=4, reward="speed", observation="features", observation_lag=0)
    writer = DatasetWriter(folder, info)
    start = GameStart((PlayedGame(keys[:60], Opening(held=1)),), Opening(resets=2), "fdlibm")
    for number in range(3):
        part = keys[: 160 + 40 * number]
        writer.write(
            episode_from_keys(
                part,
                info,
                player="somebody",
                source="recording.npz",
                epsilon=0.05,
                start=start if number == 2 else None,
                origin=Origin(sha256=DIGEST, game=number),
            )
        )
    write_samples(folder, DIGEST, [np.zeros((12, len(FEATURES))) + number for number in range(3)])


def _own_data(folder: Path) -> None:
    """Two episodes of invented numbers, as other tools have them."""
    random = np.random.default_rng(0)
    rows = {"actions": random.integers(2, size=20), "rewards": np.ones(20), "terminations": np.arange(20) % 10 == 9}
    observations = random.normal(size=(20, 4)).astype(np.float32)
    np.savez_compressed(folder / "arrays.npz", observations=observations, **rows)
    columns = {"action": rows["actions"], "reward": rows["rewards"], "terminated": rows["terminations"]}
    table = pd.DataFrame(columns)
    table.assign(**{f"x{place}": observations[:, place] for place in range(4)}).to_csv(folder / "rows.csv", index=False)
    table["observation.state"] = observations.tolist()
    table.to_parquet(folder / "rows.parquet")
    table["frame_index"] = np.arange(20) % 10
    table["episode_index"] = np.arange(20) // 10
    (folder / "robot" / "data").mkdir(parents=True)
    (folder / "robot" / "meta").mkdir()
    table.to_parquet(folder / "robot" / "data" / "file-000.parquet")
    features = {name: {"dtype": "float32", "shape": [1]} for name in table.columns}
    (folder / "robot" / "meta" / "info.json").write_text(json.dumps({"features": features}))


def _recording(path: Path) -> None:
    """A recording of invented numbers of the right form, which the importer reads and refuses to believe."""
    random = np.random.default_rng(0)
    rows = 60
    starts = np.arange(rows) % 30 == 0
    rewards = random.normal(size=rows)
    np.savez_compressed(
        path, obs=random.normal(size=(rows, len(FEATURES))), actions=random.integers(11, size=(rows, 1)),
        rewards=rewards, episode_starts=starts, episode_returns=rewards.reshape(2, 30).sum(1),
    )  # fmt: skip


def _run(arguments: Iterable[str]) -> None:
    main.run(main.read(list(arguments)))

"""A file of each kind, made by a few lines: imported, verified, cloned, and the clone measured."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest
from qwop.commands import evaluate, pretrain
from qwop.datasets import open_dataset
from qwop.datasets.exchange.import_command import command as import_
from qwop.datasets.verify import command as verify

ID = "CartPole-v1"
GAMES = 12
FAIR = 100
"""Return of a clone that learned something; play at random has 22, and the games at least 200."""

Arrays = dict[str, Any]


@pytest.fixture(scope="module")
def played() -> Arrays:
    """Games of a player who balances the pole, row by row, with the observation that follows each."""
    env = gymnasium.make(ID)
    rows: list[tuple[Any, ...]] = []
    for game in range(GAMES):
        seen, over, step = env.reset(seed=game)[0], False, 0
        while not over and step < 200:
            action = int(seen[2] + seen[3] + 0.1 * seen[1] > 0)
            following, reward, terminated, truncated, _ = env.step(action)
            over, step = terminated or truncated, step + 1
            rows.append((game, seen, following, action, reward, terminated, (truncated or step == 200)))
            seen = following
    names = ("episode", "observations", "next_observations", "actions", "rewards", "terminations", "truncations")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def table(played: Arrays) -> pd.DataFrame:
    numbers = {f"obs{i}": column for i, column in enumerate(played["observations"].T)}
    rest = {"action": played["actions"], "reward": played["rewards"], "terminated": played["terminations"]}
    return pd.DataFrame({"episode": played["episode"], **numbers, **rest})


def npz(played: Arrays, path: Path) -> Path:
    np.savez(path.with_suffix(".npz"), **{name: array for name, array in played.items() if name != "episode"})
    return path.with_suffix(".npz")


def csv(played: Arrays, path: Path) -> Path:
    table(played).to_csv(path.with_suffix(".csv"), index=False)
    return path.with_suffix(".csv")


def parquet(played: Arrays, path: Path) -> Path:
    table(played).to_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def minari(played: Arrays, path: Path) -> Path:
    buffer = pytest.importorskip("minari.data_collector").EpisodeBuffer
    storage = pytest.importorskip("minari.dataset.minari_storage").MinariStorage
    folder, env = path.with_name("games-v0"), gymnasium.make(ID)
    folder.mkdir()
    made = storage.new(folder / "data", env.observation_space, env.action_space, env.spec)
    made.update_metadata({"dataset_id": "games-v0", "minari_version": "0.5.3"})
    flat = ("actions", "rewards", "terminations", "truncations")
    for rows in np.split(np.arange(len(played["actions"])), np.flatnonzero(np.diff(played["episode"])) + 1):
        seen = np.concatenate([played["observations"][rows], played["next_observations"][rows[-1:]]])
        made.update_episodes([buffer(observations=seen, **{name: played[name][rows] for name in flat})])
    return folder


def lerobot(played: Arrays, path: Path) -> Path:
    seen = pd.Series(played["observations"].tolist())
    rows = table(played).filter(["episode", "action", "reward", "terminated"])
    rows.columns = pd.Index(["episode_index", "action", "next.reward", "next.done"])
    rows = rows.assign(**{"observation.state": seen, "frame_index": rows.groupby("episode_index").cumcount()})
    (path / "meta").mkdir(parents=True)
    (path / "data" / "chunk-000").mkdir(parents=True)
    rows.to_parquet(path / "data" / "chunk-000" / "file-000.parquet")
    features = {name: {"dtype": "float32"} for name in rows.columns}
    (path / "meta" / "info.json").write_text(json.dumps({"codebase_version": "v3.0", "features": features}))
    return path


MADE = {"npz": npz, "csv": csv, "parquet": parquet, "minari": minari, "lerobot": lerobot}
"""Files that others make."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_a_file_becomes_a_clone_that_plays(
    kind: str, played: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_command: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = MADE[kind](played, tmp_path / "mine")
    environment = [] if kind == "minari" else [f"environment_id={ID}"]
    quick = ["epochs=20", "games=2"]
    for command, arguments in (
        (import_, [f"dataset={file}", "out=games", *environment]),
        (verify, ["dataset=games"]),
        (pretrain, ["dataset=games", "out=clone", *quick]),
        (evaluate, ["policy=clone/policy.safetensors", "episodes=10", "video=false", "out=measured"]),
    ):
        done = run_command(command, *arguments)
        assert done.code == 0, (command.program, done.err)
    found = open_dataset("games")
    np.testing.assert_array_equal(np.concatenate([one.actions for one in found]), played["actions"])
    np.testing.assert_array_equal(np.concatenate([one.observations[:-1] for one in found]), played["observations"])
    np.testing.assert_array_equal(np.concatenate([one.rewards for one in found]), played["rewards"])
    assert json.loads(Path("measured/evaluation.json").read_text())["mean_return"] > FAIR  # of the greedy policy

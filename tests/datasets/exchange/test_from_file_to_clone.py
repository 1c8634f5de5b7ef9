"""A table made by a few lines: imported, verified, cloned, and the clone measured."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pandas as pd
import pytest
from qwop.commands import evaluate, pretrain
from qwop.datasets.exchange.import_command import command as import_
from qwop.datasets.verify import command as verify

FAIR = 100
"""Return of a clone that learned something; play at random has 22, and the games at least 200."""


def balanced(games: int) -> pd.DataFrame:
    """Games of a player who balances the pole, a row a decision."""
    env = gymnasium.make("CartPole-v1")
    rows: list[tuple[Any, ...]] = []
    for game in range(games):
        seen, over, step = env.reset(seed=game)[0], False, 0
        while not over and step < 200:
            action = int(seen[2] + seen[3] + 0.1 * seen[1] > 0)
            rows.append((game, *seen.tolist(), action))
            seen, _, terminated, truncated, _ = env.step(action)
            over, step = terminated or truncated, step + 1
    return pd.DataFrame(rows, columns=["episode", "x", "v", "angle", "spin", "action"])


@pytest.mark.slow
def test_a_table_becomes_a_clone_that_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_command: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    balanced(12).to_csv("mine.csv", index=False)
    for command, arguments in (
        (import_, ["dataset=mine.csv", "out=games", "environment_id=CartPole-v1"]),
        (verify, ["dataset=games"]),
        (pretrain, ["dataset=games", "out=clone", "epochs=20", "games=2"]),
        (evaluate, ["policy=clone/policy.safetensors", "episodes=10", "video=false", "out=measured"]),
    ):
        end = run_command(command, *arguments)
        assert end.code == 0, (command.program, end.err)
    assert json.loads(Path("measured/evaluation.json").read_text())["mean_return"] > FAIR  # of the greedy policy

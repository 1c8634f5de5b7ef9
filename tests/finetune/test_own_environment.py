"""An environment of one's own, with a keyboard and a Dict, from a person's games to an evaluated policy."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from qwop.commands import evaluate, finetune, pretrain, watch
from qwop.common import imports
from qwop.datasets import DatasetInfo, DatasetWriter, open_dataset
from qwop.datasets.verify import command as verify
from qwop.envs.actions import action_names
from qwop.envs.spec import EnvironmentSpec
from qwop.recorder.page.environment_game import EnvironmentGame
from qwop.recorder.page.environment_keys import key_map

from ..fakes import Odd, registered

ID = "key_world:KeyWorld-v0"
SMALL = ("evaluation.episodes=2", "evaluation.drawn=0", "video=false")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory that has the example's module."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parents[2] / "examples")])
    monkeypatch.setenv(imports.VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    gymnasium.registry.pop("KeyWorld-v0", None)
    sys.modules.pop("key_world", None)


def play(games: int, folder: Path) -> None:
    """Games of a person who holds the key towards the goal, and now and then none or both."""
    spec = EnvironmentSpec(ID)
    env = spec.make(render_mode="rgb_array")
    info = DatasetInfo(spec, *spec.interface(), action_names=action_names(env))
    keys = key_map(env, {})
    writer = DatasetWriter(folder, info)
    for _ in range(games):
        game = EnvironmentGame(env, keys.action, info, "me", 0.05)
        while not game.over:
            world: Any = env.unwrapped
            game.advance(
                [int(np.random.default_rng(len(game.result())).choice([0, 3])), 1 + (world.goal > world.place)]
            )
        writer.write(game.episode())


def test_games_of_a_keyboard_are_cloned_and_improved_in_every_command(
    home: Path, run_command: Callable[..., Any]
) -> None:
    play(6, home / "games")
    dataset = open_dataset(home / "games")
    assert dataset.info.environment.id == "KeyWorld-v0"
    assert dataset.info.observation.shape == (10,)
    assert dataset.info.names == ("[0, 0]", "[1, 0]", "[0, 1]", "[1, 1]")
    tuned = ["policy=clone/policy.safetensors", "demonstrations=games", "algorithm=acer-small"]
    tuned += ["schedule=kurodo-published", "schedule.scale=0.0005", *SMALL, "out=tuned"]
    for command, arguments in (
        (verify, ["dataset=games"]),
        (pretrain, ["dataset=games", "out=clone", "epochs=2", "games=2"]),
        (finetune, tuned),
        (finetune, [*tuned, "resume=true"]),
        (evaluate, ["policy=tuned/policy.safetensors", "episodes=2", "video=false"]),
        (watch, ["policy=tuned/policy.safetensors", "out=policy.mp4"]),
        (watch, ["dataset=games", "episode=1", "out=game.mp4"]),
    ):
        done = run_command(command, *arguments)
        assert done.code == 0, (command.program, done.err)
    report = (home / "tuned" / "report.html").read_text()
    assert "imports=[key_world]" in report
    gymnasium.registry.pop("KeyWorld-v0")
    sys.modules.pop("key_world")
    assert run_command(evaluate, "policy=tuned/policy.safetensors", "episodes=1", "video=false").code == 0


@pytest.mark.parametrize("earlier", [False, True])
def test_a_mistake_in_the_first_decisions_leaves_nothing(
    earlier: bool, home: Path, run_command: Callable[..., Any]
) -> None:
    settings = ["algorithm=ppo-small", "schedule.decisions=5000", "out=run", "video=false"]
    if earlier:
        (home / "run").mkdir()
        (home / "run" / "notes.txt").touch()
    with registered(Odd, pay=lambda count: None) as id:  # a mistake that only play shows: no reward
        done = run_command(finetune, f"environment={id}", *settings)
    assert done.code == 2
    assert "its reward is null, expected a finite number" in done.err
    assert (home / "run" / "notes.txt").exists() == (home / "run").exists() == earlier

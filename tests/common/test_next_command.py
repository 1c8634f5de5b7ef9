"""Commands end with the next one, which works as printed."""

import shlex
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from qwop.commands import evaluate, finetune, play, pretrain, watch
from qwop.common.command import Command
from qwop.common.run_folder import clone_next, next_command
from qwop.datasets.arrays import write_episode
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.main import main as dataset

from ..fakes import dataset_of, game_of

MAINS: dict[str, Command] = {main.program: main for main in (pretrain, finetune, evaluate, watch)}

SHORT = {
    "qwop-pretrain": ["epochs=1", "games=2", "frames_per_step=[1]"],
    "qwop-finetune": ["schedule.scale=0.001", "evaluation.episodes=2", "evaluation.drawn=2", "video=false"],
    "qwop-evaluate": ["episodes=2", "video=false"],
}


def test_a_line_can_be_copied_whatever_its_paths_hold() -> None:
    assert next_command("qwop-evaluate", policy=Path("runs/my games/policy.safetensors")) == (
        "next: qwop-evaluate 'policy=runs/my games/policy.safetensors'"
    )
    assert clone_next(Path("data/me")) == "next: qwop-pretrain dataset=data/me out=runs/me"
    assert next_command("qwop-finetune", scale=0.5, games=["a", "b"]) == "next: qwop-finetune scale=0.5 'games=[a, b]'"
    assert next_command("qwop-finetune", games=["a", "null"]) == """next: qwop-finetune 'games=["a", "null"]'"""


def test_a_shell_and_the_command_read_any_folder_as_it_was() -> None:
    name = """ann's "two  words", a=b {c} [d] $HOME back\\slash été"""
    program, *words = shlex.split(clone_next(Path("data") / name).removeprefix("next: "))
    settings = pretrain.read(words)
    assert (program, settings.dataset, settings.out) == ("qwop-pretrain", f"data/{name}", f"runs/{name}")


def test_the_working_folder_goes_by_its_name_and_a_folder_that_is_there_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "me").mkdir()
    monkeypatch.chdir(tmp_path / "me")
    for out in ("runs/me", "runs/me-2", "runs/me-3"):
        assert clone_next(Path()) == f"next: qwop-pretrain dataset=. out={out}"
        Path(out).mkdir(parents=True)


def write_carts(folder: Path) -> None:
    """Games of CartPole by hand-made decisions."""
    env = gymnasium.make("CartPole-v1")
    for seed in range(4):
        observation, _ = env.reset(seed=seed)
        observations, actions, rewards, terminated = [observation], [], [], False
        while not terminated:
            actions.append(int(observation[2] + observation[3] > 0))
            observation, reward, terminated, _, _ = env.step(actions[-1])
            observations.append(observation)
            rewards.append(float(reward))
        write_episode(folder, observations, actions, rewards, environment="CartPole-v1", terminated=True, seed=seed)


def write_falls(folder: Path) -> None:
    info = qwop_info(frames_per_step=3, reward="shaped")
    keys = (([0] * (3 + game) + [9] * 11 + [6] * (9 + game)) * 12 for game in range(4))
    dataset_of(folder, info, *(game_of(one, info) for one in keys))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write", "end"), [("ann's carts", write_carts, "ann's carts-better"), ("me", write_falls, "me-faster")]
)
def test_the_way_to_an_evaluated_policy_is_a_chain_of_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, write: Any, end: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("data") / name)
    assert follow(clone_next(Path("data") / name), capsys) == ["qwop-pretrain", "qwop-finetune", "qwop-evaluate"]
    assert Path("runs", end, "policy.safetensors").is_file()


def follow(line: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run the command of this line, and those that the last lines name, until one watches; the programs."""
    programs = []
    while not line.startswith("next: qwop-watch"):
        program, *words = shlex.split(line.removeprefix("next: "))
        programs.append(program)
        command = MAINS[program]
        command.run(command.read([*words, *SHORT[program]]))
        line = capsys.readouterr().out.splitlines()[-1]
    watch.read(shlex.split(line)[2:])
    return programs


@pytest.mark.parametrize(
    ("words", "following"),
    [
        (["qwop-dataset", "verify", "data/me"], "next: qwop-pretrain dataset=data/me out=runs/me"),
        (["qwop-dataset", "describe", "data/me"], "next: qwop-dataset verify dataset=data/me"),
        (
            ["qwop-dataset", "copy", "data/me", "out=data/parts", "parts={train: 0.5, test: 0.5}"],
            "next: qwop-pretrain dataset=data/parts/train out=runs/train",
        ),
        (["qwop-dataset", "report", "data/me"], "next: qwop-pretrain dataset=data/me out=runs/me"),
        (
            ["qwop-dataset", "export", "data/me", "to=minari", "out=me-v0"],
            "next: qwop-pretrain dataset=data/me out=runs/me",
        ),
        (["qwop-watch", "dataset=data/me", "out=games.html"], "next: qwop-pretrain dataset=data/me out=runs/me"),
        (["qwop-watch", "keys=champion", "out=game.html"], "next: qwop-play"),
        (["qwop-watch", "policy=champion", "out=game.html"], "next: qwop-coach policy=champion"),
        (["qwop-play", "out=site", "serve=false"], "next: python3 -m http.server --directory site"),
    ],
)
def test_commands_that_look_at_games_name_the_next_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    following: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_falls(Path("data/me"))
    monkeypatch.setattr("sys.argv", words)
    {"qwop-dataset": dataset, "qwop-watch": watch, "qwop-play": play}[words[0]]()
    assert capsys.readouterr().out.splitlines()[-1] == following

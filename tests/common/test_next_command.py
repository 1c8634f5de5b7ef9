"""Commands end with the next one, which works as printed."""

import shlex
from pathlib import Path

import numpy as np
import pytest
from qwop.common.command import Command
from qwop.common.command_line import clone_next, next_command
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.main import main as dataset
from qwop.datasets.writer import DatasetWriter
from qwop.evaluation.command import main as evaluate
from qwop.evaluation.watch_command import main as watch
from qwop.finetune.main import main as finetune
from qwop.play.main import main as play
from qwop.pretrain.command import main as pretrain

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


@pytest.mark.slow
def test_the_way_from_falls_to_an_evaluated_runner_is_a_chain_of_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    info = qwop_info(frames_per_step=3, reward="shaped")
    writer = DatasetWriter("data/me", info)
    for game in range(4):
        keys = np.array(([0] * (3 + game) + [9] * 11 + [6] * (9 + game)) * 12, dtype=np.uint8)
        writer.write(episode_from_keys(keys, info, player="me", source="page", epsilon=0.05))
    line, followed = clone_next(Path("data/me")), []
    while not line.startswith("next: qwop-watch"):
        program, *words = shlex.split(line.removeprefix("next: "))
        followed.append(program)
        command = MAINS[program]
        command.run(command.read([*words, *SHORT[program]]))
        line = capsys.readouterr().out.splitlines()[-1]
    assert followed == ["qwop-pretrain", "qwop-finetune", "qwop-evaluate"]
    watch.read(shlex.split(line)[2:])
    assert Path("runs/me-faster/policy.safetensors").is_file()


@pytest.mark.parametrize(
    ("words", "following"),
    [
        (["qwop-dataset", "verify", "data/me"], "next: qwop-pretrain dataset=data/me out=runs/me"),
        (["qwop-dataset", "describe", "data/me"], "next: qwop-dataset verify dataset=data/me"),
        (["qwop-dataset", "report", "data/me"], "next: qwop-pretrain dataset=data/me out=runs/me"),
        (
            ["qwop-dataset", "export", "data/me", "to=baselines", "out=me.npz"],
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
    info = qwop_info(frames_per_step=3, reward="shaped")
    keys = np.array(([0] * 3 + [9] * 11 + [6] * 9) * 12, dtype=np.uint8)
    DatasetWriter("data/me", info).write(episode_from_keys(keys, info, player="me", source="page", epsilon=0.05))
    monkeypatch.setattr("sys.argv", words)
    {"qwop-dataset": dataset, "qwop-watch": watch, "qwop-play": play}[words[0]]()
    assert capsys.readouterr().out.splitlines()[-1] == following

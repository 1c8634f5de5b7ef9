"""The settings of every command: explained by --help, and checked before anything is written."""

import os
import re
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import COMMANDS, finetune
from qwop.common import imports
from qwop.common.command import Command
from qwop.common.help import print_help, sentences
from qwop.common.schema import Setting, places, schema
from qwop.common.settings import Settings, read, to_plain
from qwop.finetune.agents.registry import ALGORITHMS
from rich.console import Console

from ..abuse.lines import LINES

lines = pytest.mark.parametrize(
    ("command", "line"), [(one, line) for program, one in COMMANDS.items() for line in LINES[program[5:]]]
)
"""Command lines that are right: every command, with every option of its groups."""


def every_setting(settings: Settings) -> Iterator[tuple[str, Setting, str]]:
    """The place, declaration and sentence of every setting."""
    for place, one in places(type(settings), settings):
        *groups, name = place.split(".")
        holder = reduce(getattr, groups, settings)
        if one is not None and holder is not None and not (one.options or one.nested or name in ("kind", "name")):
            yield place, one, sentences(type(holder))[name]


@lines
def test_every_setting_has_a_sentence_that_help_shows_within_the_terminal(
    command: Command[Any], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in (80, 120):
        print_help(command, line.split(), Console(width=width))
        text = capsys.readouterr().out
        words = set(text.split())
        for place, _, sentence in every_setting(command.read(line.split())):
            assert len(sentence) > 10, place
            assert sentence[0].isupper(), place
            assert sentence.endswith("."), place
            assert place in words
            assert all(word in words for word in sentence.split()), place
        assert max(map(len, text.splitlines())) <= width


@lines
def test_the_settings_of_a_line_come_back_unchanged_and_paths_take_a_tilde(command: Command[Any], line: str) -> None:
    settings = command.read(line.split())
    assert read(command.settings, to_plain(settings)) == settings
    for place, one, sentence in every_setting(settings):
        if sentence.startswith(("Folder", "New folder", "File ", "Path", "Local copy", "Program", "Datasets")):
            assert "expanduser" in str((*one.metadata, one.kind)), place


def test_help_needs_no_setting_and_shows_the_chosen_option(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS.values():
        print_help(command, [], Console(width=100))
        text = capsys.readouterr().out
        assert all(name in text for name in schema(command.settings)), command.program
    rows: dict[str, str] = {}
    for command, word in ((COMMANDS["qwop-record"], "source=policy"), (finetune, "schedule=champion")):
        print_help(command, [word], Console(width=160))
        lines = capsys.readouterr().out.splitlines()
        rows |= dict(line.split()[:2] for line in lines if re.match(r"  (source|schedule)\.\w+  ", line))
    assert "source.port" not in rows
    choices = [rows[name] for name in ("source.policy", "schedule.keep", "schedule.decisions")]
    assert choices == ["required", "last", "null"]


@pytest.fixture
def refusal_of(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """Run a command in an empty folder; its one line on stderr, after which nothing may have been written."""
    monkeypatch.chdir(tmp_path)

    def call(command: Command[Any], *arguments: str) -> str:
        code, _, message = run_command(command, *arguments)
        assert code == 2, message
        assert message.count("\n") == 1, message
        assert message.startswith(f"{command.program}: ")
        assert os.listdir() == []
        return str(message)

    return call


BY_HAND = [
    ("pretrain", "+sead=1", "sead: no such setting; did you mean seed?"),
    ("pretrain", "learning_rate=nan", "learning_rate=nan: expected a number, more than 0"),
    ("pretrain", "splits=6", "splits=6, held_out=0.2: together more than all episodes; at most 5"),
    ("record", "source=pages", "source=pages: no such option; did you mean page? The options are browser, environment"),
    ("record", "source.player=", "source.player=: expected a name of 1 to 100 characters"),
    ("record", "source=policy", "source.policy is not set: expected a text, such as source.policy=runs/pretrain"),
    ("record", "source.id=CartPole-v1", "source.id: a setting of source=environment, which is not chosen"),
    ("finetune", "algorithm=ppo schedule=live-only loop.capacity=9", "a setting of algorithm=acer, dqn, ddqn or"),
    ("finetune", "schedule=from-expert algorithm.clpi=0.1", "clpi: no such setting; the settings of algorithm are"),
    ("evaluate", "", "policy is not set"),
    ("evaluate", "policy=champion environment=CartPole-v1", "frames_per_step: 2}; the policy names the environment"),
    ("evaluate", "policy=champion environment.shaping=x", "shaping=x: expected a number, at least 0"),
    ("finetune", "", "no schedule: choose one, such as schedule=kurodo (there are a"),
    ("finetune", "environment=CartPole-v1", "or give its length alone, as in environment=CartP"),
    ("finetune", "schedule=null", "schedule=null: no such option; choose one of any-start"),
    ("finetune", "schedule=kurdo", "schedule=kurdo: no such option; did you mean kurodo? The options are a"),
    ("study", "study.budget.trials=2", "study.budget.trials=2: no study is chosen that it could change"),
    ("finetune", "schedule=kurodo algorithm=ppo schedule.algorithm=", "schedule.algorithm=: expected an option of"),
    ("finetune", "schedule=kurodo algorithm.name=sarsa", "algorithm.name=sarsa: expected acer, ppo, dqn, ddqn, rlpd, "),
    ("finetune", "schedule=kurodo schedule.phases=null", "schedule.phases=null: expected one phase or more"),
    ("finetune", "schedule=kurodo schedule.phases.mixed.hours=1e300", "schedule.phases.mixed.hours=1e+300: expected a"),
    ("finetune", "schedule=kurodo schedule.phases.mixed=3", "schedule.phases.mixed=3: expected settings"),
    ("finetune", "schedule=kurodo +schedule.phases.polish.live=false", "polish.live=false: neither live play nor"),
    ("finetune", "schedule=kurodo schedule.phases.polish.entropy=-1", "polish.entropy=-1: expected a number or ["),
    ("finetune", "schedule=kurodo +schedule.phases.polish.entropy=[1,nan]", "polish.entropy=[1, nan]: expected a"),
    ("finetune", "schedule=kurodo +schedule.phases.polish.restarts.share=2", "restarts.share=2: expected a number"),
    ("finetune", "schedule=kurodo resume=true", "no checkpoint to resume from"),
    ("study", "", "no study: choose one, such as study=cartpole-dqn"),
    ("study", "study=cartpole-dqn study.command=qwop-evaluate", "study.settings: "),
    ("finetune", "schedule=kurodo schedule.phases.mixde.decisions=1", "did you mean schedule.phases.mixed.decisions?"),
    ("finetune", "schedule=kurodo schedule.phases.fade.algorithm.epohcs=1", "fade.algorithm.epochs?"),
    ("finetune", "schedule=kurodo schedule.phases.fade.algorithm=ppoo", "no such option; did you mean ppo?"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "horizon"),
    [
        ("environment=CartPole-v1 schedule.decisions=9", 0.995),
        ("environment=ALE/Pong-v5 schedule=live-only", 0.99),
        ("environment=QWOP-v1 schedule=live-only", 0.99),
        ("environment=qwop:QWOPRace-v1 schedule=live-only", 0.99),
        ("environment=qwop/QWOP-v1 schedule=live-only", 0.99),
        ("environment=QWOP schedule=live-only", 0.99),
        ("environment=MyQWOPlike-v0 schedule.decisions=5", 0.995),
        ("environment=other/QWOP-v1 schedule=live-only", 0.995),
        ("environment=MALE/Pong-v5 schedule=live-only", 0.995),
    ],
)
def test_an_environment_decides_the_algorithm_where_nothing_else_does(
    line: str, horizon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(imports.VARIABLE, "")  # to which the modules in front of ids are added
    settings = finetune.read(line.split())
    assert settings.algorithm.gamma == horizon
    ours = line.startswith(("environment=QWOP-v1", "environment=qwop", "environment=QWOP "))
    assert settings.chosen_algorithm is ALGORITHMS["acer" if ours else "ppo"]


@pytest.mark.parametrize("more", ["algorithm=dqn-small", "schedule=few-decisions"])
def test_a_chosen_algorithm_or_that_of_a_schedule_comes_before_an_environments(more: str) -> None:
    settings = finetune.read(["environment=CartPole-v1", "schedule=live-only", more])
    assert settings.chosen_algorithm is ALGORITHMS["dqn" if "dqn" in more else "acer"]


@pytest.mark.parametrize(("name", "arguments", "message"), BY_HAND)
def test_a_wrong_command_line_is_one_line_and_writes_nothing(
    name: str, arguments: str, message: str, refusal_of: Callable[..., str]
) -> None:
    command = COMMANDS[f"qwop-{name}"]
    assert message in refusal_of(command, *arguments.split())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pretrain", "out={}"),
        ("evaluate", "policy=champion out={}"),
        ("finetune", "schedule=kurodo out={}"),
        ("record", "source=policy source.policy=champion dataset={}"),
    ],
)
@pytest.mark.parametrize("target", ["{file}", "{file}/under/it", "x" * 300])
def test_a_target_that_cannot_be_written_is_refused_before_any_work(
    name: str, arguments: str, target: str, refusal_of: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("elsewhere") / "file"
    file.write_text("in the way")
    command = COMMANDS[f"qwop-{name}"]
    message = refusal_of(command, *arguments.format(target.format(file=file)).split())
    assert "is a file; give" in message or "file name too long; give" in message

"""The settings of every command: explained by --help, and checked before anything is written."""

import copy
import os
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from qwop.common.checks import Declaration
from qwop.common.command import Command
from qwop.common.errors import BadInput
from qwop.common.help import print_help
from qwop.common.settings import declarations, read, to_plain
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.main import main as finetune
from rich.console import Console

from .declared import LINES, NAMES, composed, every_declaration, wrong_values
from .mistakes import MORE

lines = pytest.mark.parametrize(("command", "line"), LINES, ids=NAMES)
commands = pytest.mark.parametrize(
    "command", {command.program: command for command, _ in LINES}.values(), ids=lambda one: one.program
)


@lines
def test_the_defaults_are_valid_and_come_back_unchanged(command: Command[Any], line: list[str]) -> None:
    settings = command.read(line)
    plain, given = to_plain(settings), composed(command, line)
    for name, spec in declarations(command.settings).items():
        if spec.group and name in given:  # what an option's file leaves out has its default
            assert all(plain[name][key] == value for key, value in given.pop(name).items())
            plain.pop(name)
    assert plain == given
    assert read(command.settings, to_plain(settings)) == settings


@lines
def test_every_setting_has_a_sentence(command: Command[Any], line: list[str]) -> None:
    for place, _, spec in every_declaration(command.settings, composed(command, line)):
        assert len(spec.help) > 10, place
        assert spec.help[0].isupper(), place
        assert spec.help.endswith("."), place


@lines
def test_a_setting_that_is_a_path_takes_a_tilde_for_the_home_folder(command: Command[Any], line: list[str]) -> None:
    for place, _, spec in every_declaration(command.settings, composed(command, line)):
        if re.match(r"(New )?(Folders?|Files?|Paths?|Local copy|Program|Datasets)\b", spec.help):
            assert spec.path or spec.written, place


def test_hydra_takes_no_text_for_the_option_of_a_folder() -> None:
    folders = {path.name for path in resources.files("qwop.conf").iterdir() if path.is_dir()}
    assert "schedule" in folders
    for command, _ in (*LINES, *MORE):
        for name, spec in declarations(command.settings).items():
            assert name not in folders or spec.group or spec.options, f"{command.program}: {name}"


@pytest.mark.parametrize("width", [80, 120])
@lines
def test_help_explains_every_setting_within_the_terminal(
    command: Command[Any], line: list[str], width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    print_help(command, line, Console(width=width))
    shown = capsys.readouterr().out
    words = set(shown.split())
    for place, _, spec in every_declaration(command.settings, composed(command, line)):
        assert place in words, place
        assert all(word in words for word in spec.help.split()), place
    assert max(map(len, shown.splitlines())) <= width


def test_help_has_the_defaults_of_what_a_groups_file_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_help(finetune, ["schedule=champion"], Console(width=160))
    shown = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines() if "schedule." in line)
    assert (shown["schedule.keep"], shown["schedule.decisions"]) == ("last", "null")


@commands
def test_help_needs_no_setting(command: Command[Any], capsys: pytest.CaptureFixture[str]) -> None:
    print_help(command, [], Console(width=100))
    shown = capsys.readouterr().out
    assert all(name in shown for name, spec in declarations(command.settings).items() if not spec.inline)


@commands
def test_every_wrong_value_of_every_setting_is_refused_by_its_name(command: Command[Any]) -> None:
    tried: list[tuple[str, Declaration]] = []
    values = 0
    for line in (line for other, line in LINES if other is command):
        node = composed(command, line)
        for place, hint, spec in every_declaration(command.settings, node):
            if (place, spec) not in tried:  # once, however many lines have it
                tried.append((place, spec))
                for value in wrong_values(hint, spec):
                    assert_refused(command, node, place, value)
                    values += 1
    assert values > 40


def assert_refused(command: Command[Any], node: dict[str, Any], place: str, value: Any) -> None:
    """Fail unless the configuration with this value there is refused by the place's name, in a line."""
    *groups, name = place.split(".")
    changed = inside = dict(node)
    for group in groups:  # a copy of what the place is in
        inside[group] = dict(inside[group])
        inside = inside[group]
    inside[name] = value
    with pytest.raises(BadInput) as refused:
        read(command.settings, changed)
    assert str(refused.value).startswith(f"{place}="), (place, value)
    assert "expected" in str(refused.value)
    assert "\n" not in str(refused.value)


@lines
def test_an_unknown_setting_in_any_group_is_refused(command: Command[Any], line: list[str]) -> None:
    node = composed(command, line)
    groups = {place.rpartition(".")[0] for place, *_ in every_declaration(command.settings, node)}
    for group in groups:
        changed = copy.deepcopy(node)
        inside = changed
        for name in filter(None, group.split(".")):
            inside = inside[name]
        inside["sead"] = 1
        with pytest.raises(BadInput, match=r"sead: no such setting"):
            read(command.settings, changed)


@pytest.fixture
def refused(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """Run a command in an empty folder; its one line on stderr, after which nothing may have been written."""
    monkeypatch.chdir(tmp_path)

    def call(command: Command[Any], *arguments: str) -> str:
        code, _, said = run_command(command, *arguments)
        assert code == 2, said
        assert said.count("\n") == 1, said
        assert said.startswith(f"{command.program}: ")
        assert os.listdir() == []
        return str(said)

    return call


BY_HAND = [
    ("pretrain", "+sead=1", "sead: no such setting; did you mean seed?"),
    ("pretrain", "seed=-1", "seed=-1: expected a whole number from 0 to"),
    ("pretrain", "seed=x", "seed=x: expected a whole number"),
    ("pretrain", "seed=null", "seed=null: expected a whole number"),
    ("pretrain", "seed=1.5", "seed=1.5: expected a whole number"),
    ("pretrain", "seed=", "seed=: expected a whole number"),
    ("pretrain", "out=null", "out=null: expected a text (default: runs/pretrain)"),
    ("pretrain", "learning_rate=nan", "learning_rate=nan: expected a number, more than 0"),
    ("pretrain", "max_idle_frames=999999999", "max_idle_frames=999999999: expected a whole number from 0 to 3,000"),
    ("pretrain", "splits=6", "splits=6, held_out=0.2: together more than all episodes; at most 5"),
    (
        "record",
        "source.kind=x",
        "source.kind=x: expected page, environment, browser, keyboard, policy, scripted, import or keys",
    ),
    ("record", "~source.kind", "source.kind is missing: expected page, environment, browser"),
    ("record", "source=null", "source is not set: choose one of browser, environment, import"),
    (
        "record",
        "source=pages",
        "source=pages: no such option; did you mean page? The options are browser, environment, import",
    ),
    ("record", "source.player=", "source.player=: expected a text (default: me)"),
    ("record", "source.port=70000", "source.port=70000: expected a whole number from 0 to 65,535"),
    ("record", "source=policy", "source.policy is not set: expected a text, such as source.policy=runs/pretrain"),
    (
        "record",
        "source=policy source.policy=a +source.sead=1",
        "source.sead: no such setting; did you mean source.",
    ),
    ("record", "source.id=CartPole-v1", "source.id: a setting of source=environment, which is not chosen"),
    ("finetune", "schedule=kurodo algorithm.clip=0.1", "clip: a setting of algorithm=ppo, which is not chosen"),
    (
        "finetune",
        "algorithm=ppo schedule=live-only loop.capacity=9",
        "capacity: a setting of algorithm=acer, dqn, ddqn or",
    ),
    ("finetune", "schedule=kurodo algorithm.clpi=0.1", "clpi: no such setting; the settings of algorithm are"),
    ("evaluate", "", "policy is not set"),
    ("evaluate", "policy=champion original=null", "original=null: expected settings"),
    ("evaluate", "policy=champion ~original", "original is missing, and its settings are needed: leave ~original out"),
    ("evaluate", "policy=champion original.timeout=0", "original.timeout=0: expected a number, more than 0"),
    ("evaluate", "policy=champion environment=3", "environment=3: expected settings"),
    ("evaluate", "policy=champion environment=CartPole-v1", "frames_per_step: 2}; the policy names the environment"),
    ("evaluate", "policy=champion environment.shaping=x", "shaping=x: expected a number, at least 0"),
    ("evaluate", "policy=champion environment.delya=1", "delya"),
    ("evaluate", "policy=champion world=moon", "world=moon: expected simulator or original"),
    ("finetune", "", "no schedule: choose one, such as schedule=kurodo (there are anneal, any-start,"),
    (
        "finetune",
        "environment=CartPole-v1",
        "mine.yaml; or give its length alone, as in environment=CartPole-v1 schedule.",
    ),
    ("finetune", "schedule=null", "no schedule: choose one"),
    ("finetune", "schedule=kurodo schedule=null", "no schedule: choose one"),
    ("finetune", "~schedule", "no schedule: choose one"),
    (
        "finetune",
        "schedule=kurdo",
        "schedule=kurdo: no such option; did you mean kurodo? The options are anneal, any-start",
    ),
    ("study", "study.budget.trials=2", "study.budget.trials=2: no study is chosen that it could change"),
    ("finetune", "schedule=kurodo ~loop", "loop is missing, and its settings are needed: leave ~loop out"),
    ("finetune", "schedule=kurodo loop=null", "loop=null: expected settings"),
    (
        "finetune",
        "schedule=kurodo ~algorithm",
        "algorithm is not set: choose one of acer, acer-clone, acer-corrections, acer-expert, acer-replay, acer-small",
    ),
    (
        "finetune",
        "schedule=kurodo algorithm=null",
        "algorithm is not set: choose one of acer, acer-clone, acer-corrections, acer-expert, acer-replay, acer-small",
    ),
    (
        "finetune",
        "schedule=kurodo algorithm=sarsa",
        "algorithm=sarsa: no such option; choose one of acer, acer-clone, acer-corrections, acer-expert, acer-replay",
    ),
    (
        "finetune",
        "schedule=kurodo algorithm.name=sarsa",
        "algorithm.name=sarsa: expected acer, ppo, dqn, ddqn, rlpd, vtrace or ftw",
    ),
    ("finetune", "schedule=kurodo +sead=1", "sead: no such setting; did you mean seed?"),
    ("finetune", "schedule=kurodo gamma=0.9", "gamma: no such setting; did you mean algorithm.gamma?"),
    ("finetune", "schedule=kurodo threads=0", "threads=0: expected a whole number from 1 to 1,024 (default: 1)"),
    ("finetune", "schedule=kurodo device=abacus", "device=abacus: expected auto, cpu, cuda or mps (default: auto)"),
    ("finetune", "schedule=kurodo loop.steps=0", "loop.steps=0: expected a whole number from 1 to 100,000"),
    ("finetune", "schedule=kurodo loop.log_every=0", "loop.log_every=0: expected a whole number, at least 1"),
    ("finetune", "schedule=kurodo loop.replay_ratio=-1", "loop.replay_ratio=-1: expected a number from 0 to 1,000"),
    ("finetune", "schedule=kurodo algorithm.gamma=2", "algorithm.gamma=2: expected a number from 0 to 1"),
    ("finetune", "schedule=kurodo algorithm.gamma=nan", "algorithm.gamma=nan: expected a number from 0 to 1"),
    ("finetune", "schedule=kurodo schedule.scale=1e9", "schedule.scale=1000000000.0: expected a number, more than 0"),
    ("finetune", "schedule=kurodo schedule.scale=true", "schedule.scale=true: expected a number, more than 0"),
    ("finetune", "schedule=kurodo schedule.phases=null", "schedule.phases=null: expected one phase or more"),
    ("finetune", "schedule=kurodo ++schedule.phases=3", "schedule.phases=3: expected one phase or more"),
    (
        "finetune",
        "schedule=kurodo schedule.phases.mixde.hours=1",
        "schedule.phases.mixde.hours: no such setting; did you",
    ),
    ("finetune", "schedule=kurodo schedule.phases.mixed.hours=1e300", "schedule.phases.mixed.hours=1e+300: expected a"),
    (
        "finetune",
        "schedule=kurodo schedule.phases.mixed.hours=few",
        "schedule.phases.mixed.hours=few: expected a",
    ),
    ("finetune", "schedule=kurodo schedule.phases.mixed=3", "schedule.phases.mixed=3: expected settings"),
    (
        "finetune",
        "schedule=kurodo ~schedule.phases.mixed.hours",
        "schedule.phases.mixed.hours is not set: expected the",
    ),
    (
        "finetune",
        "schedule=kurodo +schedule.phases.mixed.huors=1",
        "mixed.huors: no such setting; did you mean",
    ),
    ("finetune", "schedule=kurodo +schedule.phases.polish.live=false", "polish.live=false: neither live play nor"),
    (
        "finetune",
        "schedule=kurodo schedule.phases.polish.entropy=-1",
        "polish.entropy=-1: expected a number or [",
    ),
    (
        "finetune",
        "schedule=kurodo +schedule.phases.polish.entropy=[1,nan]",
        "polish.entropy=[1, nan]: expected a",
    ),
    (
        "finetune",
        "schedule=kurodo +schedule.phases.polish.restarts={share:2}",
        "restarts.share=2: expected a number",
    ),
    ("finetune", "schedule=kurodo behaviour.mode=guessed", "behaviour.mode=guessed: expected recorded, current,"),
    ("finetune", "schedule=kurodo resume=true", "no checkpoint to resume from"),
    ("study", "", "no study: choose one, such as study=cartpole-dqn"),
    ("study", "study=cartpole-dqn seed=1001", "seed=1001: expected a whole number from 0 to 1,000"),
    ("study", "study=cartpole-dqn study.objective.direction=up", "direction=up: expected maximise or minimise"),
    ("study", "study=cartpole-dqn study.budget.pruner=mean", "study.budget.pruner=mean: expected median or none"),
    ("study", "study=cartpole-dqn study.command=qwop-evaluate", "study.settings: "),
    ("reestimate", "dataset=a", "out is not set: expected a text, such as out=data/kurodo-cloned"),
    ("reestimate", "dataset=a out=b cloning.epohcs=3", "cloning.epohcs: no such setting; did you mean cloning.epochs?"),
]


@pytest.mark.parametrize(
    ("line", "horizon"),
    [
        ("environment=CartPole-v1 schedule.decisions=9", 0.995),
        ("environment=gymnasium:Acrobot-v1 schedule=live-only", 0.995),
        ("environment=ALE/Pong-v5 schedule=live-only", 0.99),
        ("environment=QWOP-v1 schedule=live-only", 0.99),
        ("environment=qwop:QWOPRace-v1 schedule=live-only", 0.99),
        ("environment=qwop/QWOP-v1 schedule=live-only", 0.99),
        ("environment=QWOP schedule=live-only", 0.99),
        ("environment=MyQWOPlike-v0 schedule.decisions=5", 0.995),
        ("environment=QWOP2-v1 schedule=live-only", 0.995),
        ("environment=other/QWOP-v1 schedule=live-only", 0.995),
        ("environment=MALE/Pong-v5 schedule=live-only", 0.995),
    ],
)
def test_an_environment_decides_the_algorithm_where_nothing_else_does(line: str, horizon: float) -> None:
    chosen = finetune.read(line.split())
    assert chosen.algorithm.gamma == horizon
    ours = line.startswith(("environment=QWOP-v1", "environment=qwop", "environment=QWOP "))
    assert chosen.chosen_algorithm is ALGORITHMS["acer" if ours else "ppo"]


@pytest.mark.parametrize("more", ["algorithm=dqn-small", "schedule=few-decisions"])
def test_a_chosen_algorithm_or_that_of_a_schedule_comes_before_an_environments(more: str) -> None:
    chosen = finetune.read(["environment=CartPole-v1", "schedule=live-only", more])
    assert chosen.chosen_algorithm is ALGORITHMS["dqn" if "dqn" in more else "acer"]


@pytest.mark.parametrize(("name", "arguments", "said"), BY_HAND)
def test_a_wrong_command_line_is_one_line_and_writes_nothing(
    name: str, arguments: str, said: str, refused: Callable[..., str]
) -> None:
    command = next(command for command, _ in LINES if command.name == name)
    assert said in refused(command, *arguments.split())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pretrain", "out={}"),
        ("reestimate", "dataset=a out={}"),
        ("evaluate", "policy=champion out={}"),
        ("finetune", "schedule=kurodo out={}"),
        ("record", "source=policy source.policy=champion dataset={}"),
    ],
)
@pytest.mark.parametrize("target", ["{file}", "{file}/under/it", "x" * 300])
def test_a_target_that_cannot_be_written_is_refused_before_any_work(
    name: str, arguments: str, target: str, refused: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("elsewhere") / "file"
    file.write_text("in the way")
    command = next(command for command, _ in LINES if command.name == name)
    said = refused(command, *arguments.format(target.format(file=file)).split())
    assert "is a file; give" in said or "file name too long; give" in said

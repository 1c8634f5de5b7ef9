"""The console scripts before they begin to work: quick answers to `--help` and wrong settings, and the version."""

import os
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import COMMANDS, finetune, pretrain, study, watch
from qwop.common.command import Command
from qwop.datasets.embedded import embedded_dataset
from qwop.datasets.main import VERBS
from qwop.datasets.verify import command as verify

from ..fakes import python

SCRIPTS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]

ASK = """
import sys
from importlib import import_module
from operator import attrgetter
for script, *sys.argv in {lines!r}:
    module, _, names = script.partition(":")
    try:
        attrgetter(names)(import_module(module))()
    except SystemExit as ended:
        assert ended.code == 2, ended.code
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""

HEAVY = ("torch", "gymnasium", "numba", "pandas", "pyarrow", "optuna")


def ask(lines: list[list[str]], heavy: tuple[str, ...], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run these lines, a program and its arguments each, in one process; it ends by writing what is `heavy` in it."""
    return python(ASK.format(lines=[[SCRIPTS[line[0]], *line] for line in lines], heavy=heavy), folder)


def test_help_and_a_wrong_setting_import_nothing_heavy(tmp_path: Path) -> None:
    process = ask(
        [[program, words] for program in SCRIPTS for words in ("--help", "no_such_setting=1")], HEAVY, tmp_path
    )
    assert process.returncode == 0, process.stderr
    *wrong, imported = process.stderr.splitlines()
    assert [line.partition(": no")[0] for line in wrong] == list(SCRIPTS)
    assert imported == "[]"
    assert [program for program in SCRIPTS if program not in process.stdout] == []


@pytest.mark.parametrize(
    ("line", "within"),
    [
        ("qwop-finetune schedule=live-only", ("checkpoints", "phases", "tensorboard")),
        ("qwop-pretrain", ("tensorboard",)),
        ("qwop-population", ("checkpoints", "agents")),
        ("qwop-search policy=champion", ("games",)),
        ("qwop-compare with=nothing", ("made",)),
        ("qwop-study study=cartpole-dqn", ("trials", "fresh")),
    ],
)
def test_a_command_does_not_follow_a_link_in_its_folder(
    line: str, within: tuple[str, ...], tmp_path: Path, run_command: Callable[..., Any]
) -> None:
    program, *words = line.split()
    (tmp_path / "mine").mkdir()
    for name in within:
        out = tmp_path / f"with-{name}"
        out.mkdir()
        (out / name).symlink_to(tmp_path / "mine")
        result = run_command(COMMANDS[program], *words, f"out={out}")
        assert (result.code, f"{out / name}: a link" in result.err) == (2, True), result.err
    assert not [*(tmp_path / "mine").iterdir()]


def test_the_verbs_of_datasets_need_no_pytorch(tmp_path: Path) -> None:
    lines = [["verify", "--help"], *([verb, "no_such_setting=1"] for verb in VERBS)]
    process = ask([["qwop-dataset", *line] for line in lines], ("torch",), tmp_path)
    *wrong, imported = process.stderr.splitlines()
    assert [line.partition(": no_such_setting")[0] for line in wrong] == [f"qwop-dataset {verb}" for verb in VERBS]
    assert imported == "[]"


def test_the_version_is_this_packages(tmp_path: Path) -> None:
    for program in ("qwop-record", "qwop-dataset"):
        assert ask([[program, "--version"]], HEAVY, tmp_path).stdout == f"qwop {version('qwop')}\n"


def test_a_misspelt_verb_is_corrected(tmp_path: Path) -> None:
    process = ask([["qwop-dataset", "verfy", "data/me"]], HEAVY, tmp_path)
    assert process.stderr.startswith("qwop-dataset: no verb verfy; did you mean verify?")
    assert len(process.stderr.splitlines()) == 2


def test_what_the_terminal_cannot_encode_is_replaced(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['qwop-record', '--help']; from qwop.commands import record; record.script()"
    process = python(code, tmp_path, PYTHONIOENCODING="ascii")
    assert (process.returncode, "https://? " in process.stdout) == (0, True), process.stderr


CTRL_C = "import atexit, os, signal, sys; press = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
INTERRUPTED = "\nqwop-record: interrupted\n"
IN_RUN = "from qwop.common.command import run_script\nrun_script('qwop-record', main, (), '')"


@pytest.mark.parametrize(
    ("code", "exit_code", "line"),
    [
        # While it imports.
        ("from qwop.common import command; command.find_spec = lambda name: press()\n"
         "from qwop.commands import record; sys.argv = ['qwop-record']; record.script()", 130, INTERRUPTED),
        # Again, while it says so, and while it leaves.
        (f"def main():\n    press()\n{IN_RUN}", 130, INTERRUPTED),
        (f"def main():\n    atexit.register(press)\n    sys.exit(130)\n{IN_RUN}", -signal.SIGINT, ""),
    ],
)  # fmt: skip
def test_ctrl_c_has_no_traceback(code: str, exit_code: int, line: str, tmp_path: Path) -> None:
    process = python(CTRL_C + code, tmp_path)
    assert (process.returncode, process.stderr) == (exit_code, line)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (verify, "dataset={long}"),
        (pretrain, "dataset={long}"),
        (watch, "policy={long}"),
        (finetune, "schedule={long}.yaml"),
        (study, "study={long}.yaml"),
    ],
    ids=lambda value: getattr(value, "program", None),
)
def test_a_name_that_no_file_can_have_is_one_line(
    command: Command[Any], words: str, run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    process = run_command(command, words.format(long="x" * 300))
    assert process.code == 2
    (message,) = process.err.splitlines()
    assert message.startswith(command.program)
    assert "ile name too long" in message


VERSION, HELP = "qwop-record --version", "qwop-dataset --help"
DESCRIPTION = f"qwop-dataset describe {embedded_dataset()}"
UNREAD, FULL = ": standard output was closed by what reads it", "No space left on device"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("line", "full", "code", "said"),
    [
        *((line, True, 2, FULL) for line in ("qwop-record --help", VERSION, HELP, DESCRIPTION)),
        *((line, False, 141, UNREAD) for line in (VERSION, "qwop-evaluate policy=champion --config", HELP)),
        ("qwop-dataset describe nowhere", False, 2, ": nowhere: "),  # an error keeps its exit code
    ],
)
def test_an_output_that_is_full_or_that_nobody_reads_is_one_line(
    line: str, full: bool, code: int, said: str, tmp_path: Path
) -> None:
    read, pipe = os.pipe()
    os.close(read)
    words = line.split()
    module, _, name = SCRIPTS[words[0]].partition(":")
    command = [sys.executable, "-c", f"import sys; sys.argv = {words!r}; import {module}; {module}.{name}()"]
    with open("/dev/full" if full else pipe, "w") as output:
        process = subprocess.run(command, cwd=tmp_path, stdout=output, stderr=subprocess.PIPE, text=True)
    assert (process.returncode, len(process.stderr.splitlines())) == (code, 1), process.stderr
    assert process.stderr.startswith(words[0])
    assert said in process.stderr


EXAMPLES = [
    line
    for command in COMMANDS.values()
    for line, _ in command.examples
    if "--help" not in line and "my/space.yaml" not in line  # a file of the reader's own
]


@pytest.mark.parametrize("line", EXAMPLES)
def test_the_examples_of_help_are_lines_that_are_read(line: str) -> None:
    program, *words = shlex.split(line)
    COMMANDS[program].read(words)

"""The code blocks of README, CONTRIBUTING and docs/ work.

Every `sh` block is run by bash with stand-ins for the programs that it calls. The stand-ins record their arguments,
and each call is checked: the settings of a qwop command must be accepted, a script must exist and accept its flags, an
extra must exist. Every `python` block is executed, the blocks of a page one after the other. A comment in front of a
block changes that:

    <!-- test: run; qwop-pretrain epochs=1 games=2 -->   also runs the block, with these settings added
    <!-- test: needs stable_baselines3 -->   executes a python block by itself, or reads the commands
                                            of an sh block, where that package is installed
    <!-- test: skip: needs a copy of the original game -->   does not execute a python block, and says why
"""

import argparse
import importlib.metadata
import importlib.util
import os
import re
import runpy
import shlex
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from qwop.commands import COMMANDS
from qwop.common import imports
from qwop.common.errors import BadInput
from qwop.common.settings import read
from qwop.compare.runner import jobs_of
from qwop.datasets.main import VERBS, with_names
from qwop.finetune.settings import ScheduleSettings
from qwop.study.runs import CommandRun
from qwop.study.settings import StudySettings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"sh", "python", "yaml", "text"}
DATASET = "qwop-dataset"  # has verbs, each with settings of its own
TARGETS = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
OTHERS = ["python", "python3", "pip", "pytest", "make", "mkdocs", "git", "jupyter"]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$", re.M | re.S)
MARKER = re.compile(r"<!-- test: (?P<kind>run|needs|skip)(?P<rest>[^\n]*) -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block. added: for a block that is run, the settings added to each command; needs: a package; skip: why
    the block is not executed."""

    page: Path
    line: int
    language: str
    code: str
    run: bool = False
    added: tuple[tuple[str, ...], ...] = ()
    needs: str = ""
    skip: str = ""

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path, text: str) -> Iterator[Block]:
    """The fenced blocks of a page; ValueError for one without a language that we know, or with a marker we do not."""
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["language"] not in LANGUAGES:
            raise ValueError(f"{page.name}:{line}: a block of {found['language'] or 'no language'}, not of {LANGUAGES}")
        indent = len(found["indent"])
        code = "".join(row[indent:] if row.strip() else row for row in found["code"].splitlines(keepends=True))
        before = text[: found.start()].rstrip().rsplit("\n", 1)[-1].strip()
        marker = MARKER.match(before)
        if marker is None:
            if before.startswith("<!--"):
                raise ValueError(f"{page.name}:{line}: {before}: no marker of ours")
            yield Block(page, line, found["language"], code)
        elif marker["kind"] == "run":
            added = tuple(tuple(shlex.split(part)) for part in marker["rest"].split(";") if part.strip())
            yield Block(page, line, found["language"], code, run=True, added=added)
        elif marker["kind"] == "needs":
            yield Block(page, line, found["language"], code, needs=marker["rest"].strip())
        else:
            reason = marker["rest"].removeprefix(":").strip()
            if not reason:
                raise ValueError(f"{page.name}:{line}: skipped without a reason")
            yield Block(page, line, found["language"], code, skip=reason)


BLOCKS = [block for page in PAGES if page.exists() for block in blocks_of(page, page.read_text())]


def of_language(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


def where_installed(blocks: list[Block]) -> list[Any]:
    """Parameters of a test; those of blocks that need a package are skipped where it is not installed."""
    return [
        pytest.param(block, marks=pytest.mark.needs(module=block.needs)) if block.needs else block for block in blocks
    ]


# --- sh ---


def calls_of(code: str, folder: Path) -> list[list[str]]:
    """The programs that bash calls for this code, with their arguments; ValueError if one is not known."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    log = folder / "calls"
    log.touch()
    for name in (*COMMANDS, DATASET, *OTHERS):
        script = programs / name
        script.write_text(f"#!/bin/bash\n{{ printf '%s\\0' {name} \"$@\"; printf '\\0'; }} >> '{log}'\n")
        script.chmod(0o755)
    (programs / "activate").touch()
    done = subprocess.run(
        ["/bin/bash", "-euc", code], cwd=folder, env={"PATH": str(programs)}, capture_output=True, text=True
    )
    if done.returncode or done.stderr:
        raise ValueError(done.stderr)
    return [call.split("\0") for call in log.read_text().split("\0\0") if call]


def check_all(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail unless every program that bash calls for this code would accept its arguments."""
    calls = calls_of(code, folder)
    assert calls, "nothing is called"
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(ROOT / "examples")  # the module of an environment of one's own
    monkeypatch.setenv(imports.VARIABLE, "")
    # Of calls that differ in their seeds alone, the last one.
    for call in {re.sub(r"(seed=|-)\d+", r"\1", "\0".join(call)): call for call in calls}.values():
        with monkeypatch.context() as patched:
            check(call, patched)


def check(call: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail unless this program would accept these arguments."""
    program, *arguments = call
    if program in COMMANDS:
        COMMANDS[program].read(arguments)
    elif program == DATASET:
        verb, *settings = arguments
        assert verb in VERBS, f"no such verb: {verb}"
        import_module(VERBS[verb][0]).command.read(with_names(verb, settings))
    elif program == "pip":
        for extras in re.findall(r"\[(.*?)\]", " ".join(arguments)):
            unknown = set(extras.split(",")) - EXTRAS
            assert not unknown, f"no such extra: {unknown}"
    elif program in ("python", "python3") and arguments[:2] != ["-m", "venv"]:
        check_script(arguments, monkeypatch)
    elif program == "make":
        unknown = set(arguments) - TARGETS
        assert not unknown, f"no such target: {unknown}"
    elif program == "pytest":
        missing = [path for path in arguments if path.startswith("tests") and not (ROOT / path).exists()]
        assert not missing, f"no such tests: {missing}"


class Parsed(Exception):
    """A script's arguments were accepted."""


def takes_arguments(script: Path) -> bool:
    """True if the script, or a script beside it that it imports from, reads the command line."""
    code = script.read_text()
    beside = [other for other in script.parent.glob("*.py") if re.search(rf"^from {other.stem} import", code, re.M)]
    return any("parse_args()" in one.read_text() for one in (script, *beside))


def check_script(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if arguments[0] == "-m":
        assert importlib.util.find_spec(arguments[1]), f"no such module: {arguments[1]}"
        return
    script = ROOT / arguments[0]
    if script.is_dir():
        script /= "__main__.py"
    assert script.is_file(), f"no such script: {script}"
    if not takes_arguments(script):
        assert len(arguments) == 1, f"{script}: takes no arguments"
        return
    parse = argparse.ArgumentParser.parse_args

    def parsed(self: argparse.ArgumentParser) -> argparse.Namespace:
        parse(self)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.syspath_prepend(script.parent)
    with pytest.raises(Parsed):
        runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("block", where_installed(of_language("sh")), ids=str)
def test_commands_are_accepted(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_all(block.code, tmp_path, monkeypatch)


def test_a_recipe_stands_once() -> None:
    places: dict[str, list[str]] = {}
    for block in of_language("sh"):
        for line in block.code.replace("\\\n", " ").splitlines():
            words = [word for word in shlex.split(line, comments=True) if not word.startswith("out=")]
            if len(words) >= 4 and words[0] in {*COMMANDS, DATASET}:
                places.setdefault(" ".join(sorted(words)), []).append(str(block))
    assert {recipe: where for recipe, where in places.items() if len(where) > 1} == {}


RUNNING = sorted({block.page for block in of_language("sh") if block.run})


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for block in BLOCKS:
        if block.page != page or not block.run:
            continue
        added = {name: settings for name, *settings in block.added}
        assert set(added) <= set(COMMANDS), f"{block}: settings for {set(added)}"
        for name in (*COMMANDS, DATASET):
            real = Path(sysconfig.get_path("scripts")) / name
            script = programs / name
            script.write_text(f'#!/bin/bash\nexec {real} "$@" {shlex.join(added.get(name, []))}\n')
            script.chmod(0o755)
        for name in ("pip", "python3"):
            script = programs / name
            script.write_text("#!/bin/bash\n")
            script.chmod(0o755)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["/bin/bash", "-euc", block.code], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{block}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("qwop-pretrain epocs=3", "epocs"),
        ("qwop-finetune schedule=curodo", "curodo"),
        ("qwop-finetune schedule=kurodo schedule.phases.mixed.ours=5", "ours"),
        ("qwop-evaluate policy=champion wurld=original", "wurld"),
        ("qwop-dataset reconstruct data/kurodo out=data/exact frames=1", "frames"),
        ("qwop-dataset reconstrukt data/kurodo", "reconstrukt"),
        ("pip install '.[brouser]'", "brouser"),
        ("python benchmarks/nothing.py", "nothing.py"),
        ("pytest tests/nothing", "tests/nothing"),
        ("make tea", "tea"),
        ("qwop-fly", "qwop-fly"),
    ],
)
def test_a_wrong_command_is_found(code: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((AssertionError, BadInput, ValueError), match=re.escape(complaint)):
        check_all(code, tmp_path, monkeypatch)


def test_every_command_can_be_checked() -> None:
    scripts = importlib.metadata.entry_points(group="console_scripts")
    assert {*COMMANDS, DATASET} == {script.name for script in scripts if script.dist and script.dist.name == "qwop"}


def test_a_flag_that_a_script_does_not_have_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (call,) = calls_of("python benchmarks/race_picture.py runs/champion --wide", tmp_path)
    with pytest.raises(SystemExit):
        check(call, monkeypatch)


# --- python and yaml ---


@pytest.mark.parametrize("page", sorted({block.page for block in of_language("python")}), ids=lambda page: page.name)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in of_language("python"):
        if block.page == page and not block.skip and not block.needs:
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)


@pytest.mark.parametrize("block", where_installed([block for block in of_language("python") if block.needs]), ids=str)
def test_python_with_extras_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile("\n" * block.line + block.code, str(block.page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.skip], ids=str)
def test_skipped_blocks_are_python_that_compiles(block: Block) -> None:
    assert block.language == "python"
    compile(block.code, str(block), "exec")


@pytest.mark.parametrize("block", of_language("yaml"), ids=str)
def test_schedules_studies_and_rows_are_accepted(block: Block) -> None:
    node: Any = OmegaConf.to_container(OmegaConf.create(block.code))
    if "space" in node:
        study = read(StudySettings, node, "study")
        CommandRun(COMMANDS[study.command], study.settings, study.objective).check(study.space)
    elif "rows" in node:
        assert jobs_of(node["rows"], 1, Path("out"))
    else:
        assert read(ScheduleSettings, {"phases": node["phases"]}, "schedule")


# --- markers ---


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```\nqwop-pretrain\n```", "no language"),
        ("```ruby\nputs 1\n```", "ruby"),
        ("<!-- test: skip: -->\n```python\n1\n```", "without a reason"),
        ("<!-- test: maybe -->\n```python\n1\n```", "no marker"),
    ],
)
def test_a_block_that_nothing_would_test_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        list(blocks_of(Path("page.md"), text))

"""A command around its settings: overrides, errors, exit codes, signals and the written configuration."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from qwop.common.command import Command, require_no_other_run, write_configuration
from qwop.common.errors import BadInput
from qwop.common.settings import Settings, choice_of, setting


@dataclass(frozen=True)
class Dog(Settings):
    """A dog."""

    speed: float = setting(1.0, "Metres a second.", above=0)


@dataclass(frozen=True)
class Cat(Settings):
    """A cat."""

    lives: int = setting(9, "Lives left.", at_least=1)


@dataclass(frozen=True)
class Walk(Settings):
    """The settings of the example."""

    steps: int = setting(10, "Steps to take.", at_least=1)
    out: str = setting("walked", "Folder.", written=True)
    free: Mapping[str, Any] = setting({}, "Anything.")
    pet: Dog | Cat = choice_of({"dog": Dog, "cat": Cat}, "dog", "Who walks.", tag="kind")


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def walk(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the example with these arguments in an empty folder; gives its exit code and what it says on stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, work: Callable[[Walk], None] = lambda settings: None) -> tuple[int, str]:
        example = Command("walk", Walk, work, about="Walk a pet.", examples=[("qwop-walk", "")])
        code, _, said = run_command(example, *arguments)
        return code, said

    return call


def test_the_work_gets_the_typed_settings(walk: Run) -> None:
    given: list[Walk] = []
    assert walk("pet=cat", "steps=3", "free.a=1", "+free.b=2", work=given.append) == (0, "")
    assert walk("pet=cat", "steps=3", "free={a: 1, b: 2}", work=given.append) == (0, "")
    assert given == [Walk(steps=3, free={"a": 1, "b": 2}, pet=Cat())] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["steps=0"], "steps=0: expected a whole number, at least 1 (default: 10)"),
        (["setps=3"], "setps: no such setting; did you mean steps?"),
        (["+setps=3"], "setps: no such setting; did you mean steps?"),
        (["~setps"], "setps: no such setting; did you mean steps?"),
        (["steps.many=3"], "steps.many: no such setting; steps has no parts: did you mean steps=…?"),
        (["speed=3"], "speed: no such setting; did you mean pet.speed?"),
        (["+steps=3"], "+steps=3: steps is there already; leave the + out"),
        (["~steps"], "steps is missing: expected a whole number, at least 1 (default: 10); leave ~steps out"),
        (["steps"], "steps: expected setting=value; --help shows the settings"),
        (["steps=1,2"], "steps=1,2: several values need --multirun; a list is written [1,2]"),
        (["steps=[1"], "steps=[1: cannot be read"),
        (["steps=${nothing}"], "steps: Interpolation key 'nothing' not found; ${…} takes the value of another setting"),
        (["=3"], "=3: expected setting=value"),
        (["pet=cow"], "pet=cow: no such option; choose one of cat, dog\n"),
        (["pet=null"], "pet is not set: choose one of cat, dog, such as pet=dog"),
        (["~pet"], "pet is not set: choose one of cat, dog"),
        (["pet.kind=cow"], "pet.kind=cow: expected dog or cat, chosen by pet=dog"),
        (["pet.kind=cat"], "pet.speed: no such setting"),
        (["~pet.kind"], "pet.kind is missing"),
        (["pet=cat", "pet.speed=1"], "pet.speed: a setting of pet=dog, which is not chosen"),
        (["pet.speed=fast"], "pet.speed=fast: expected a number, more than 0 (default: 1.0)"),
        (["hydra.nothing=1"], "Could not override 'hydra.nothing'."),
        (["--stpes=3"], "unrecognized arguments: --stpes=3; --help shows the settings"),
        (["out=null"], "out=null: expected a text (default: walked)"),
        (["out=" + "x" * 300], "file name too long; give out= another folder"),
        (["steps=" + "9" * 5000], "cannot be read (Exceeds the limit (4300 digits)"),
        (["steps=" + "[" * 600 + "1" + "]" * 600], "cannot be read (maximum recursion depth"),
        (["x" * 5000 + "=1"], "x…: no such setting; the settings are "),
        (["setps=3", "--cfg", "job"], "setps: no such setting; did you mean steps?"),
        (["-m", "steps=1,0"], "steps=0: expected a whole number, at least 1"),
        (["-m", "steps=1,2", "setps=3"], "setps: no such setting; did you mean steps?"),
        (["hydra.run.dir=made", "setps=3"], "setps: no such setting; did you mean steps?"),
        (["hydra/launcher=quick"], "hydra/launcher=quick: no such option"),
        (["--experimental-rerun=job"], "--experimental-rerun: pickled jobs are not run"),
        ([""], "an empty argument: expected setting=value"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(walk: Run, arguments: list[str], said: str) -> None:
    code, err = walk(*arguments, work=lambda settings: pytest.fail("was run"))
    assert code == 2
    assert err.startswith("qwop-walk: ")
    assert said in err
    assert err.count("\n") == 1
    assert len(err) < 500
    assert os.listdir() == []


def test_bad_input_found_while_working_is_one_line_too(walk: Run) -> None:
    def refuse(settings: Walk) -> None:
        raise BadInput("lead: too short")

    assert walk(work=refuse) == (2, "qwop-walk: lead: too short\n")


def test_a_working_folder_that_was_removed_is_one_line(
    walk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    said = "qwop-walk: the working folder cannot be read (no such file); go to another one with cd\n"
    assert walk(work=lambda settings: None) == (2, said)


def test_several_runs_at_once_are_hydra_s(walk: Run) -> None:
    given: list[Walk] = []
    assert walk("--multirun", "steps=1,2", "hydra.sweep.dir=.", work=given.append)[0] == 0
    assert [settings.steps for settings in given] == [1, 2]


@dataclass(frozen=True)
class Named(Settings):
    """Settings with a text."""

    which: str = setting("a:1", "Which.", choices=["a:1", "b=2"])


def test_texts_of_several_runs_may_have_colons(
    run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    given: list[Named] = []
    example = Command("named", Named, given.append, about="Name.", examples=[])
    done = run_command(example, "-m", "which=a:1,'b=2'", "hydra.sweep.dir=.")
    assert done.code == 0, done.err
    assert [settings.which for settings in given] == ["a:1", "b=2"]


def test_the_configuration_can_be_printed_without_running(walk: Run) -> None:
    assert walk("--cfg", "job", "pet=cat") == (0, "")


def test_the_run_folder_holds_the_resolved_configuration(tmp_path: Path) -> None:
    folder = write_configuration(Walk(pet=Cat(3)), tmp_path / "run")
    assert OmegaConf.load(folder / "config.yaml") == {
        "steps": 10, "out": "walked", "free": {}, "pet": {"kind": "cat", "lives": 3},
    }  # fmt: skip


def test_files_of_no_run_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"^out=.*: holds mine\.txt, which would be overwritten; give out= another"):
        require_no_other_run(tmp_path, Walk, ("other.txt", "mine.txt"))
    require_no_other_run(tmp_path, Walk, ("other.txt",))
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(BadInput, match=r"holds report\.html, which would be overwritten"):
        write_configuration(Walk(out=str(tmp_path)), tmp_path)
    (tmp_path / "report.html").unlink()
    write_configuration(Walk(out=str(tmp_path)), tmp_path)
    require_no_other_run(tmp_path, Walk, ("mine.txt",))  # a run of this command wrote it


def test_a_run_is_not_written_into_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text("{}")
    with pytest.raises(BadInput, match=r"^out=.*: holds a dataset; give out= another folder$"):
        write_configuration(Walk(out=str(tmp_path)), tmp_path)

"""A command around its settings: overrides, errors, exit codes, signals and the written configuration."""

import gc
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from qwop.commands import finetune
from qwop.common.command import Command
from qwop.common.errors import BadInput
from qwop.common.reading import parse_yaml
from qwop.common.run_folder import command_line, override, require_no_other_run, to_yaml, words_of, write_configuration
from qwop.common.settings import Count, HomePath, OutFolder, Positive, Settings, Several, read
from qwop.finetune.agents.ppo.settings import PpoSettings


class Dog(Settings):
    """A dog."""

    kind: Literal["dog"] = "dog"
    speed: Positive = 1.0
    """Metres a second."""


class Cat(Settings):
    """A cat."""

    kind: Literal["cat"] = "cat"
    lives: Count = 9
    """Lives left."""
    name: str = "it"
    """Name."""
    file: HomePath | None = None
    """File."""


class Walk(Settings):
    """The settings of the example."""

    steps: Count = 10
    """Steps to take."""
    out: OutFolder = "walked"
    """Folder."""
    free: Mapping[str, Any] = {}
    """Anything."""
    pet: Annotated[Dog | Cat, Field(discriminator="kind")] = Dog()
    """Who walks."""
    note: str | None = None
    """Note."""
    names: Several[str] = ("a",)
    """Names."""
    files: Several[HomePath] = ("a",)
    """Files."""


WALK = Command("walk", Walk, print, about="Walk a pet.", examples=[("qwop-walk", "")])

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def walk(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the example with these arguments in an empty folder; gives its exit code and what it says on stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, work: Callable[[Walk], None] = lambda settings: None) -> tuple[int, str]:
        example = Command("walk", Walk, work, about="Walk a pet.", examples=[("qwop-walk", "")])
        code, _, message = run_command(example, *arguments)
        return code, message

    return call


def test_the_work_gets_the_typed_settings(walk: Run) -> None:
    calls: list[Walk] = []
    assert walk("pet=cat", "steps=3", "free.a=1", "+free.b=2", work=calls.append) == (0, "")
    assert walk("pet=cat", "steps=3", "free={a: 1,b:2}", work=calls.append) == (0, "")
    assert calls == [Walk(steps=3, free={"a": 1, "b": 2}, pet=Cat())] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["steps=0"], "steps=0: expected a whole number, at least 1 (default: 10)"),
        (["setps=3"], "setps: no such setting; did you mean steps?"),
        (["steps.many=3"], "steps={many: 3}: expected a whole number"),
        (["speed=3"], "speed: no such setting; did you mean pet.speed?"),
        (["steps"], "steps: expected setting=value; --help shows the settings"),
        (["steps=1,2"], "steps=1,2: expected a whole number"),
        (["steps=${nothing}"], "steps=${nothing}: expected a whole number"),
        (["names=José"], "names=José: expected a list of texts"),
        (["names=" + "[" * 1000], "names=[[["),
        (["note=a\udcff"], "note=a\\udcff: expected a text"),
        (["a..b=3"], "a..b=3: expected setting=value"),
        (["pet=cow"], "pet=cow: no such option; choose one of cat, dog\n"),
        (["~pet"], "~pet: expected setting=value"),
        (["pet.kind=cow"], "pet.kind=cow: expected dog or cat"),
        (["pet=cat", "pet.speed=1"], "pet.speed: a setting of pet=dog, which is not chosen"),
        (["pet.speed=fast"], "pet.speed=fast: expected a number, more than 0 (default: 1.0)"),
        (["--stpes=3"], "--stpes=3: expected setting=value; --help shows the settings"),
        (["out=null"], "out=null: expected a text (default: walked)"),
        (["steps=" + "9" * 5000], "steps=999"),
        (["steps=" + "[" * 600 + "1" + "]" * 600], "steps=[[["),
        (["x" * 5000 + "=1"], "x…: no such setting; the settings are "),
        ([".".join(["free"] * 3000) + "=1"], "free…: expected setting=value"),
        (["setps=3", "--config"], "setps: no such setting; did you mean steps?"),
        ([""], "an empty argument: expected setting=value"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(walk: Run, arguments: list[str], message: str) -> None:
    code, err = walk(*arguments, work=lambda settings: pytest.fail("was run"))
    assert code == 2
    assert err.startswith("qwop-walk: ")
    assert message in err
    assert err.count("\n") == 1
    assert len(err) < 500
    assert os.listdir() == []


@pytest.mark.parametrize("work", [lambda _: Path.cwd(), lambda _: Path("a").resolve()])
def test_a_working_folder_that_is_gone_is_one_line(work: Callable[[Walk], Any], walk: Run) -> None:
    folder = Path.cwd()
    os.rmdir(folder)
    try:
        assert walk(work=work) == (2, "qwop-walk: the working folder is gone; go into one that is there\n")
    finally:
        folder.mkdir()


def test_garbage_is_collected_while_a_command_works_not_before(walk: Run) -> None:
    states: list[bool] = []
    gc.disable()
    try:
        walk("steps=0")
        states.append(gc.isenabled())
        walk(work=lambda settings: states.append(gc.isenabled()))
    finally:
        gc.enable()
        gc.unfreeze()
    assert states == [False, True]


def test_the_configuration_can_be_printed_without_running(run_command: Callable[..., Any]) -> None:
    work = Command("walk", Walk, lambda settings: pytest.fail("was run"), about="Walk.", examples=[])
    result = run_command(work, "pet=cat", "--config", "steps=3")
    assert (result.code, result.err) == (0, "")
    assert read(Walk, parse_yaml(result.out)) == Walk(steps=3, pet=Cat())


TYPED = [
    "O'Brien", "me (left hand)", "José", "données/josé", "#1", "a,b", "1e3", "2026_11_25", "1.50", "+5", "true", "~me",
    "a=b", "[left]", "[", "{a: 1}", "{a:1}", "}", "a b", "say: hi", "5 # five", '"', "\\", "a\\", "C:\\new", "null?",
    "*", "a*?[0-9].npz", "--help", "=", "1:30", "${", "${a b}", "ﬁ 狗 🐕",
]  # fmt: skip


@pytest.mark.parametrize("text", TYPED)
def test_a_text_is_taken_as_it_is_typed_and_comes_back(text: str, tmp_path: Path) -> None:
    settings = WALK.read([f"note={text}", "pet=cat", f"++pet.name={text}"])
    assert (settings.note, settings.pet.name) == (text, text)
    assert read(Walk, parse_yaml(to_yaml(settings))) == settings
    values = {"note": text, "pet.name": text, "names": [text, "b"], "free": {text: [text]}}
    words = ["pet=cat", *(override(name, value) for name, value in values.items())]
    assert WALK.read(words) == settings.with_(names=(text, "b"), free={text: [text]})


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("names=[a,b]", ("a", "b")),
        ("names=[O'Brien, José ,1e3]", ("O'Brien", "José", "1e3")),
        ("names=['a,b',c]", ("a,b", "c")),
        ("names=[a[0-9].npz, 'b c']", ("a[0-9].npz", "b c")),
        ("names=[a(,b]", ("a(", "b")),
        ("names=[null,true,2026_11_25]", ("null", "true", "2026_11_25")),
        ("note='a b'", "a b"),
        ("note='null'", "null"),
        ("note=null", None),
        ("note=~/x", "~/x"),
        ("out=~/games", "/home/me/games"),
        ("files=[~/a.npz,b~]", ("/home/me/a.npz", "b~")),
    ],
)
def test_lists_quotes_null_and_home_folders_are_read_as_such(
    word: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert getattr(WALK.read(["note=x", word]), word.partition("=")[0]) == value


def test_free_settings_take_what_is_nothing_else_as_texts_and_any_names() -> None:
    free = WALK.read(["free.größe=José", "free.count=3", "free.both=O'Brien", "free.list=[1, ü]"]).free
    assert free == {"größe": "José", "count": 3, "both": "O'Brien", "list": [1, "ü"]}
    assert WALK.read(["free={größe: O'Brien, a: {x: 1}}", "free.a={y: 2}"]).free == {
        "größe": "O'Brien", "a": {"x": 1, "y": 2},
    }  # fmt: skip


def test_settings_are_composed_inside_anothers_hydra_and_twice() -> None:
    from hydra import compose, initialize
    from hydra.core.global_hydra import GlobalHydra

    with initialize(version_base="1.3"):
        outer = GlobalHydra.instance().hydra
        first = finetune.read(["schedule=kurodo"])
        assert finetune.read(["+schedule=kurodo"]) == first
        assert GlobalHydra.instance().hydra is outer
        assert compose(overrides=["+a=1"]) == {"a": 1}
    assert not GlobalHydra.instance().is_initialized()


def test_a_file_of_ones_own_is_an_option_and_is_named_where_it_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my é.yaml").write_text("algorithm: {name: ppo, epochs: 7}\nphases:\n  früh: {hours: 1}\n  spät: {hours: 2}\n")
    settings = finetune.read(["schedule=my é.yaml", "schedule.phases.spät.entropy=0.5"])
    assert [(one.name, one.hours) for one in settings.phases] == [("früh", 1.0), ("spät", 2.0)]
    assert settings.algorithm == PpoSettings(epochs=7)
    Path("wrong.yaml").write_text("phases:\n  a: {huors: 1}\n")
    with pytest.raises(BadInput, match=r"^wrong\.yaml: schedule\.phases\.a\.huors: no such setting; did you mean sch"):
        finetune.read(["schedule=wrong.yaml"])
    Path("broken.yaml").write_text("phases: [")
    with pytest.raises(BadInput, match=r"^schedule=broken\.yaml: broken\.yaml: not YAML settings .*; expected a file"):
        finetune.read(["schedule=broken.yaml"])
    with pytest.raises(BadInput, match=r"^schedule=none\.yaml: none\.yaml: no such file; expected a file of your own"):
        finetune.read(["schedule=none.yaml"])


def test_files_of_no_run_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"^out=.*: holds mine\.txt, which would be overwritten; give out= another"):
        require_no_other_run(tmp_path, Walk, ("other.txt", "mine.txt"))
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(BadInput, match=r"holds report\.html, which would be overwritten"):
        write_configuration(Walk(out=str(tmp_path)), tmp_path)
    (tmp_path / "report.html").unlink()
    write_configuration(Walk(out=str(tmp_path)), tmp_path)
    require_no_other_run(tmp_path, Walk, ("mine.txt",))  # a run of this command wrote it
    (tmp_path / "dataset.json").write_text("{}")
    with pytest.raises(BadInput, match=r"^out=.*: holds a dataset; give out= another folder$"):
        require_no_other_run(tmp_path, Walk)


LINE = "qwop-finetune schedule=kurodo '+schedule.phases.more={hours: 2, environment: {reward: speed}}' policy='a b'"


def test_a_line_that_was_typed_is_kept_with_its_settings_and_in_a_runs_folder(tmp_path: Path) -> None:
    settings = finetune.read(shlex.split(LINE)[1:])
    line = command_line("qwop-finetune", settings.with_(seed=3).words)
    assert line == shlex.join(shlex.split(LINE))
    assert words_of(write_configuration(settings, tmp_path) / "config.yaml") == shlex.split(line)[1:]
    assert finetune.read(shlex.split(line)[1:]) == settings
    assert "words" not in dict(settings)  # which trackers get


def test_settings_can_be_left_out() -> None:
    assert command_line("walk", ["place=wood", "+limit=4"], without=("limit",)) == "walk place=wood"


@pytest.mark.parametrize("text", ["", "seed: 0\n", "# 3\n", "# [\n", "# a line\nseed: 0\n"])
def test_settings_of_another_origin_have_no_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(text)
    assert words_of(tmp_path / "config.yaml") == []
    assert Walk().words == ()

"""One run of a command: its folder, its figure, and everything that can go wrong with it."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from unittest.mock import Mock

import pytest
from pydantic import Field
from qwop.common.command import Command
from qwop.common.errors import BadInput, EnvironmentFailed
from qwop.common.files import cannot_be_written
from qwop.common.reading import NotReadNow
from qwop.common.settings import OutFolder, Settings, Whole
from qwop.study.runs import CommandRun, RunFailed, figure_of
from qwop.study.settings import ObjectiveSettings, Parameter

OBJECTIVE = ObjectiveSettings(file="result.json", figure="games.mean")


class ToySettings(Settings):
    """The settings of a command that does next to nothing."""

    x: Annotated[float, Field(ge=-1, le=1)] = 0.0
    """A number."""
    how: Literal["well", "badly", "input", "silently", "stopped"] = "well"
    """Manner of working."""
    out: OutFolder = "runs/toy"
    """Folder of the result."""
    seed: Whole = 0
    """Decides everything random."""
    resume: bool = False
    """Continue a run."""


def toy(settings: ToySettings) -> None:
    print("working")
    out = Path(settings.out)
    (out / "checkpoints").mkdir()
    (out / "checkpoints" / "large").touch()
    if settings.how == "badly":
        raise ZeroDivisionError("x is nothing")
    if settings.how == "input":
        raise BadInput("x: of no use here")
    if settings.how == "stopped":
        raise KeyboardInterrupt
    if settings.how != "silently":
        (out / "result.json").write_text(json.dumps({"games": {"mean": settings.x + settings.seed}}))


TOY = Command("toy", ToySettings, toy, about="Does next to nothing.", examples=[])

Make = Callable[..., CommandRun]


@pytest.fixture
def make() -> Make:
    return lambda *settings: CommandRun(TOY, settings, OBJECTIVE)


def test_a_run_gives_its_figure_and_leaves_its_folder_without_what_is_large_and_prints_nothing(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make("how=well")({"x": "0.5"}, 3, tmp_path / "run") == 3.5
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"result.json", "output.txt"}
    assert (tmp_path / "run" / "output.txt").read_text() == "working\n"
    assert capsys.readouterr().out == ""


def test_a_finished_run_is_not_repeated_and_an_unfinished_one_starts_anew(make: Make, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        make("how=stopped")({}, 5, tmp_path / "run")
    assert make()({}, 5, tmp_path / "run") == 5
    assert make("how=badly")({}, 6, tmp_path / "run") == 5
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("badly", "ZeroDivisionError: x is nothing"),
        ("input", "x: of no use here"),
        ("silently", "result.json: no such file; the command writes no such file"),
    ],
)
def test_a_run_without_a_figure_says_why_every_time(make: Make, tmp_path: Path, how: str, message: str) -> None:
    for _ in range(2):
        with pytest.raises(RunFailed) as failure:
            make(f"how={how}")({}, 0, tmp_path / "run")
        assert message in str(failure.value)
        assert "\n" not in str(failure.value)
    assert message in (tmp_path / "run" / "error.txt").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"games": {"mean": null}}', "games.mean is null, expected a number"),
        ('{"games": {"mean": true}}', "games.mean is true, expected a number"),
        ('{"games": {"mean": NaN}}', "NaN"),
        ('{"games": {"maen": 1}}', "no games.mean; mean is not among maen"),
        ('{"games": 3}', "no games.mean; mean is not among 3"),
        ("{", "result.json: "),
    ],
)
def test_a_file_without_the_figure_is_a_failure(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(RunFailed) as failure:
        figure_of(tmp_path, OBJECTIVE)
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("settings", "space", "message"),
    [
        (["xx=3"], {}, "study.settings: xx: no such setting"),
        (["how=oddly"], {}, "study.settings: how=oddly: expected well,"),
        ([], {"xy": {"type": "float", "low": 0, "high": 1}}, "study.space.xy: xy: no such setting"),
        ([], {"x": {"type": "float", "low": 0, "high": 2}}, "study.space.x: x=2.0: expected a number from -1 to 1"),
        ([], {"how": {"type": "categorical", "choices": ["well", "so-so"]}}, "study.space.how: how=so-so: expected"),
        (["resume=true"], {}, "study.settings: resume=true: each run of a study begins anew; leave it out"),
        ([], {"resume": {"type": "categorical", "choices": ["false", "true"]}}, "study.space.resume: resume=true: "),
    ],
)
def test_settings_that_the_command_does_not_accept_are_named_before_any_run(
    make: Make, settings: list[str], space: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        make(*settings).check([Parameter(name=name, **one) for name, one in space.items()])
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "x"),
        PermissionError(errno.EACCES, "Permission denied", "x"),
        OSError(errno.EMFILE, "Too many open files"),
        MemoryError(),
        cannot_be_written(Path("x"), OSError(errno.ENOSPC, "No space left on device")),
        NotReadNow("x: input/output error"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("hidden", [False, True], ids=["", "behind a library's"])
def test_a_fault_that_is_not_the_values_is_a_line_and_the_run_is_repeated(
    error: Exception, hidden: bool, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hidden:
        outer = RuntimeError("the writer failed")
        outer.__cause__, error = error, outer
    play = make()
    with monkeypatch.context() as patch:
        patch.setattr(TOY, "run", Mock(side_effect=error))
        with pytest.raises(BadInput, match=r"run: .*; the same command goes on with this run"):
            play({}, 0, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
    assert play({"x": "0.5"}, 3, tmp_path / "run") == 3.5


def test_a_figure_that_cannot_be_read_at_present_is_no_failure(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = make()
    with monkeypatch.context() as patch:
        patch.setattr("qwop.study.runs.read_json", Mock(side_effect=NotReadNow("x: too many open files")))
        with pytest.raises(NotReadNow):
            play({"x": "0.5"}, 3, tmp_path / "run")
    assert play({"x": "0.5"}, 3, tmp_path / "run") == 3.5


@pytest.mark.parametrize(
    "error", [OSError("of a library"), BadInput("of a setting"), EnvironmentFailed("Odd-v0: step")]
)
def test_other_errors_are_the_runs(
    error: Exception, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TOY, "run", Mock(side_effect=error))
    with pytest.raises(RunFailed):
        make()({"x": "1"}, 0, tmp_path / "run")


def test_a_link_in_the_place_of_an_unfinished_run_is_left_alone(make: Make, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").touch()
    (tmp_path / "run.unfinished").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic link"):
        make()({}, 0, tmp_path / "run")
    assert (tmp_path / "mine" / "thesis").exists()

"""What every command shares: settings checked, mistakes told in one line, exit codes."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf
from qwop.common.command import EXIT_BAD_INPUT, EXIT_INTERRUPTED, command, open_run_folder, settings
from qwop.common.errors import BadInput


@dataclass(frozen=True)
class Example:
    count: int = 3
    name: str = "a"


def node(**values: object) -> DictConfig:
    return OmegaConf.create(values)


def test_settings_fill_the_dataclass_and_keep_its_defaults() -> None:
    assert settings(Example, node(count=5), "example") == Example(count=5, name="a")


def test_an_unknown_setting_is_refused_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match=r"example\.cuont: no such setting; .*count, name"):
        settings(Example, node(cuont=5), "example")


def test_a_wrong_type_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="count"):
        settings(Example, node(count="many"), "example")


def test_the_run_folder_holds_the_resolved_configuration(tmp_path: Path) -> None:
    folder = open_run_folder(node(a=1, b="${a}"), tmp_path / "run")
    assert OmegaConf.load(folder / "config.yaml") == {"a": 1, "b": 1}


def run_as(monkeypatch: pytest.MonkeyPatch, error: BaseException | None, *overrides: str) -> None:
    def work(config: DictConfig) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(sys, "argv", ["qwop-pretrain", *overrides])
    command("pretrain", work)()


def test_bad_input_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run_as(monkeypatch, BadInput("no such file"))
    assert stopped.value.code == EXIT_BAD_INPUT
    assert capsys.readouterr().err == "qwop-pretrain: no such file\n"


def test_ctrl_c_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as stopped:
        run_as(monkeypatch, KeyboardInterrupt())
    assert stopped.value.code == EXIT_INTERRUPTED


def test_an_override_that_does_not_exist_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as stopped:
        run_as(monkeypatch, None, "epohcs=3")
    assert stopped.value.code == EXIT_BAD_INPUT


def test_work_that_succeeds_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_as(monkeypatch, None)
    assert capsys.readouterr().err == ""

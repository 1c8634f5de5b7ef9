"""Modules that the user names: imported, and never stored."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from qwop.common import imports
from qwop.common.errors import BadInput
from qwop.common.imports import import_from_line, imported, without_module
from qwop.common.run_folder import next_command
from qwop.envs.spec import EnvironmentSpec

MODULE = """
import gymnasium
gymnasium.register("Named-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with a module of an environment."""
    (tmp_path / "named_environments.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(imports.VARIABLE, "")
    yield tmp_path
    gymnasium.registry.pop("Named-v0", None)
    sys.modules.pop("named_environments", None)


def test_the_module_in_front_of_an_id_is_imported_and_not_stored(folder: Path) -> None:
    spec = EnvironmentSpec("named_environments:Named-v0")
    assert spec.id == "Named-v0"
    assert spec.interface()[1] == 2
    assert imported() == ["named_environments"]


@pytest.mark.parametrize(
    "word", ["imports=[named_environments]", "imports=named_environments", "+imports=['named_environments']"]
)
def test_one_setting_imports_modules_in_every_command(folder: Path, word: str) -> None:
    assert import_from_line(["seed=1", word]) == ["seed=1"]
    assert "Named-v0" in gymnasium.registry


def test_the_next_command_names_the_module_again(folder: Path) -> None:
    without_module("named_environments:Named-v0", "environment")
    assert next_command("qwop-watch") == "next: qwop-watch 'imports=[named_environments]'"


def test_the_variable_names_modules_for_a_whole_shell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(imports.VARIABLE, "named_environments")
    assert EnvironmentSpec("Named-v0").interface()[1] == 2


def test_a_folder_here_does_not_take_the_place_of_an_installed_package(folder: Path) -> None:
    (folder / "numpy.py").write_text("raise SystemExit('the wrong numpy')")
    without_module("named_environments:Named-v0", "environment")
    code = "import sys; sys.path = [p for p in sys.path if p]; import qwop.common.imports as i; "
    code += "i.import_modules(['named_environments'], 'x'); import numpy; print(numpy.__version__)"
    process = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("no_such_module:Named-v0", "the module no_such_module cannot be imported .* run the command in its folder"),
        ("no such:Named-v0", "is no name of a module"),
        ("my/walk.py:Named-v0", r"my/walk\.py is no name of a module; expected one such as walk"),
        ("leaving:Named-v0", r"the module leaving cannot be imported \(SystemExit: no display"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(folder: Path, id: str, message: str) -> None:
    (folder / "leaving.py").write_text("import sys; sys.exit('no display')")
    with pytest.raises(BadInput, match=message):
        EnvironmentSpec(id)


def test_an_unregistered_id_says_how_to_name_its_module(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"imports=\[my_module\], or my_module:Unknown-v0"):
        EnvironmentSpec("Unknown-v0").interface()

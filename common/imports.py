"""Modules that register environments, imported because the user names them.

`imports=[my_package.envs]` may be given to every command, an id may have its module in front
(`my_package.envs:Walk-v0`), and the variable `QWOP_IMPORTS` (names with commas between) holds for a whole shell.
Settings in files never name modules: what is written has ids without them.
"""

import importlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import BadInput, quoted

SETTING, VARIABLE = "imports", "QWOP_IMPORTS"

HELP = (
    "Modules that register environments of your own, imported first. A module may also stand in front of an "
    f"environment's id (my_envs:Walk-v0), and {VARIABLE} holds for a whole shell."
)

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def import_from_line(arguments: Sequence[str]) -> list[str]:
    """The command line without `imports=[…]`, whose modules have been imported; BadInput for what is no module."""
    own = [one for one in arguments if one.lstrip("+").startswith(f"{SETTING}=")]
    for one in own:
        names = one.partition("=")[2].strip("[] ")
        import_modules([name.strip(" '\"") for name in names.split(",") if name.strip()], one)
    return [one for one in arguments if one not in own]


def import_modules(names: Sequence[str], setting: str) -> None:
    """Import modules, looked for in the working directory too, and for processes that this one starts.

    setting: that names them. BadInput for one that cannot be imported.
    """
    for name in names:
        if not _MODULE.fullmatch(name) or name.endswith(".py"):
            better = Path(name).stem if name.endswith(".py") else "my_package.envs"
            raise BadInput(f"{setting}: {quoted(name)} is no name of a module; expected one such as {quoted(better)}")
        if (here := os.getcwd()) not in sys.path:
            sys.path.append(here)  # last, so that no folder here takes the place of an installed package
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:  # anybody's module may fail in any way
            why = f"{type(error).__name__}: {quoted(error, 200)}"
            raise BadInput(
                f"{setting}: the module {name} cannot be imported ({why}); install it, or run the command in its folder"
            ) from error
        if name not in (before := imported()):
            os.environ[VARIABLE] = ",".join([*before, name])


def imported() -> list[str]:
    """The modules that were named so far, in order."""
    return [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]


def without_module(id: str, setting: str) -> str:
    """The id of an environment without the module in front of it, which is imported; BadInput if it cannot be."""
    module, colon, name = id.rpartition(":")
    if colon:
        import_modules([module], setting)
    return name

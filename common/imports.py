"""Modules that register environments, imported because the user names them.

`imports=[my_package.envs]` may be given to every command, an id may have its module in front
(`my_package.envs:Walk-v0`), and the variable `QWOP_IMPORTS` (names with commas between) holds for a whole shell. Files
never name modules: what is written has ids without them. Ids whose module was named once are remembered in the user's
own configuration, so that later commands know where to look.
"""

import importlib
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from platformdirs import user_config_path

from .checks import quoted
from .errors import BadInput
from .files import write_atomic
from .reading import MEGABYTE, parse_json, read_bytes

SETTING, VARIABLE = "imports", "QWOP_IMPORTS"

HELP = (
    "Modules that register environments of your own, imported first. A module may also stand in front of an "
    f"environment's id (my_envs:Walk-v0), and {VARIABLE} holds for a whole shell."
)

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

_VERSION = re.compile(r"-v\d+$")
"""Of an id, which may be given without it."""


def import_asked(arguments: Sequence[str]) -> list[str]:
    """The command line without `imports=[…]`, whose modules have been imported; BadInput for what is no module."""
    asked = [one for one in arguments if one.lstrip("+").startswith(f"{SETTING}=")]
    for one in asked:
        names = one.partition("=")[2].strip("[] ")
        import_modules([name.strip(" '\"") for name in names.split(",") if name.strip()], one)
    return [one for one in arguments if one not in asked]


def import_modules(names: Sequence[str], said: str, ids: Iterable[str] = ()) -> None:
    """Import modules, looked for in the working directory too; remember them for processes that this one starts, and
    the ids that they register, with `ids`, for good.

    said: the setting that names them. BadInput for one that cannot be imported.
    """
    from gymnasium.envs.registration import registry  # only where a module is named: it takes long to import

    for name in names:
        if not _MODULE.fullmatch(name) or name.endswith(".py"):
            better = Path(name).stem if name.endswith(".py") else "my_package.envs"
            raise BadInput(f"{said}: {quoted(name)} is no name of a module; expected one such as {quoted(better)}")
        before = {*registry}
        folder = _import(name, said, os.getcwd())
        _remember([*ids, *(id for id in registry if id not in before)], name, folder)
        if name not in (known := imported()):
            os.environ[VARIABLE] = ",".join([*known, name])


def imported() -> list[str]:
    """The modules that were named so far, in order."""
    return [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]


def without_module(id: str, said: str) -> str:
    """The id of an environment without the module in front of it, which is imported; BadInput if it cannot be."""
    module, colon, name = id.rpartition(":")
    if colon:
        import_modules([module], said, [name])
    return name


def import_remembered(id: str) -> None:
    """Import the module that the user named for this id before, if there was one; BadInput if it cannot be imported."""
    known = _remembered()
    found = known.get(id) or next((one for name, one in known.items() if _VERSION.sub("", name) == id), None)
    if not isinstance(found, dict):
        return
    name, folder = found.get("module"), found.get("folder")
    if isinstance(name, str) and _MODULE.fullmatch(name):
        _import(name, f"environment {id}", folder if isinstance(folder, str) else None)


def _import(name: str, said: str, folder: str | None) -> str | None:
    """Import a module; returns `folder` if it was only found there."""
    try:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name.partition(".")[0] or folder is None or folder in sys.path:
                raise
        else:
            return folder if folder in _added else None
        # Last, so that no folder here takes the place of an installed package. It stays, for the module's own imports.
        sys.path.append(folder)
        _added.append(folder)
        importlib.invalidate_caches()
        importlib.import_module(name)
        return folder
    except (Exception, SystemExit) as error:  # anybody's module may fail in any way
        why = f"{type(error).__name__}: {quoted(error, 200)}"
        raise BadInput(
            f"{said}: the module {name} cannot be imported ({why}); install it, or run the command in its folder"
        ) from error


_added: list[str] = []
"""Folders that were added to Python's path."""


def _memory() -> Path:
    return user_config_path("qwop", appauthor=False) / "modules.json"


def _remembered() -> dict[str, object]:
    with suppress(OSError, ValueError):
        found = parse_json(read_bytes(_memory(), MEGABYTE, "it can be deleted"))
        return found if isinstance(found, dict) else {}
    return {}


def _remember(ids: Iterable[str], module: str, folder: str | None) -> None:
    known = _remembered()
    new = {id: {"module": module, "folder": folder} for id in ids}
    if new.items() <= known.items():
        return
    try:
        write_atomic(_memory(), json.dumps({**known, **new}, indent=1) + "\n")
    except (OSError, BadInput):  # a home that cannot be written
        _unremembered[module] = None


_unremembered: dict[str, None] = {}


def unremembered() -> list[str]:
    """The modules that have to be named again, because they could not be remembered."""
    return [*_unremembered]

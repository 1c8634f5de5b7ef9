"""Names of environments: the project's own in Gymnasium's registry, others', and those in files.

Each is registered in a namespace of its own, `qwop/QWOP-v1`, which is what the project's own code makes, and under its
short name, `QWOP-v1`, unless another package has taken that name. (Gymnasium 1.0 dropped the entry point through which
packages used to register themselves, so importing this module registers them: `import qwop` does where Gymnasium was
imported before, and `gymnasium.make("qwop:QWOP-v1")`.)

Environments of other packages are looked for in two places when their id is not registered yet: a few well-known
packages, and modules that the user has named (`common.imports`).

Policies, datasets and checkpoints are exchanged, so they are data: reading one never starts a program, opens a path or
an address, or imports a module that the file chose. A file names an environment by an id without a module
(`module:Name` has one), so that only environments already in Gymnasium's registry are found. It may only set values
that cannot name programs, paths, addresses or modules: for our own environments the settings listed with their
registration, for others numbers, true and false, and words for settings known to be choices. Everything else is given
on the command line.
"""

import importlib
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import gymnasium
from gymnasium.envs.registration import find_highest_version, get_env_id, load_env_creator, parse_env_id, registry

from ..common.errors import BadInput, quoted
from ..common.imports import VARIABLE, import_modules, imported

NAMESPACE = "qwop"


TASKS = {
    "QWOP-v1": "qwop.envs.qwop.task:QWOPTask",
    "QWOPRace-v1": "qwop.envs.race.vector:RaceTask",
    "QWOPOriginal-v1": "qwop.envs.qwop.task:QWOPTask",
}
"""Our environments by short name, with the settings that make the task, which are stored with policies and datasets.
The others (of the original's page: browser, folder, address) come from the command line alone."""


PACKAGES = {"ALE/": "ale_py", "BabyAI-": "minigrid", "MiniGrid-": "minigrid"}
"""Packages, by the beginnings of their environments' ids, that Gymnasium does not find until they are imported."""

AS_RELEASED = "obs_type"
"""Setting with which an Atari game is ale-py's own environment. Without it, it has the usual preprocessing."""


CHOICES = ("desc", "difficulty", "map_name", "mode", "obs_type", "observation", "reward", "reward_type")
"""Settings of environments that are chosen by a word: FrozenLake's map, the observations of an Atari game."""

NEVER = (
    "autoreset_mode", "disable_env_checker", "height", "id", "num_envs", "render_fps", "render_mode", "vector_kwargs",
    "vectorization_mode", "width", "wrappers",
)  # fmt: skip
"""Arguments of Gymnasium's `make` and `make_vec`, and sizes of pictures: they are not part of a task."""

LARGEST = 1_000_000
"""Largest number that a file may set."""

MOST = 64
"""Largest number of settings of an environment, and of items in a list."""

_ID = re.compile(r"(?=.{1,128}$)([\w-]+/)?[\w.-]*\w")
"""Gymnasium's ids, without a module: letters of any alphabet, but no path and nothing that a terminal obeys."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")

_VERSION = re.compile(r"-v\d+$")


def registered_id(id: str, settings: Collection[str] = ()) -> str:
    """Return the id under which Gymnasium is sure to find the environment with settings of these names.

    An id without a version is that of the highest one. `QWOP-v1` is ours wherever the project stores it, even if
    another package has registered that name too. Atari's games are registered a second time, with the preprocessing of
    `qwop.envs.atari`.
    """
    for beginning, package in PACKAGES.items():
        if id not in registry and id.startswith(beginning):
            with suppress(ImportError):
                importlib.import_module(package)
    if id not in registry and (modules := imported()):
        import_modules(modules, f"{VARIABLE}={','.join(modules)}")
    if id not in registry:
        with suppress(gymnasium.error.Error):  # which `make` raises again
            namespace, name, version = parse_env_id(id)
            if version is None:
                id = get_env_id(namespace, name, find_highest_version(namespace, name))
    if id.startswith("ALE/") and id in registry and AS_RELEASED not in settings:
        preprocessed = f"{NAMESPACE}-{id}"
        if preprocessed not in registry:
            gymnasium.register(
                preprocessed,
                entry_point="qwop.envs.atari:AtariEnv",
                vector_entry_point="qwop.envs.atari:AtariVectorEnv",
                kwargs={"game": registry[id].kwargs["game"]},
            )
        return preprocessed
    return f"{NAMESPACE}/{id}" if id in TASKS else id


def stored_id(id: str) -> str:
    """Return the id as the project stores it: with its version, as the newest is another one some day, and without the
    namespace if the environment is one of ours. BadInput as for `readable_id`."""
    name = readable_id(id)
    if name in registry or name in TASKS or _VERSION.search(name):
        return name
    return readable_id(registered_id(name).removeprefix(f"{NAMESPACE}-"))


def readable_id(value: Any) -> str:
    """The id of an environment, as the project stores it; BadInput for one that no file may name."""
    name = value.removeprefix(f"{NAMESPACE}/").removeprefix(f"{NAMESPACE}:") if isinstance(value, str) else ""
    id = name if name in TASKS else value
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise BadInput(
            f"environment {quoted(value)}: expected the id of a registered environment, such as QWOP-v1, of at most "
            "128 letters, digits, -, _ and ., with no more than one / (after a namespace)"
        )
    return id


def task_of(id: str) -> Any:
    """The class of the settings that make the task of one of our environments; None for others."""
    return load_env_creator(TASKS[id]) if id in TASKS else None  # imported here: it brings the engine


def environment_in_file(data: Any, overrides: Collection[str] = ()) -> tuple[str, dict[str, Any]]:
    """Id and settings of the environment that a file describes as `{"id": …, "settings": {…}}`.

    Raises BadInput for anything that a file may not set, except settings whose names are in `overrides` (on the
    command line), which are left out. Imports nothing that the file names and makes no environment.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("settings"), Mapping):
        raise BadInput(f"environment is {quoted(data)}, expected its id and its settings")
    id = readable_id(data.get("id"))
    settings: Mapping[Any, Any] = data["settings"]
    if len(settings) > MOST:
        raise BadInput(f"environment {id}: {len(settings):,} settings, expected at most {MOST}")
    values, task = {}, task_of(id)
    own = None if task is None else task.model_fields
    for name, value in settings.items():
        allowed = isinstance(name, str) and _NAME.fullmatch(name) and name not in NEVER and (own is None or name in own)
        if allowed and _harmless(value, name in CHOICES):
            values[name] = value
        elif name not in overrides:
            setting = f"environment.{quoted(name, 30)}=…"
            remedy = (
                f"it may set {', '.join(own)}; the command line gives the others ({setting})"
                if own is not None and not allowed
                else "register an environment that has it (kwargs of gymnasium.register) or, to read a file that you "
                f"trust, give it on the command line ({setting})"
            )
            raise BadInput(f"environment {id}: {quoted(name)}={quoted(value)}: a file may not set that; {remedy}")
    if task is not None:
        task(**values)
    return id, values


def _harmless(value: Any, choice: bool) -> bool:
    """True for a plain number or truth, a list of them, and, where the setting is a choice, for words."""
    if isinstance(value, list | tuple):
        return len(value) <= MOST and all(not isinstance(one, list | tuple) and _harmless(one, choice) for one in value)
    if isinstance(value, str):
        return choice and _WORD.fullmatch(value) is not None
    if isinstance(value, bool) or value is None:
        return True
    return isinstance(value, int | float) and -LARGEST <= value <= LARGEST  # not NaN


def _register(name: str, **form: Any) -> None:
    """Register one of our environments, which check every call themselves: Gymnasium's wrappers would take time."""
    for id in (f"{NAMESPACE}/{name}", name):
        if id not in registry:
            gymnasium.register(id, order_enforce=False, disable_env_checker=True, **form)


_register(
    "QWOP-v1",
    entry_point="qwop.envs.qwop.env:QWOPEnv",
    vector_entry_point="qwop.envs.qwop.vector:QWOPVectorEnv",
    # The default reward pays 2 for each of about 990 units to the line; a landing may leave the torso behind it.
    reward_threshold=1950.0,
)
_register("QWOPRace-v1", vector_entry_point="qwop.envs.race.vector:QWOPRaceVectorEnv")
_register("QWOPOriginal-v1", entry_point="qwop.envs.original.env:QWOPOriginalEnv")

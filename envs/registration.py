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
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.envs.registration import find_highest_version, get_env_id, load_env_creator, parse_env_id, registry

from ..common.errors import BadInput, quoted
from ..common.imports import VARIABLE, import_modules, imported

NAMESPACE = "qwop"


@dataclass(frozen=True)
class _Registration:
    """entry_point, vector_entry_point: module and class; races have only a vector form. reward_threshold: mean return
    at which the task is solved. task: the settings that make the task, which are stored with policies and datasets; the
    others (of the original's page: browser, folder, address) come from the command line alone. checked_by: module and
    class that refuses wrong values of them.
    """

    entry_point: str | None
    task: tuple[str, ...]
    vector_entry_point: str | None = None
    checked_by: str = "qwop.envs.qwop.task:QWOPTask"
    reward_threshold: float | None = None


_TASK = (
    "frames_per_step", "reward", "observation_lag", "max_idle_frames", "time_limit", "observation", "stack", "size",
    "colour", "shaping", "fall_penalty", "push_penalty", "delay",
)  # fmt: skip

_RACE = ("runners", "frames_per_step", "observation", "max_idle_frames", "time_limit", "weights")

REGISTERED = {
    "QWOP-v1": _Registration(
        "qwop.envs.qwop.env:QWOPEnv",
        _TASK,
        "qwop.envs.qwop.vector:QWOPVectorEnv",
        # The default reward pays 2 for each of about 990 units to the line; a landing may leave the torso behind it.
        reward_threshold=1950.0,
    ),
    "QWOPRace-v1": _Registration(
        None, _RACE, "qwop.envs.race.vector:QWOPRaceVectorEnv", checked_by="qwop.envs.race.task:RaceTask"
    ),
    "QWOPOriginal-v1": _Registration("qwop.envs.original.env:QWOPOriginalEnv", _TASK),
}
"""Registered environments, by short name."""


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


def register_environments() -> None:
    """Register every environment that is not registered yet."""
    for name, registration in REGISTERED.items():
        for id in (f"{NAMESPACE}/{name}", name):
            if id not in registry:
                gymnasium.register(
                    id,
                    entry_point=registration.entry_point,
                    vector_entry_point=registration.vector_entry_point,
                    reward_threshold=registration.reward_threshold,
                    # They check every call themselves, so Gymnasium's wrappers would only take time.
                    order_enforce=False,
                    disable_env_checker=True,
                )


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
        id = _newest(id)
    if id.startswith("ALE/") and id in registry and AS_RELEASED not in settings:
        return _registered_preprocessed(id)
    return f"{NAMESPACE}/{id}" if id in REGISTERED else id


def _newest(id: str) -> str:
    """The highest version of an environment whose id has none; else the id."""
    try:
        namespace, name, version = parse_env_id(id)
    except gymnasium.error.Error:  # which `make` raises again
        return id
    return get_env_id(namespace, name, find_highest_version(namespace, name)) if version is None else id


def _registered_preprocessed(id: str) -> str:
    """Register an Atari game with its preprocessing, unless it is; return its id."""
    name = f"{NAMESPACE}-{id}"
    if name not in registry:
        gymnasium.register(
            name,
            entry_point="qwop.envs.atari:AtariEnv",
            vector_entry_point="qwop.envs.atari:AtariVectorEnv",
            kwargs={"game": registry[id].kwargs["game"]},
        )
    return name


def stored_id(id: str) -> str:
    """Return the id as the project stores it: with its version, as the newest is another one some day, and without the
    namespace if the environment is one of ours."""
    name = short_id(id)
    if name in registry or _VERSION.search(name) or name in REGISTERED:
        return name
    return short_id(registered_id(name).removeprefix(f"{NAMESPACE}-"))


def short_id(id: str) -> str:
    """Return the id without the namespace, if the environment is one of ours."""
    name = id.removeprefix(f"{NAMESPACE}/").removeprefix(f"{NAMESPACE}:")
    return name if name in REGISTERED else id


def environment_in_file(data: Any, given: Collection[str] = (), to_write: bool = False) -> tuple[str, dict[str, Any]]:
    """Id and settings of the environment that a file describes as `{"id": …, "settings": {…}}`.

    Raises BadInput for anything that a file may not set, except settings whose names are `given` elsewhere (on the
    command line), which are left out. Imports nothing and makes no environment. to_write: for a file that is yet to be
    written.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("settings"), Mapping):
        raise BadInput(f"environment is {quoted(data)}, expected its id and its settings")
    id = known_form(data.get("id"))
    settings: Mapping[Any, Any] = data["settings"]
    if len(settings) > MOST:
        raise BadInput(f"environment {id}: {len(settings):,} settings, expected at most {MOST}")
    values = {}
    own = REGISTERED[id].task if id in REGISTERED else None
    for name, value in settings.items():
        allowed = isinstance(name, str) and _NAME.fullmatch(name) and name not in NEVER and (own is None or name in own)
        if allowed and _harmless(value, name in CHOICES):
            values[name] = value
        elif name not in given:
            setting = f"environment {id}: {quoted(name)}={quoted(value)}"
            raise BadInput(f"{setting}: a file may not set that; {_remedy(id, name, bool(allowed), to_write)}")
    if id in REGISTERED:
        load_env_creator(REGISTERED[id].checked_by)(**values)  # imported only here, because it brings the engine
    return id, values


def known_form(value: Any) -> str:
    """The id of an environment, as the project stores it; BadInput for one that no file may name."""
    id = short_id(value) if isinstance(value, str) else ""
    if not _ID.fullmatch(id):
        raise BadInput(
            f"environment {quoted(value)}: expected the id of a registered environment, such as QWOP-v1, of at most "
            "128 letters, digits, -, _ and ., with no more than one / (after a namespace)"
        )
    return id


def _harmless(value: Any, choice: bool) -> bool:
    """True for a plain number or truth, a list of them, and, where the setting is a choice, for words."""
    if isinstance(value, list | tuple):
        return len(value) <= MOST and all(not isinstance(one, list | tuple) and _harmless(one, choice) for one in value)
    if isinstance(value, str):
        return choice and _WORD.fullmatch(value) is not None
    if isinstance(value, bool) or value is None:
        return True
    return isinstance(value, int | float) and -LARGEST <= value <= LARGEST  # not NaN


def _remedy(id: str, name: Any, allowed: bool, to_write: bool) -> str:
    if id in REGISTERED and not allowed:
        names: Sequence[str] = REGISTERED[id].task
        return f"it may set {', '.join(names)}; the command line gives the others (environment.{quoted(name, 30)}=…)"
    if to_write:
        return "register an environment that has it (kwargs of gymnasium.register), and name that one"
    setting = quoted(name, 30)
    return (
        f"give it on the command line if you trust it (environment.{setting}=…) or, for files that are to hold it, "
        "register an environment that has it (kwargs of gymnasium.register)"
    )


register_environments()

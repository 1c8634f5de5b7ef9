"""The project's environments in Gymnasium's registry.

Each is registered in a namespace of its own, `qwop/QWOP-v1`, which is what the project's own code makes, and under its
short name, `QWOP-v1`, unless another package has taken that name. (Gymnasium 1.0 dropped the entry point through which
packages used to register themselves, so importing this module registers them: `import qwop` does where Gymnasium was
imported before, and `gymnasium.make("qwop:QWOP-v1")`.)

Environments of other packages are looked for in two places when their id is not registered yet: a few well-known
packages, and modules that the user has named (`common.imports`).
"""

import importlib
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from gymnasium import error as gymnasium_error
from gymnasium.envs.registration import find_highest_version, get_env_id, parse_env_id, register, registry

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


_VERSION = re.compile(r"-v\d+$")


def register_environments() -> None:
    """Register every environment that is not registered yet."""
    for name, registration in REGISTERED.items():
        for id in (f"{NAMESPACE}/{name}", name):
            if id not in registry:
                register(
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
    except gymnasium_error.Error:  # which `make` raises again
        return id
    return get_env_id(namespace, name, find_highest_version(namespace, name)) if version is None else id


def _registered_preprocessed(id: str) -> str:
    """Register an Atari game with its preprocessing, unless it is; return its id."""
    name = f"{NAMESPACE}-{id}"
    if name not in registry:
        register(
            name,
            entry_point="qwop.envs.atari.env:AtariEnv",
            vector_entry_point="qwop.envs.atari.vector:AtariVectorEnv",
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


register_environments()

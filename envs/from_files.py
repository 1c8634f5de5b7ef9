"""Environments described by files, and limits on these descriptions.

Policies, datasets and checkpoints are exchanged, so they are data: reading one never starts a program, opens a path or
an address, or imports a module that the file chose. A file names an environment by an id without a module
(`module:Name` has one), so that only environments already in Gymnasium's registry are found. It may only set values
that cannot name programs, paths, addresses or modules: for our own environments the settings listed with their
registration, for others numbers, true and false, and words for settings known to be choices. Everything else is given
on the command line.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gymnasium.envs.registration import load_env_creator

from ..common.errors import BadInput, quoted
from .registration import REGISTERED, short_id

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

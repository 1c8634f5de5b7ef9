"""Comparison of a resumed run's settings with those that it was started with."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .checks import quoted
from .errors import BadInput
from .former_names import current_settings
from .reading import MEGABYTE, parse_yaml, read_text
from .settings import Settings, declarations, defaults

NAME = "name"
"""Key of the option that was chosen in a group, which decides what else is in it."""

LONGEST = 500
"""Characters of a setting's value in a message: two lists may differ late."""


def settings_before(path: Path, cls: type[Settings]) -> dict[str, Any]:
    """Read the settings that a run was started with; settings that are new since then get their defaults."""
    before = {**defaults(cls), **read_settings(path)}
    return before | {name: {**given, **before[name]} for name, given in _of_chosen_options(before, cls)}


def _of_chosen_options(before: dict[str, Any], cls: type[Settings]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The defaults of each option that the settings choose, by the group's name."""
    for name, spec in declarations(cls).items():
        leader = spec.follows or name
        group = before.get(leader)
        chosen = group.get(declarations(cls)[leader].tag) if isinstance(group, dict) else None
        if isinstance(chosen, str) and chosen in spec.options and isinstance(before.get(name), dict):
            yield name, defaults(spec.options[chosen])


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings that a run was started with; BadInput for any other file."""
    text = read_text(path, MEGABYTE, "expected the settings of a run; start anew with another out")
    try:
        return current_settings(parse_yaml(text))
    except ValueError as error:
        raise BadInput(f"{path}: not the settings of a run ({error}); start anew with another out") from None


def require_same(before: object, now: object, name: str, out: Path) -> None:
    """BadInput, naming the setting, unless the setting is the same, and everything in it."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys(), key=lambda key: (key != NAME, key)):
            require_same(before.get(key), now.get(key), f"{name}.{quoted(key)}", out)
    elif before != now:
        raise BadInput(
            f"{out}: was started with {name}: {quoted(before, LONGEST)}, not {quoted(now, LONGEST)}; go on with that, "
            "or start anew with another out"
        )

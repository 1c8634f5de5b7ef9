"""The command line that gives some settings, for reports that say how they were made."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from .settings import Settings, changes, join


def command_line(program: str, settings: Settings, first: str = "") -> str:
    """The command line that gives these settings; those that are the default are left out.

    first: a setting that the program takes without its name, in front of the others.
    """
    given = changes(settings)
    words = [*program.split(), *([str(given.pop(first))] if first else [])]
    return shlex.join([*words, *_overrides(settings, given)])


def _overrides(settings: Settings, given: Mapping[str, Any], place: str = "") -> Iterator[str]:
    for name, value in given.items():
        inner = getattr(settings, name, None)
        if isinstance(inner, Settings):
            yield from _overrides(inner, value, join(place, name))
        else:
            yield f"{join(place, name)}={_in_words(value)}"


def _in_words(value: Any) -> str:
    """A value as the command line takes it: null, true, [1, 2], {a: 1}."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_in_words(one)}' for key, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_in_words, value))}]"
    return str(value)

"""Command lines that reproduce given settings, for reports, and that name the next step."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import chain, count
from pathlib import Path, PurePath
from typing import Any

from .files import own_name
from .imports import SETTING, imported
from .schema import Files, dotted, schema
from .settings import Settings

_PLAIN = re.compile(r"(?!(true|false|null|nan|inf)$)[A-Za-z][\w./-]*$", re.IGNORECASE)
"""A name that is read as it stands within brackets."""


def command_line(program: str, settings: Settings, first: str = "", *, without: tuple[str, ...] = ()) -> str:
    """The command line that gives these settings: the one that was typed, or one without defaults.

    first: a setting that the program takes without its name, in front of the others. without: settings to leave out,
    such as resume.
    """
    words = list(settings.words) if settings.words is not None else [*_words(settings, settings.changes())]
    line = [word for word in words if _name(word) not in (*without, first)]
    in_front = [str(getattr(settings, first))] if first else []
    if imported() and SETTING not in map(_name, line):
        line.append(override(SETTING, imported()))
    return shlex.join([*program.split(), *in_front, *line])


def next_command(program: str, **settings: object) -> str:
    """The line that names the command to run next, ready to be copied."""
    words = [override(name, value) for name, value in settings.items()]
    if modules := imported():
        words.append(override(SETTING, modules))
    return f"next: {shlex.join([*program.split(), *words])}"


def override(name: str, value: object) -> str:
    """The word of a command line that gives a setting this value: a text as it is, plain names as [a, b], anything else
    as JSON."""
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) and _PLAIN.match(one) for one in value):
        return f"{name}=[{', '.join(value)}]"
    text = str(value) if isinstance(value, str | PurePath) else json.dumps(value, default=str, ensure_ascii=False)
    in_quotes = text[:1] in ("'", '"') and text[-1:] == text[:1]
    return f"{name}={json.dumps(text) if isinstance(value, str) and (in_quotes or text == 'null') else text}"


def clone_next(dataset: Path) -> str:
    """The line that names the command for a new dataset: to clone its player into runs/NAME."""
    return next_command("qwop-pretrain", dataset=dataset, out=unused(Path("runs") / own_name(dataset)))


def unused(folder: Path) -> Path:
    """The folder for the output of a command to run next: this one, or runs/me-2, runs/me-3 … where it exists."""
    names = chain([folder], (folder.with_name(f"{folder.name}-{number}") for number in count(2)))
    return next(one for one in names if not one.exists())


def _name(word: str) -> str:
    return word.lstrip("+~").partition("=")[0]


def _words(settings: Settings, values: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Words that turn the defaults of this class into these settings."""
    for name, value in values.items():
        one, here, inner = schema(type(settings))[name], dotted(place, name), getattr(settings, name)
        if one.tag and not place and name not in settings.leaders:
            yield f"{here}={one.option(inner)}"
        if isinstance(inner, Settings) and not one.of(Files):
            yield from _words(inner, {key: each for key, each in value.items() if key != one.tag}, here)
        else:
            yield override(here, value)

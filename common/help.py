"""`--help` of a command: every setting of the chosen options, with its value, sentence and permitted values."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .checks import quoted
from .declared import Declared, Entries, declared, dotted, options_of
from .imports import HELP, SETTING
from .settings import Missing, Settings

if TYPE_CHECKING:
    from .command import Command

WIDEST = 120
"""Columns; lines longer than this are tiring to read."""

REQUIRED = "required"

LONGEST_VALUE = 400
"""Characters; the rest is cut off."""

Row = tuple[str, str, str, str]
"""A setting: its place, its value, its sentence, its permitted values."""

Section = tuple[str, str, list[Row]]
"""Settings that stand together: title, sentence, rows."""


def print_help(command: "Command[Any]", words: Sequence[str], console: Console | None = None) -> None:
    """Print the command's help for the options that a command line chooses. BadInput for a wrong line."""
    console = console or Console()
    console.width = min(console.width, WIDEST)
    console.print(help_page(command, words), highlight=False)


def help_page(command: "Command[Any]", words: Sequence[str]) -> RenderableType:
    """The text of `--help`."""
    node = command.compose(words)
    with suppress(Missing):
        command.checked(node, words)
    parts: list[RenderableType] = [Text(command.about), Text(), _heading("Examples")]
    for line, what in command.examples:
        parts.append(Padding(Text(line, style="green"), (0, 0, 0, 2)))
        parts += [Padding(Text(what, style="dim"), (0, 0, 0, 6))] if what else []
    if command.groups:
        parts += [Text(), _heading("Groups", "chosen by group=option"), _groups(command, node)]
    sections = [*_sections(command.settings, node, "", "Settings", "")]
    sections[0][2].append((SETTING, "[]", HELP, ""))
    for title, about, rows in sections:
        parts += [Text(), _heading(title, about), *_lines(rows)]
    end = "Any setting can be changed: name=value, as in seed=3 or hidden=[256,128]. "
    return Group(*parts, Text(), Text(f"{end}{command.program} --config prints the settings of a command line."))


@cache
def sentences(cls: type[BaseModel]) -> Mapping[str, str]:
    """The sentence of each setting: the text below it in the source, or the description of its type."""
    found = {name: one.description or "" for name, one in cls.model_fields.items()}
    for base in reversed(cls.__mro__):
        if issubclass(base, BaseModel) and base not in (BaseModel, Settings):
            found.update(_below(base))
    return found


def _below(cls: type) -> Iterator[tuple[str, str]]:
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body  # type: ignore[attr-defined]
    except (OSError, TypeError, SyntaxError):  # typed into a terminal, or made while running
        return
    for one, after in pairwise(body):
        text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and isinstance(text, str):
            yield one.target.id, " ".join(text.split())


def _sections(cls: type[BaseModel], node: Mapping[str, Any], place: str, title: str, about: str) -> Iterator[Section]:
    """The settings of a class with the values of a configuration, then those of the settings within it."""
    own: list[Row] = []
    inner: list[Iterator[Section]] = []
    for name, one in declared(cls).items():
        here, sentence, value = dotted(place, name), sentences(cls)[name], node.get(name)
        if (inside := one.inside(value if value is not None else {})) is not None:
            title_here = (
                f"{here}={_chosen(one, value)}" if one.options and name not in getattr(cls, "followed", ()) else here
            )
            about_here = _first_sentence(inside) if one.options else sentence
            inner.append(_sections(inside, value if isinstance(value, Mapping) else {}, here, title_here, about_here))
        elif (entries := one.of(Entries)) is not None:
            given = value if isinstance(value, Mapping) else {}
            own.append((here, ", ".join(map(str, given)) or REQUIRED, sentence, one.bounds))
            own += [(dotted(here, str(key)), "", quoted(each, LONGEST_VALUE), "") for key, each in given.items()]
            inner.append(_of_entries(entries.cls, f"{here}.<name>"))
        elif not (one.options or _is_tag(cls, name)):
            own.append((here, _value(one, node), sentence, one.bounds))
    yield title, about, own
    for several in inner:
        yield from several


def _of_entries(cls: type[BaseModel], place: str) -> Iterator[Section]:
    """The settings of each entry of a mapping, with their defaults."""
    rows = [
        (f"….{name}", _value(one, {}), sentences(cls)[name], one.bounds)
        for name, one in declared(cls).items()
        if name != "name"
    ]
    yield place, _first_sentence(cls), rows


def _is_tag(cls: type[BaseModel], name: str) -> bool:
    """True for the setting that says which option of a group these settings are."""
    return name in ("name", "kind") and isinstance(cls.model_fields[name].default, str)


def _chosen(one: Declared, value: object) -> str:
    return one.chosen(value if isinstance(value, Mapping) else {})


def _value(one: Declared, node: Mapping[str, Any]) -> str:
    if one.name in node:
        return quoted(node[one.name], LONGEST_VALUE)
    return REQUIRED if one.info.is_required() else quoted(one.default, LONGEST_VALUE)


def _groups(command: "Command[Any]", node: Mapping[str, Any]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, one in command.groups.items():
        value = node.get(name)
        chosen = _chosen(one, value) if one.options else ""
        options = Text(", ").join(Text(each, style="bold" if each == chosen else "") for each in options_of(name, one))
        state = f"chosen: {chosen}" if chosen else "chosen" if value else "required"
        said = sentences(command.settings)  # type: ignore[arg-type]  # mypy takes type[Any] for one that has no hash
        about = f"{said[name]} ({state})"
        table.add_row(Text(f"{name}=", style="bold cyan"), Group(options, Text(about, style="dim")))
    return Padding(table, (0, 0, 0, 2))


def _lines(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Place, value and permitted values of each setting, and its sentence below."""
    for place, value, sentence, permitted in rows:
        prefix, dot, name = place.rpartition(".")
        shown = (value, "yellow" if value == REQUIRED else "green")
        bounds = (f"  [{permitted}]" if permitted else "", "dim")
        yield Padding(Text.assemble((prefix + dot, "cyan"), (name, "bold cyan"), "  ", shown, bounds), (0, 0, 0, 2))
        yield Padding(Text(sentence), (0, 0, 0, 6))


def _heading(title: str, about: str = "") -> Text:
    return Text.assemble((title, "bold underline"), f"  {about}" if about else "")


def _first_sentence(cls: type[BaseModel]) -> str:
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())

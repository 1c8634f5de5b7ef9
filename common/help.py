"""`--help` of a command: every setting of the composed configuration, with its value, sentence and permitted values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_origin

from omegaconf import OmegaConf
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .checks import Declaration, quoted, span, without_none
from .free_names import with_decoded_names
from .imports import HELP, SETTING
from .settings import NOT_SET, Settings, declarations, defaults, dotted, is_settings, options_of, type_of

if TYPE_CHECKING:
    from .command import Command

WIDEST = 120
"""Columns; lines longer than this are tiring to read."""

NARROW = 42
"""Columns; where less is left beside name and value, the sentence stands below them."""

WIDEST_VALUE = 14
"""Columns; longer values wrap."""

REQUIRED = "required"

LONGEST_VALUE = 400
"""Characters; the rest is cut off."""


@dataclass(frozen=True)
class Entry:
    """One setting as `--help` shows it."""

    place: str
    value: str
    help: str
    permitted: str


@dataclass(frozen=True)
class Section:
    """Settings that stand together. place: what their names begin with, '' for the command's own."""

    place: str
    title: str
    about: str
    entries: tuple[Entry, ...]


def print_help(command: "Command[Any]", overrides: Sequence[str], console: Console | None = None) -> None:
    """Print the command's help for the groups that the overrides choose."""
    console = console or Console()
    console.width = min(console.width, WIDEST)
    console.print(help_page(command, overrides, console.width), highlight=False)


def help_page(command: "Command[Any]", overrides: Sequence[str], width: int) -> RenderableType:
    """The text of `--help`, `width` columns wide. BadInput for overrides that cannot be composed."""
    node = with_decoded_names(OmegaConf.to_container(command.compose(overrides), resolve=False))
    parts: list[RenderableType] = [Text(command.about), Text()]
    parts += [_heading("Examples"), *_examples(command), Text()]
    if groups := list(_groups(command.settings, overrides)):
        parts += [_heading("Groups", "chosen by group=option"), *groups, Text()]
    shown = sections(command.settings, node)
    entries = [entry for section in shown for entry in section.entries]
    names, values = max(len(one.place) for one in entries), max(len(one.value) for one in entries)
    values = min(values, WIDEST_VALUE)
    for section in shown:
        beside = width - names - values - 6 >= NARROW
        settings = _table(section, names, values) if beside else _stack(section, names)
        parts += [_heading(section.title, section.about), settings, Text()]
    end = "Any setting can be changed: name=value, as in seed=3 or hidden=[256,128]. "
    parts.append(Text(end + f"{command.program} --cfg job prints the configuration, --hydra-help Hydra's own options."))
    return Group(*parts)


def sections(cls: type[Settings], node: Mapping[str, Any]) -> list[Section]:
    """The settings of a configuration: those of `cls` itself, then those of each group in it."""
    own, inner = _walk(cls, node, "")
    return [Section("", "Settings", "", (*own, Entry(SETTING, "[]", HELP, ""))), *inner]


def _walk(cls: type[Settings], node: Mapping[str, Any], place: str) -> tuple[list[Entry], list[Section]]:
    own: list[Entry] = []
    inner: list[Section] = []
    node = {**defaults(cls), **node}  # a group's file leaves out what it does not change
    for name, spec in declarations(cls).items():
        here, hint = dotted(place, name), type_of(cls, name)
        if spec.inline:
            entries, below = _walk(hint, node, place)
            own += entries
            inner += below
        elif spec.options:
            inner += _option(cls, name, node, here)
        elif is_settings(kind := without_none(hint)):
            value = node.get(name)
            entries, below = _walk(kind, value if isinstance(value, Mapping) else defaults(kind), here)
            inner += [Section(here, here, spec.help, tuple(entries)), *below]
        else:
            value = node[name]
            own.append(Entry(here, _value(value, spec), spec.help, _permitted(hint, spec)))
            if spec.entries is not None:
                given = value.items() if isinstance(value, Mapping) else ()
                own += [Entry(dotted(here, key), "", quoted(one, LONGEST_VALUE), "") for key, one in given]
                inner.append(_entries(spec.entries, f"{here}.<name>"))
    return own, inner


def _option(cls: type[Settings], name: str, node: Mapping[str, Any], here: str) -> Iterator[Section]:
    spec = declarations(cls)[name]
    group = node.get(spec.follows or name)
    tag = declarations(cls)[spec.follows or name].tag
    if not isinstance(group, Mapping) or group.get(tag) not in spec.options:
        return
    made = spec.options[group[tag]]
    entries, below = _walk(made, node.get(name) or {}, here)
    title = f"{here}={group[tag]}" if spec.tag else here
    yield Section(here, title, _first_sentence(made) if spec.tag else spec.help, tuple(entries))
    yield from below


def _entries(cls: type[Settings], here: str) -> Section:
    """The settings of each entry of a mapping, with their defaults."""
    given = defaults(cls)
    shown = [
        Entry(f"….{name}", _value(given[name], spec), spec.help, _permitted(type_of(cls, name), spec))
        for name, spec in declarations(cls).items()
        if name != "name"
    ]
    return Section(here, here, _first_sentence(cls), tuple(shown))


def _groups(cls: type[Settings], overrides: Sequence[str]) -> Iterator[RenderableType]:
    table = Table.grid(padding=(0, 2))
    asked = dict(override.lstrip("+").split("=", 1) for override in overrides if "=" in override)
    for name, spec in declarations(cls).items():
        if not (spec.tag or spec.group):
            continue
        chosen = asked.get(name, spec.example if spec.tag else None)
        options = Text(", ").join(
            Text(one, style="bold green" if one == chosen else "") for one in options_of(name, spec)
        )
        says = f"chosen: {chosen}" if chosen else "required"
        table.add_row(Text(f"{name}=", style="bold cyan"), Group(options, Text(f"{spec.help} ({says})", style="dim")))
    if table.row_count:
        yield Padding(table, (0, 0, 0, 2))


def _examples(command: "Command[Any]") -> Iterator[RenderableType]:
    for line, what in command.examples:
        yield Padding(Text(line, style="green"), (0, 0, 0, 2))
        if what:
            yield Padding(Text(what, style="dim"), (0, 0, 0, 6))


def _table(section: Section, names: int, values: int) -> RenderableType:
    """A row for each setting: name, value, sentence."""
    table = Table.grid(padding=(0, 2))
    table.add_column(min_width=names, no_wrap=True)
    table.add_column(overflow="fold", min_width=values, max_width=values)
    table.add_column(ratio=1, overflow="fold")
    for entry in section.entries:
        sentence = Text(entry.help)
        if entry.permitted:
            sentence.append(f" [{entry.permitted}]", style="dim")
        table.add_row(_name(entry.place), _colored(entry.value), sentence)
    return Padding(table, (0, 0, 0, 2))


def _stack(section: Section, names: int) -> RenderableType:
    """Two lines or more for each setting: name, value and permitted values, then the sentence."""
    lines: list[RenderableType] = []
    for entry in section.entries:
        table = Table.grid(padding=(0, 2))
        table.add_column(min_width=names, no_wrap=True)
        table.add_column(ratio=1, overflow="fold")
        permitted = (f"  [{entry.permitted}]" if entry.permitted else "", "dim")
        table.add_row(_name(entry.place), Text.assemble(_colored(entry.value), permitted))
        lines += [Padding(table, (0, 0, 0, 2)), Padding(Text(entry.help), (0, 0, 0, 6))]
    return Group(*lines)


def _name(place: str) -> Text:
    prefix, _, name = place.rpartition(".")
    return Text.assemble((f"{prefix}." if prefix else "", "cyan"), (name, "bold cyan"))


def _colored(value: str) -> Text:
    return Text(value, style="yellow" if value == REQUIRED else "green")


def _heading(title: str, about: str = "") -> Text:
    return Text.assemble((title, "bold underline"), f"  {about}" if about else "")


def _value(value: object, spec: Declaration) -> str:
    if isinstance(value, str) and value == NOT_SET:
        return REQUIRED
    if spec.entries is not None and isinstance(value, Mapping):
        return ", ".join(map(str, value))
    return quoted(value, LONGEST_VALUE)


def _permitted(hint: Any, spec: Declaration) -> str:
    """The permitted values as briefly as possible; empty where the value itself shows them."""
    if spec.expected:
        return spec.expected
    if spec.choices:
        return " | ".join(map(quoted, spec.choices))
    bounds = span(spec, signs=True)
    return f"each {bounds}" if bounds and get_origin(without_none(hint)) in (tuple, list) else bounds


def _first_sentence(cls: type[Settings]) -> str:
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())

"""`--help` of a command: every setting of the chosen options, with its value, sentence and permitted values."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic._internal._docs_extraction import extract_docstrings_from_cls
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from .errors import quoted
from .imports import HELP, SETTING
from .schema import Entries, dotted, options_of, schema
from .settings import Settings

if TYPE_CHECKING:
    from .command import Command

WIDEST, LONGEST_VALUE = 120, 400
"""Columns, longer lines being tiring to read; and characters of a value, of which the rest is cut off."""

PLAIN = ("true or false", "a number", "a text", "a list of numbers", "a list of texts", "settings")
"""Permitted values that the value itself shows."""


Line = tuple[int, Text]
"""The columns by which a text is indented, and the text."""


def print_help(command: "Command[Any]", words: Sequence[str], console: Console | None = None) -> None:
    """Print the command's help for the options that a command line chooses, with its settings, right or wrong."""
    console = console or Console()
    console.width = min(console.width, WIDEST)
    for columns, text in _page(command, words):
        console.print(Padding(text, (0, 0, 0, columns)), highlight=False)


@cache
def sentences(cls: type[BaseModel]) -> Mapping[str, str]:
    """The sentence of each setting: the text below it in the source, or the description of its type."""
    texts = {name: one.description or "" for name, one in cls.model_fields.items()}
    for base in reversed(cls.__mro__):
        texts.update(extract_docstrings_from_cls(base, use_inspect=True) if issubclass(base, Settings) else {})
    return {name: " ".join(text.split()) for name, text in texts.items()}


def _page(command: "Command[Any]", words: Sequence[str]) -> Iterator[Line]:
    node = command.compose(words)
    yield 0, Text(command.about)
    yield _heading("Examples")
    for line, what in command.examples:
        yield 2, Text(line, style="green")
        if what:
            yield 6, Text(what, style="dim")
    if command.groups:
        yield _heading("Groups", "chosen by group=option")
    for name, one in command.groups.items():
        option = one.option(node.get(name, {}))
        options = [Text(each, style="bold" if each == option else "") for each in options_of(one)]
        state = f"chosen: {option}" if option else "chosen" if name in node else "required"
        yield 2, Text.assemble((f"{name}=", "bold cyan"), "  ", Text(", ").join(options))
        yield 6, Text(f"{sentences(command.settings)[name]} ({state})")  # type: ignore[arg-type]
    yield from _section(command.settings, node, "", _heading("Settings"))
    yield _heading("For every command")
    yield from _setting(SETTING, "[]", HELP)
    end = "Any setting can be changed: name=value, as in seed=3 or hidden=[256,128]."
    yield 0, Text(f"\n{end} {command.program} --config prints the settings of a command line.")


def _section(cls: type[BaseModel], node: object, place: str, heading: Line) -> Iterator[Line]:
    """The settings of a class with the values of a configuration, then those of the settings within it."""
    yield heading
    node, inner = node if isinstance(node, Mapping) else {}, list[Iterator[Line]]()
    for name, one in schema(cls).items():
        here, sentence, value = dotted(place, name), sentences(cls)[name], node.get(name)
        if (inside := one.within({} if value is None else value)) is not None:
            chosen = one.options and name not in getattr(cls, "leaders", ())
            title = f"{here}={one.option(value or {})}" if chosen else here
            about = _first_sentence(inside) if one.options else sentence
            inner.append(_section(inside, value, here, _heading(title, about)))
        elif (entries := one.of(Entries)) is not None:
            items = value if isinstance(value, Mapping) else {}
            yield from _setting(here, ", ".join(map(str, items)) or "required", sentence)
            for key, each in items.items():
                yield from _setting(dotted(here, str(key)), "", quoted(each, LONGEST_VALUE))
            here = f"{here}.<name>"
            inner.append(_section(entries.cls, {}, here, _heading(here, _first_sentence(entries.cls))))
        elif not (one.options or name in ("name", "kind")):
            default = "required" if one.info.is_required() else one.default
            text, words = quoted(node.get(name, default), LONGEST_VALUE), one.in_words.removesuffix(", or null")
            yield from _setting(here, text, sentence, "" if words in PLAIN else words)
    for several in inner:
        yield from several


def _setting(place: str, value: str, sentence: str, words: str = "") -> Iterator[Line]:
    """Place, value and permitted values (`words`) of a setting, and its sentence below."""
    colour = "yellow" if value == "required" else "green"
    yield 2, Text.assemble((place, "bold cyan"), "  ", (value, colour), (f"  [{words}]" if words else "", "dim"))
    yield 6, Text(sentence)


def _heading(title: str, about: str = "") -> Line:
    return 0, Text.assemble("\n", (title, "bold underline"), f"  {about}" if about else "")


def _first_sentence(cls: type[BaseModel]) -> str:
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())

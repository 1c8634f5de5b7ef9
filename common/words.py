"""The words of a command line: settings, and the values that a person types."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from .reading import parse_yaml
from .schema import Entries, Setting, places, schema
from .settings import NoSuchSetting

MOST_BRACKETS = 200
"""Brackets of a value that is read as JSON; what is nested far deeper could not be printed in a message."""


def put(cls: type[BaseModel], node: dict[str, Any], name: str, text: str, *, new: bool) -> Any:
    """Put the value that a person typed into plain data, and return it. new: an entry may have any name.

    NoSuchSetting for a name that is none.
    """
    try:
        value = inside = value_of(text, _setting_at(cls, name.split("."), node, new=new))
    except LookupError:
        raise NoSuchSetting(name, [*places(cls, node)]) from None
    for part in reversed(name.split(".")):
        inside = {part: inside}
    merge(node, inside)
    return value


def _setting_at(cls: type[BaseModel], parts: list[str], node: Any, *, new: bool) -> Setting | None:
    """The setting with this name, of which these are the parts; None where there is none, or its name is free.

    Of a group it is that of the first option which has such a setting, the chosen one if it does. new: an entry may
    have any name. LookupError for another one, and for a part of what has none.
    """
    one = schema(cls).get(parts[0])
    if one is None or len(parts) == 1:
        return one
    value = node.get(parts[0]) if isinstance(node, Mapping) else None
    if (entries := one.of(Entries)) is not None:
        names = value if isinstance(value, Mapping) else {}
        if parts[1] not in names and not new:
            raise LookupError(parts[1])
        return _setting_at(entries.cls, parts[2:], names.get(parts[1]), new=True) if parts[2:] else None
    inside = [each for each in (one.within(value or {}), *one.options.values()) if each is not None]
    if not inside and get_origin(one.kind) is None:
        raise LookupError(parts[1])
    several = (_setting_at(each, parts[1:], value, new=new) for each in inside)
    return next((each for each in several if each is not None), None if inside else one)


def value_of(text: str, setting: Setting | None) -> Any:
    """The value that a person typed: of a text its characters, else what Hydra's grammar reads, or the characters."""
    kind: Any = None if setting is None else setting.kind
    items = get_args(kind)
    if kind is str or (get_origin(kind) is Literal and isinstance(items[0], str)):
        return None if text == "null" else unquoted(text)
    if get_origin(kind) is Mapping and items[1] is not Any:
        return _texts(text) if text[:1] in ("[", "{") else None if text == "null" else unquoted(text)
    if get_origin(kind) is tuple and "str" in str(items[0]) and (text[:1], text[-1:]) == ("[", "]"):
        return [unquoted(one.strip()) for one in _items(text[1:-1])]
    return _parse(text)


_ITEM = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?:[^,()\[\]{}]|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\})+"""


def _items(text: str) -> list[str]:
    """The texts between commas, of which those in quotes and brackets are part of a text."""
    items = re.findall(rf"({_ITEM})(?:,|$)", text)
    return items if len(",".join(items)) >= len(text) - text.endswith(",") else text.split(",")


def _texts(text: str) -> Any:
    """Texts in brackets or braces, whatever they look like."""
    import yaml

    try:
        return yaml.load(f"x: {text}", Loader=yaml.BaseLoader)["x"]
    except yaml.YAMLError:
        return text


def unquoted(text: str) -> str:
    """The text without the quotes around it, if there are any."""
    value = _parse(text) if text[:1] in ("'", '"') and text[-1:] == text[:1] else text
    return value if isinstance(value, str) else text


def _parse(text: str) -> Any:
    """The value as JSON, else by Hydra's grammar; else, in brackets or braces, by YAML's; else the text itself."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    if text.count("[") + text.count("{") < MOST_BRACKETS:
        with suppress(ValueError):
            return json.loads(text)
    with suppress(HydraException, ValueError, RecursionError):
        override = OverridesParser.create().parse_override(f"x={text}")
        if not override.is_sweep_override():
            return override.value()
    with suppress(ValueError):
        return parse_yaml(f"x: {text}")["x"] if text[:1] in ("[", "{") else text
    return text


def merge(node: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put settings into others, in place, where both have settings within them, too."""
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(node.get(name), dict):
            merge(node[name], value)
        else:
            node[name] = dict(value) if isinstance(value, Mapping) else value

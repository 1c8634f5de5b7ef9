"""The words of a command line: settings, and the values that a person types."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, get_origin

from pydantic import BaseModel

from .declared import Declared, Entries, declared, places
from .reading import parse_yaml
from .settings import NoSuchSetting

DELETED = object()


class Word:
    """A setting of a command line: `name=value`, `+name=value` or `~name`."""

    def __init__(self, name: str, value: str, *, adds: bool, deletes: bool) -> None:
        self.name, self.value, self._adds, self._deletes = name, value, adds, deletes

    def put(self, cls: type[BaseModel], node: dict[str, Any]) -> Any:
        """Put the value into plain data, or delete the setting there; return the value."""
        *above, last = self.name.split(".")
        one = self._declared(cls, node)
        inside = node
        for part in above:
            if not isinstance(inside.get(part), dict):
                if self._deletes:
                    break
                inside[part] = {}
            inside = inside[part]
        if self._deletes:
            if last not in inside and self.name not in (known := [*places(cls, node)]):
                raise NoSuchSetting(self.name, known)
            inside.pop(last, None)
            return DELETED
        value = value_of(self.value, one)
        merge(inside, {last: value})
        return value

    def _declared(self, cls: type[BaseModel], node: Mapping[str, Any]) -> Declared | None:
        """The declaration of the setting; None inside a mapping with free names, or where there is none.

        Of a group it is that of the first option which has such a setting, the chosen one if it does.
        """
        classes: list[type[BaseModel]] = [cls]
        value: Any = node
        one: Declared | None = None
        parts = self.name.split(".")
        for number, part in enumerate(parts):
            one = next((found for each in classes if (found := declared(each).get(part)) is not None), None)
            value = value.get(part) if isinstance(value, Mapping) else None
            if one is None or one.is_names or number == len(parts) - 1:
                return one
            if (entries := one.of(Entries)) is not None:
                return self._in_entry(entries.cls, parts[number + 1 :], value, cls, node)
            chosen = one.inside(value if value is not None else {})
            classes = [each for each in (chosen, *one.options.values()) if each is not None]
            if not classes and get_origin(one.kind) is None:
                raise NoSuchSetting(self.name, [*places(cls, node)])
        return one

    def _in_entry(
        self, kind: type[BaseModel], parts: list[str], entries: object, cls: type[BaseModel], node: Mapping[str, Any]
    ) -> Declared | None:
        entry, *rest = parts
        known = entries if isinstance(entries, Mapping) else {}
        if entry not in known and not self._adds and not self._deletes:
            raise NoSuchSetting(self.name, [*places(cls, node)])
        return (
            Word(".".join(rest), "", adds=True, deletes=False)._declared(kind, known.get(entry) or {}) if rest else None
        )


def value_of(text: str, one: Declared | None) -> Any:
    """The value that a person typed: of a text its characters, else what Hydra's grammar reads, or the characters."""
    if one is not None and one.is_text:
        return None if text == "null" else unquoted(text)
    if one is not None and one.is_names:
        return _names(text)
    if one is not None and one.is_texts and text[:1] == "[" and text[-1:] == "]":
        return [unquoted(item) for item in _items(text[1:-1])]
    return _parsed(text)


_ITEM = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?:[^,()\[\]{}]|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\})+"""


def _items(text: str) -> list[str]:
    """The texts between commas, of which those in quotes and brackets are part of a text."""
    found = re.findall(rf"({_ITEM})(?:,|$)", text) if text.strip() else []
    whole = len(",".join(found)) >= len(text) - text.endswith(",")
    return [item.strip() for item in (found if whole else text.split(","))]


def _names(text: str) -> Any:
    """Texts in brackets or braces, whatever they look like, or one text."""
    import yaml

    if text[:1] in ("[", "{"):
        with suppress(yaml.YAMLError):
            return yaml.load(f"x: {text}", Loader=yaml.BaseLoader)["x"]
    return None if text == "null" else unquoted(text)


def unquoted(text: str) -> str:
    """The text without the quotes around it, if there are any."""
    value = _parsed(text) if text[:1] in ("'", '"') and text[-1:] == text[:1] else text
    return value if isinstance(value, str) else text


def _parsed(text: str) -> Any:
    """The value by Hydra's grammar; else, in brackets or braces, by YAML's; else the text itself."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(f"x={text}")
        if not override.is_sweep_override():
            return override.value()
    except (HydraException, ValueError, RecursionError):
        pass
    if text[:1] in ("[", "{"):
        try:
            return parse_yaml(f"x: {text}")["x"]
        except ValueError:
            pass
    return text


def merge(node: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put settings into others, in place, where both have settings within them, too."""
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(node.get(name), dict):
            merge(node[name], value)
        else:
            node[name] = dict(value) if isinstance(value, Mapping) else value

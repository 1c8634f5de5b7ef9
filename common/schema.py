"""Declarations of a class of settings: kinds, bounds and options, in words and for plain data."""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from .errors import BadInput, one_of, quoted

T = TypeVar("T")


@dataclass(frozen=True)
class Expected:
    """Metadata of a setting: words for its permitted values, where type and bounds do not give them."""

    words: str


@dataclass(frozen=True)
class Files:
    """Metadata of a group whose options are the files of `conf/<its name>`, or a file of the user's own.

    example: an option to suggest. otherwise: another way to give it, for the error without a choice.
    """

    example: str
    otherwise: str = ""


@dataclass(frozen=True)
class Entries:
    """Metadata of a tuple of settings that plain data have by name (name → settings of `cls`, the default ones left
    out), such as a schedule's phases. words: for the permitted values."""

    cls: type[BaseModel]
    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain = core_schema.plain_serializer_function_ser_schema(self.plain)
        return core_schema.no_info_before_validator_function(self._of_plain, handler(source), serialization=plain)

    def _of_plain(self, node: Any) -> Any:
        if not isinstance(node, Mapping) or not node:
            return node or None  # pydantic refuses what is no tuple
        for name, one in node.items():
            if not isinstance(one, Mapping):
                raise BadInput(f"{name}={quoted(one)}: expected settings")
            if "name" in one:
                raise no_such_setting(f"{name}.name", [])
        return tuple({**one, "name": str(name)} for name, one in node.items())

    @staticmethod
    def plain(entries: Sequence[BaseModel]) -> dict[str, Any]:
        """The settings by name: those that differ from their defaults."""
        plain = [one.model_dump(mode="json", exclude_defaults=True) for one in entries]
        return {str(one.pop("name")): one for one in plain}


@dataclass(frozen=True)
class Setting:
    """A setting of a class. kind: its type, without None and metadata. options: of a group, the class of each option by
    the value of its `tag`. nested: the class of settings within it."""

    name: str
    kind: Any
    metadata: tuple[Any, ...]
    optional: bool
    info: FieldInfo
    tag: str = ""
    options: Mapping[str, type[BaseModel]] = field(default_factory=dict)

    @property
    def nested(self) -> type[BaseModel] | None:
        return self.kind if isinstance(self.kind, type) and issubclass(self.kind, BaseModel) else None

    def of(self, kind: type[T]) -> T | None:
        """The metadata of this class, if there is one."""
        return next((one for one in self.metadata if isinstance(one, kind)), None)

    def within(self, node: object) -> type[BaseModel] | None:
        """The class of the settings within this one, in plain data or an object; of a group, that of the option."""
        return self.options.get(self.option(node)) if self.options else self.nested

    def option(self, node: object) -> str:
        """The option of a group, in plain data or an object; its default without a choice."""
        default = getattr(self.info.get_default(call_default_factory=True), self.tag, "")
        option = node.get(self.tag, default) if isinstance(node, Mapping) else getattr(node, self.tag, "")
        return option if isinstance(option, str) else ""

    @property
    def default(self) -> Any:
        """The default as plain data."""
        value = self.info.get_default(call_default_factory=True)
        return getattr(value, "plain", value)

    @property
    def in_words(self) -> str:
        """The permitted values in words: 'a whole number, at least 1'."""
        words = self.of(Expected) or self.of(Entries)
        return words.words if words else _in_words(self.kind, self.metadata) + (", or null" if self.optional else "")


@cache
def schema(cls: type[BaseModel]) -> Mapping[str, Setting]:
    """The settings of a class by name, those that the class itself adds first."""
    inherited = {name for base in cls.__mro__[1:] if issubclass(base, BaseModel) for name in base.model_fields}
    order = sorted(cls.model_fields, key=inherited.__contains__)
    return {name: _setting(name, one) for name in order if not (one := cls.model_fields[name]).exclude}


def _setting(name: str, info: FieldInfo) -> Setting:
    kind, metadata, optional = _parts(info.annotation)
    tag = info.discriminator if isinstance(info.discriminator, str) else ""
    options: dict[str, type[BaseModel]] = {}
    for cls in get_args(kind) if tag else ():
        options.update(dict.fromkeys(get_args(cls.model_fields[tag].annotation), cls))
    return Setting(name, kind, (*info.metadata, *metadata), optional, info, tag, options)


def _parts(hint: Any) -> tuple[Any, Sequence[Any], bool]:
    """The type without None and metadata, all metadata, and whether None is permitted."""
    info = FieldInfo.from_annotation(hint)
    others = tuple(one for one in get_args(info.annotation) if one is not type(None))
    if len(others) == len(get_args(info.annotation)):
        return info.annotation, info.metadata, False
    kind, metadata, _ = _parts(Union[others])  # noqa: UP007
    return kind, (*info.metadata, *metadata), True


def convert(kind: Any, value: Any) -> Any:
    """The value with numbers, texts and tuples of this type, where nothing is lost."""
    if get_origin(kind) is tuple and isinstance(value, Sequence) and not isinstance(value, str):
        inner = _parts(get_args(kind)[0])[0]
        return tuple(convert(inner, one) for one in value)
    if isinstance(value, bool):
        texts = kind is str or get_origin(kind) is Literal
        return str(value).lower() if texts else value  # or Literal[0, 1] takes it for a number
    if kind is str and isinstance(value, Real | os.PathLike):
        return str(value)
    if kind is int and isinstance(value, Real) and (isinstance(value, Integral) or float(value).is_integer()):
        return int(value)  # type: ignore[call-overload]
    if kind is float and isinstance(value, Real) and not (isinstance(value, int) and value.bit_length() > 127):
        return float(value)
    return value


def options_of(group: Setting) -> list[str]:
    """The options of a group: its classes, and the files of `conf/<its name>`."""
    folder = resources.files("qwop.conf").joinpath(group.name)
    files = [file.name.removesuffix(".yaml") for file in folder.iterdir()] if folder.is_dir() else []
    return sorted({*group.options, *files})


def places(cls: type[BaseModel], node: Any, place: str = "") -> Iterator[tuple[str, Setting | None]]:
    """The settings in plain data or an object, by name: those of the options in it, and of each entry; None for an
    entry itself."""
    for name, one in schema(cls).items():
        here = dotted(place, name)
        value = node.get(name) if isinstance(node, Mapping) else getattr(node, name, None)
        yield here, one
        if (inner := one.within(value if value is not None else {})) is not None:
            yield from places(inner, value, here)
        elif (entries := one.of(Entries)) is not None and isinstance(value, Mapping):
            for entry, settings in value.items():
                yield dotted(here, str(entry)), None
                yield from places(entries.cls, settings, dotted(here, str(entry)))


def nearest(name: str, names: Iterable[str], far: float = 0.7) -> str | None:
    """The most similar of the names; None where all are less alike than `far` (`difflib`'s ratio)."""
    return next(iter(difflib.get_close_matches(name, list(names), 1, far)), None)


def dotted(place: str, name: str) -> str:
    """The place of a setting inside another."""
    return f"{place}.{name}" if place and name else place or name


def no_such_setting(place: str, names: Sequence[str]) -> BadInput:
    """The error for a setting that does not exist; suggests the nearest of the settings that do: beside it, else one of
    the same name elsewhere, else any."""
    group, _, wrong = place.rpartition(".")
    beside = [one.rpartition(".")[2] for one in names if one.rpartition(".")[0] == group and one != place]
    elsewhere = [one for one in names if one.rpartition(".")[0] != group and not place.startswith(f"{one}.")]
    same = [one for one in elsewhere if one.rpartition(".")[2] == wrong]
    here = nearest(wrong, beside)
    near = dotted(group, here) if here else nearest(place, same, far=0) or nearest(place, elsewhere)
    of = f"of {group} " if group and beside else ""
    what = f"did you mean {near}?" if near else f"the settings {of}are {', '.join(beside or names)}"
    return BadInput(f"{quoted(place)}: no such setting; {what}")


def _in_words(kind: Any, metadata: Sequence[Any]) -> str:
    if get_origin(kind) is Literal:
        return one_of(get_args(kind))
    if get_origin(kind) is tuple:
        item, inner, _ = _parts(get_args(kind)[0])
        if get_origin(item) is Literal:
            return f"a list in brackets of {one_of(get_args(item))}"
        items = {int: "whole numbers", float: "numbers", str: "texts"}.get(item, "values")
        return f"a list of {items}" + (f", each{bounds}" if (bounds := _span(inner).lstrip(",")) else "")
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}.get(kind, "settings")
    return f"{words}{_span(metadata)}"


WORDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
"""Bounds by pydantic's names for them."""


def _span(metadata: Sequence[Any]) -> str:
    """The range, ', at least 0, less than 1' or ' from 1 to 9'; empty without one."""
    ends = {name: getattr(one, name) for one in metadata for name in WORDS if hasattr(one, name)}
    number = {name: f"{end:,}" if isinstance(end, int) else f"{end:g}" for name, end in ends.items()}
    if ends.keys() >= {"ge", "le"}:
        return f" from {number['ge']} to {number['le']}"
    return "".join(f", {WORDS[name]} {end}" for name, end in number.items())

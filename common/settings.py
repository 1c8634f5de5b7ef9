"""Settings: strict, frozen pydantic models, with errors in one line for people.

    class PpoSettings(Settings):
        gamma: Share = 0.985
        \"\"\"Discount per decision.\"\"\"

The sentence below a setting is its help, which `--help` alone reads (`common.help`). `read` makes an object of plain
data, such as a composed configuration; `to_plain` is the reverse.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from .errors import BadInput, naming, one_of, quoted
from .schema import Entries, Files, convert, dotted, no_such_setting, options_of, places, schema
from .schema import Expected as Expected

T = TypeVar("T")

LARGEST: Mapping[type, float] = {bool: 1, int: 2**53, float: 1e38}
"""Magnitudes beyond which sums and products of settings overflow."""

_NO_FILE_HOLDS = re.compile("[\0\ud800-\udfff]")
"""Characters that no file could hold; surrogates are bytes that are no text."""

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]
Width = Annotated[int, Field(ge=1, le=65_536)]
Several = Annotated[tuple[T, ...], Field(min_length=1)]
"""One value or more, a list in brackets on the command line."""
HomePath = Annotated[str, AfterValidator(os.path.expanduser)]
"""A file or folder; a leading ~ is the home folder."""
OutFolder = HomePath
"""A folder that the command writes."""


class Settings(BaseModel):
    """Base of all settings. They are checked whenever an object is made; BadInput names the first that is wrong."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, str_min_length=1, protected_namespaces=()
    )

    if not TYPE_CHECKING:

        def __init__(self, *first: Any, **values: Any) -> None:
            values = {**dict(zip(type(self).model_fields, first, strict=False)), **values}  # Phase("mixed", hours=10)
            try:
                super().__init__(**values)
            except ValidationError as error:
                with naming(self.called):
                    raise refusal(error, type(self), values) from None

        __init__.__pydantic_base_init__ = True  # settings within settings are checked without it

    called: ClassVar[str] = ""
    """In front of every message, where the settings are those of an environment."""

    leaders: ClassVar[Mapping[str, str]] = {}
    """Groups whose option decides that of another setting, by this one's name: {"loop": "algorithm"}."""

    @classmethod
    def default_option(cls, group: str, node: Mapping[str, Any], line: Mapping[str, str]) -> str | None:
        """The option of a group that a command line does not choose; None: its default. line: settings as they are
        typed; node: the options of the groups before."""
        return None

    @classmethod
    def complete(cls, node: dict[str, Any], line: Sequence[tuple[str, Any]], options: Mapping[str, str]) -> None:
        """Complete what a command line gives, in place. line: its settings, which are in it; options: of its groups."""

    @classmethod
    def with_options(cls, node: Mapping[str, Any]) -> dict[str, Any]:
        """Plain data in which each group has its option, and each setting that has a leader that of the leader."""
        settings, more = schema(cls), dict[str, Any]()
        for name, one in settings.items():
            leader = cls.leaders.get(name, name)
            if one.options and (name in node or leader != name) and isinstance(inner := node.get(name, {}), Mapping):
                option = settings[leader].option(node.get(leader, {}))
                more[name] = {one.tag: option, **inner} if leader == name else {**inner, one.tag: option}
        return {**node, **more}

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command line that gave these settings, before changes; none where none did."""
        return tuple(self.__dict__.get("_words", ()))

    def check(self) -> None:
        """Raise BadInput for settings that do not fit together; its message begins with the name of one of them."""

    def with_(self, **changes: Any) -> Self:
        """The settings with these changes, built and checked anew."""
        other = type(self)(**{name: getattr(self, name) for name in type(self).model_fields} | changes)
        return other.with_words(self.words)

    def with_words(self, words: Sequence[str]) -> Self:
        """These settings, with the words of the command line that gave them."""
        self.__dict__["_words"] = tuple(words)  # no setting: pydantic leaves out names with a _
        return self

    def part(self, cls: "type[S]") -> "S":
        """The settings of a class that these settings have, too."""
        return cls(**{name: getattr(self, name) for name in cls.model_fields})

    @model_validator(mode="before")
    @classmethod
    def _convert(cls, values: Any) -> Any:
        """Lists for tuples, whole floats for whole numbers, and numbers for texts, as YAML and NumPy give them."""
        if not isinstance(values, Mapping):
            return values
        settings, every = schema(cls), cls.with_options(values).items()
        return {name: convert(settings[name].kind, one) if name in settings else one for name, one in every}

    @field_validator("*")
    @classmethod
    def _can_be_used(cls, value: Any) -> Any:
        for one in value if isinstance(value, tuple) else [value]:
            if isinstance(one, int | float) and abs(one) > (most := LARGEST[type(one)]):
                raise BadInput(f": expected at most {most:,}")
        if isinstance(value, str) and (not value.strip() or _NO_FILE_HOLDS.search(value)):
            raise BadInput(": expected a text")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self.check()
        return self


S = TypeVar("S", bound=Settings)


def read(cls: type[S], node: Any, place: str = "") -> S:
    """An object of `cls` from plain data; what is missing takes its default. `place` is its name for messages.

    Raises BadInput for anything unknown, missing, of another type or out of range.
    """
    if not isinstance(node, Mapping):
        raise BadInput(f"{place}={quoted(node)}: expected settings, {{{next(iter(schema(cls)))}: …}}")
    try:
        return cls.model_validate(dict(node))
    except ValidationError as error:
        raise refusal(error, cls, node, place) from None


def refusal(error: ValidationError, cls: type[Settings], node: Mapping[str, Any], place: str = "") -> BadInput:
    """pydantic's first error in one line: the setting's whole name, its value and what was expected."""
    errors = error.errors(include_url=False)
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    path = [place] if place else []
    inside: type[BaseModel] | None = cls
    value: Any = node
    group = one = None
    parts = iter(map(str, first["loc"]))
    while inside is not None and (part := next(parts, None)) is not None:
        path.append(part)
        group, one = one, schema(inside).get(part)
        value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
        inside = one.within(value) if one is not None else None
        if one is not None and one.options:
            next(parts, None)  # pydantic names the option between the settings
        elif one is not None and (entries := one.of(Entries)) is not None and (number := next(parts, "")).isdigit():
            name, value = [*value.items()][int(number)]
            path.append(str(name))
            inside = entries.cls
    here = ".".join(path)
    why = first.get("ctx", {}).get("error")
    if first["type"] == "extra_forbidden":
        owners = [option for option, each in group.options.items() if path[-1] in schema(each)] if group else []
        if group and owners:
            chosen_by = cls.leaders.get(group.name, group.name)
            return BadInput(f"{here}: a setting of {chosen_by}={one_of(owners)}, which is not chosen")
        return no_such_setting(here, [*dict(places(cls, node, place))])
    if isinstance(why, BadInput):
        name, text = (f"{here}={quoted(value)}" if str(why)[:1] == ":" else here), str(why)
        return BadInput(f"{name}{text}" if text[:1] in (":", "=") else dotted(here, text))
    if one is None:
        return BadInput(f"{here}={quoted(value)}: {first['msg']}")
    if (files := one.of(Files)) is not None and value is None:
        choices = f"such as {here}={files.example} (there are {', '.join(options_of(one))})"
        more = f"; or {files.otherwise}" if files.otherwise else ""
        return BadInput(f"no {here}: choose one, {choices}, or a file of your own, {here}=path/to/mine.yaml{more}")
    if first["type"] == "missing":
        such = f", such as {here}={quoted(one.info.examples[0])}" if one.info.examples else ""
        return BadInput(f"{here} is not set: expected {one.in_words}{such}")
    if first["type"] == "union_tag_invalid":
        return BadInput(f"{here}.{one.tag}={quoted(value[one.tag])}: expected {one_of([*one.options])}")
    words = "" if one.info.is_required() or one.nested or one.options else f" (default: {quoted(one.default)})"
    return BadInput(f"{here}={quoted(value)}: expected {one.in_words}{words}")


def to_plain(settings: Settings) -> dict[str, Any]:
    """The settings as plain data for YAML or JSON; `read` makes an equal object of it."""
    return settings.model_dump(mode="json")

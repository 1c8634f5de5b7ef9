"""Texts on the command line as they are typed: settings that are texts are quoted before Hydra's grammar reads them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args, get_origin

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString

from .checks import Declaration, without_none
from .overrides import UNREADABLE
from .settings import Settings, declarations, is_settings, type_of

SWEEPS = ("-m", "--multirun")
"""Hydra's options to run a command once for each value; commas then separate values, as in all of Hydra's sweeps."""

_INTERPOLATION = re.compile(r"\$\{[A-Za-z_][\w.:]*\}")

_IN_QUOTES = re.compile(r"""(['"])(?:(?!\1)[^\\]|\\.)*\1""", re.DOTALL)

_BEFORE_BRACE = re.compile(r"(\\*)\$\{")

_PAIRS = {"[": "]", "(": ")", "{": "}"}


def as_typed(arguments: Sequence[str], settings: type[Settings]) -> list[str]:
    """The same command line, with the values of settings that are texts or lists of texts in Hydra's quotes.

    So `player=O'Brien`, `player=1e3` and `dataset=a,b` are these texts. Left to Hydra are a value that is wholly in
    quotes, `null`, `${name}` of another setting, and all values of a sweep.
    """
    if any(one in SWEEPS for one in arguments):
        return list(arguments)
    return [_as_typed(one, settings) for one in arguments]


def quoted(text: str) -> str:
    """A text in quotes, in which Hydra takes all characters but an interpolation (`${name}`) as they are."""
    return QuotedString(text, Quote.single).with_quotes()


def _as_typed(argument: str, settings: type[Settings]) -> str:
    key, equals, value = argument.partition("=")
    if not equals or value in ("", "null") or key.startswith(("-", "~")):
        return argument
    declared = list(_declared(settings, key.lstrip("+")))
    kinds = {_kind(hint, spec) for hint, spec in declared}
    if kinds == {"text"}:
        return f"{key}={_quoted(value)}"
    if kinds == {"texts"}:
        return f"{key}={_list(value)}"
    # The value of a mapping whose keys are free may be of any type: it is a text if it is nothing else.
    if value[0] not in _PAIRS and not declared and not _readable(value):
        return f"{key}={_quoted(value)}"
    return argument


def _declared(cls: type[Settings], place: str) -> Iterator[tuple[Any, Declaration]]:
    """The types and rules of the settings at a place, one for each option of its group that has it."""
    name, _, rest = place.partition(".")
    for field, spec in declarations(cls).items():
        hint = type_of(cls, field)
        kind = without_none(hint)
        if spec.inline:
            yield from _declared(hint, place)
        elif field == name and not rest:
            yield hint, spec
        elif field == name:
            for made in spec.options.values() or ([kind] if is_settings(kind) else []):
                yield from _declared(made, rest)
            if spec.entries is not None:
                yield from _declared(spec.entries, rest.partition(".")[2])


def _kind(hint: Any, spec: Declaration) -> str:
    kind = without_none(hint)
    if spec.parse is not None:
        return "other"
    if kind is str:
        return "text"
    return "texts" if get_origin(kind) in (tuple, list) and get_args(kind)[0] is str else "other"


def _list(value: str) -> str:
    """A list in brackets with each of its texts in quotes; anything else as one text."""
    if value[0] != "[" or value[-1] != "]":
        return _quoted(value)
    items = [item.strip() for item in _split(value[1:-1])]
    return f"[{','.join(_quoted(item) for item in items)}]" if items != [""] else value


def _split(inner: str) -> Iterator[str]:
    """The items between commas; commas within brackets or within quotes that an item begins with are part of it."""
    item, closing = "", ""
    for character in inner:
        if character == "," and not closing:
            yield item
            item = ""
            continue
        if closing and character == closing[-1]:
            closing = closing[:-1]
        elif character in "'\"" and not item.strip():
            closing = character
        elif character in _PAIRS and closing[-1:] not in ("'", '"'):
            closing += _PAIRS[character]
        item += character
    if closing and "," in item:  # unclosed brackets and quotes are ordinary characters
        yield from item.split(",")
    else:
        yield item


def _quoted(value: str) -> str:
    """A text in Hydra's quotes, unless it is already."""
    if not value or _IN_QUOTES.fullmatch(value):
        return value
    return quoted(_BEFORE_BRACE.sub(lambda found: _escaped(found, value), value))


def _escaped(found: "re.Match[str]", value: str) -> str:
    """`${` as OmegaConf takes it for these characters, unless it begins the name of a setting."""
    slashes = found[1]
    if not slashes and _INTERPOLATION.match(value, found.start()):
        return found[0]
    return f"{slashes * 2}\\${{"


def _readable(value: str) -> bool:
    """True if Hydra's grammar reads the value."""
    try:
        OverridesParser.create().parse_override(f"x={value}")
    except UNREADABLE:
        return False
    return True

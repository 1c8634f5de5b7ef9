"""Texts and names on the command line as they are typed: what Hydra's grammar does not take is quoted, and names are
encoded, before it reads them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString

from .checks import Declaration, without_none
from .checks import quoted as shortened
from .errors import BadInput
from .free_names import decoded, encoded
from .overrides import UNREADABLE, value_of
from .settings import Settings, declarations, is_settings, type_of

SWEEPS = ("-m", "--multirun")
"""Hydra's options to run a command once for each value; commas then separate values, as in all of Hydra's sweeps."""

Names = str | Sequence[str]
"""Type of the values of a mapping that are texts or lists of texts, whatever they look like."""

_INTERPOLATION = re.compile(r"\$\{[A-Za-z_][\w.:]*\}")

_IN_QUOTES = re.compile(r"""(['"])(?:(?!\1)[^\\]|\\.)*\1""", re.DOTALL)

_BEFORE_BRACE = re.compile(r"(\\*)\$\{")

_PAIRS = {"[": "]", "(": ")", "{": "}"}


def as_typed(arguments: Sequence[str], settings: type[Settings]) -> list[str]:
    """The same command line, with the values of settings that are texts or lists of texts in Hydra's quotes, and names
    of any characters (`columns.action=動作`, `environment.größe=3`) in a form that `with_decoded_names` reverses.

    So `player=O'Brien`, `player=1e3` and `dataset=a,b` are these texts. Left to Hydra are a value that is wholly in
    quotes, `null`, `${name}` of another setting, and all values of a sweep.
    """
    named = [_with_encoded_place(one) for one in arguments]
    if any(one in SWEEPS for one in arguments):
        return named
    try:
        return [_as_typed(one, settings) for one in named]
    except RecursionError:  # of brackets within brackets, which Hydra's errors will tell
        return named


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
    if twice := next(_named_twice(value), None):
        raise BadInput(f"{shortened(argument.lstrip('+'))}: {shortened(decoded(twice))} is given twice; give it once")
    if kinds == {"names"}:
        return f"{key}={_structure(value, texts=True)}"
    if any(_within(value, opening) for opening in "[{") and not (_readable(value) and _has_texts_for_names(value)):
        return f"{key}={_structure(value)}"
    # The value of a mapping whose keys are free may be of any type: it is a text if it is nothing else.
    if value[0] not in _PAIRS and not declared and not _readable(value):
        return f"{key}={_quoted(value)}"
    return argument


def _with_encoded_place(argument: str) -> str:
    """The argument with names in its place that Hydra reads."""
    place, equals, value = argument.partition("=")
    if not (equals or place.startswith("~")) or place.startswith("-") or _reads(f"{place}=1"):
        return argument
    bare = place.lstrip("+~")
    return f"{place.removesuffix(bare)}{'.'.join(map(encoded, bare.split('.')))}{equals}{value}"


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
        elif field == name and get_origin(kind) is Mapping and get_args(kind)[1] == Names:
            yield Names, spec
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
    if kind == Names or (get_origin(kind) is Mapping and get_args(kind)[1] == Names):
        return "names"
    return "texts" if get_origin(kind) in (tuple, list) and get_args(kind)[0] is str else "other"


def _list(value: str) -> str:
    """A list in brackets with each of its texts in quotes; anything else as one text."""
    return _structure(value, texts=True) if _within(value, "[") else _quoted(value)


def _structure(value: str, *, texts: bool = False) -> str:
    """Lists in brackets and mappings in braces with their names encoded and their texts in quotes: everything that is
    nothing else, or all values."""
    if _within(value, "["):
        return f"[{','.join(_structure(item, texts=texts) for item in _items(value))}]"
    if _within(value, "{"):
        pairs = [_pair(item) for item in _items(value)]
        return f"{{{','.join(f'{key}:{_structure(one, texts=texts)}' for key, one in pairs)}}}"
    return _quoted(value) if texts or not _readable(value) else value


def _named_twice(value: str) -> Iterator[str]:
    """The names that mappings in braces have twice, of which Hydra would take the last, at any depth."""
    pairs = [_pair(item) for item in _items(value)] if _within(value, "{") else []
    names = [name for name, _ in pairs]
    yield from (name for place, name in enumerate(names) if name in names[:place])
    for inner in [one for _, one in pairs] or (_items(value) if _within(value, "[") else []):
        yield from _named_twice(inner)


def _within(value: str, opening: str) -> bool:
    return value[:1] == opening and value[-1:] == _PAIRS[opening]


def _items(value: str) -> list[str]:
    """The items in the brackets or braces of a value."""
    items = [item.strip() for item in _split(value[1:-1])]
    return items if items != [""] else []


def _pair(item: str) -> tuple[str, str]:
    """The name, in a form that Hydra reads, and the value of an item in braces. A name may be in quotes."""
    in_quotes = _IN_QUOTES.match(item)
    if in_quotes and item[in_quotes.end() :].lstrip()[:1] == ":":
        name = encoded(str(value_of(in_quotes[0])))
        return name, item[in_quotes.end() :].lstrip()[1:].strip()
    name, colon, value = (part.strip() for part in item.partition(":"))
    return encoded(name), value if colon else ""  # also 1e3 and 2026_11, which Hydra would take for numbers


def _split(inner: str) -> Iterator[str]:
    """The items between commas; commas within brackets, or within quotes that a text or name begins with, are part of
    it."""
    item, closing, escaped = "", "", False
    for character in inner:
        if character == "," and not closing:
            yield item
            item = ""
            continue
        in_quotes = closing[-1:] in ("'", '"')
        if closing and character == closing[-1] and not escaped:
            closing = closing[:-1]
        elif not in_quotes:
            if character in "'\"" and item.strip()[-1:] in ("", *":,[{("):
                closing += character
            closing += _PAIRS.get(character, "")
        escaped = in_quotes and character == "\\" and not escaped
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
    return _reads(f"x={value}")


def _has_texts_for_names(value: str) -> bool:
    """True if Hydra takes the names in a value that it reads for texts at every depth, not for numbers and the like."""

    def texts(node: Any) -> bool:
        if isinstance(node, list):
            return all(map(texts, node))
        return not isinstance(node, dict) or all(isinstance(name, str) and texts(one) for name, one in node.items())

    return texts(value_of(value))


def _reads(override: str) -> bool:
    try:
        OverridesParser.create().parse_override(override)
    except UNREADABLE:
        return False
    return True

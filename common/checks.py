"""The rules of a setting, the check of a value against them, and both in words."""

import functools
import math
import operator
import os
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from numbers import Real
from os import PathLike
from typing import Any, Union, get_args, get_origin

from .errors import BadInput

LONGEST_SHOWN = 60
"""Characters of a wrong value that a message quotes."""

LONGEST_REASON = 200
"""Characters of another library's or an environment's error that a message quotes."""

LARGEST: Mapping[type, float] = {int: 2**53, float: 1e38}
"""Magnitudes of numbers where a setting has no narrower range: NumPy and PyTorch overflow beyond 64 bits, float32
beyond 3.4e38, and both are reached by sums and products before."""


@dataclass(frozen=True)
class Declaration:
    """The declaration of one setting, apart from its type and default.

    help: its effect, with its unit. at_least, above, at_most, below: its range, or that of every item of a list.
    choices: all that it may be. example: a value to suggest where a required one is missing. expected: words for the
    permitted values, where type and range do not give them. path: a file or folder; a leading ~ is the home folder.
    written: a folder that the command writes, which is tried before any work. inline: see `settings.nested`.
    parse(value, place), plain(value): from and to plain data, for types that YAML does not have. entries: the settings
    of each entry of a mapping, for `--help`. options, tag, follows: of a group, see `settings.choice_of`. group,
    prefers, preferred_beside, default, default_beside: see `settings.file_choice`.
    """

    help: str = ""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    choices: tuple[Any, ...] = ()
    example: str = ""
    expected: str = ""
    path: bool = False
    written: bool = False
    inline: bool = False
    parse: Callable[[Any, str], Any] | None = None
    plain: Callable[[Any], Any] | None = None
    entries: type[Any] | None = None
    options: Mapping[str, type[Any]] = field(default_factory=dict)
    tag: str = ""
    follows: str = ""
    group: str = ""
    prefers: str = ""
    default: str = ""
    default_beside: Mapping[str, str] = field(default_factory=dict)
    preferred_beside: Mapping[str, str] = field(default_factory=dict)


def checked(hint: Any, spec: Declaration, value: Any, place: str, note: str = "") -> Any:
    """The value as the type `hint`, or BadInput that names `place`, the value and what is expected, then `note`.

    Whole numbers may be written as floats (2e5), texts as numbers (a player named 7), tuples as lists.
    """
    if value is None and allows_none(hint):
        return None
    kind = without_none(hint)
    made: Any
    if spec.parse is not None:
        return value
    if spec.options or is_dataclass(kind):
        made = value if is_dataclass(value) and not isinstance(value, type) else None
    elif get_origin(kind) in (tuple, list):
        made = _items(kind, spec, value)
    elif get_origin(kind) is not None:
        made = {str(key): one for key, one in value.items()} if isinstance(value, Mapping) else None
    else:
        made = _scalar(kind, spec, value)
    if made is None:
        limited = _with_limit(kind, spec, value)
        raise BadInput(f"{place}={quoted(value)}: expected {expected(hint, limited)}{note}")
    return made


def expected(hint: Any, spec: Declaration) -> str:
    """The permitted values in words: 'a whole number, at least 1'."""
    if spec.expected:
        words = spec.expected
    elif spec.choices:
        words = one_of(spec.choices)
        if get_origin(without_none(hint)) in (tuple, list):
            words = f"a list in brackets of {words}"
    else:
        words = _kind_in_words(without_none(hint), spec)
    return f"{words}, or null" if allows_none(hint) else words


def span(spec: Declaration, *, signs: bool = False) -> str:
    """The range in words, 'at least 0, less than 1', or in signs, '≥ 0, < 1'; empty without a range."""
    if spec.at_least is not None and spec.at_most is not None:
        return f"{'' if signs else 'from '}{_number(spec.at_least)} to {_number(spec.at_most)}"
    names = ("≥", ">", "≤", "<") if signs else ("at least", "more than", "at most", "less than")
    bounds = zip(names, (spec.at_least, spec.above, spec.at_most, spec.below), strict=True)
    return ", ".join(f"{name} {_number(bound)}" for name, bound in bounds if bound is not None)


def one_of(choices: Sequence[object]) -> str:
    """Choices in words: 'a, b or c'."""
    shown = [quoted(one) for one in choices]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def quoted(value: object, longest: int = LONGEST_SHOWN) -> str:
    """A value as written on the command line, in one line of limited length."""
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, float):
        text = repr(float(value))  # NumPy's numbers, too
    elif isinstance(value, Mapping):
        text = "{" + ", ".join(f"{printable(str(key))}: {quoted(one)}" for key, one in value.items()) + "}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        text = "[" + ", ".join(map(quoted, value)) + "]"
    else:
        text = printable(" ".join(str(value).split()))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def printable(text: str) -> str:
    """The text with escapes for characters that a terminal would obey or could not print."""
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def allows_none(hint: object) -> bool:
    """True if None is a value of the type."""
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def without_none(hint: Any) -> Any:
    """The type without None."""
    if not allows_none(hint):
        return hint
    return functools.reduce(operator.or_, [one for one in get_args(hint) if one is not type(None)])


def _items(kind: Any, spec: Declaration, value: Any) -> Any:
    """A tuple or list of one item or more; None for anything else, or if an item is wrong."""
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence) or not value:
        return None
    made = [_scalar(get_args(kind)[0], spec, one) for one in value]
    return None if any(one is None for one in made) else get_origin(kind)(made)


def _scalar(kind: Any, spec: Declaration, value: Any) -> Any:
    """The value as `kind`; None if it is of another type, out of range or not among the choices."""
    made: Any = None
    if kind is bool:
        made = value if isinstance(value, bool) else None
    elif kind in (int, float):
        made = _number_as(kind, value)
        made = made if made is not None and abs(made) <= LARGEST[kind] and _in_range(made, spec) else None
    elif kind is str:
        made = _text(value)
        made = os.path.expanduser(made) if made is not None and (spec.path or spec.written) else made
    else:
        raise TypeError(f"settings of type {kind} cannot be checked; give the setting a `parse` function")
    return None if spec.choices and made not in spec.choices else made


def _with_limit(kind: Any, spec: Declaration, value: Any) -> Declaration:
    """The declaration; if it has no upper limit and the value exceeds `LARGEST`, with that as its limit."""
    kind = get_args(kind)[0] if get_origin(kind) in (tuple, list) else kind
    if kind not in LARGEST or spec.at_most is not None or spec.below is not None:
        return spec
    numbers: Sequence[Any] = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    beyond = any(isinstance(one, int | float) and abs(one) > LARGEST[kind] for one in numbers)
    return replace(spec, at_most=LARGEST[kind]) if beyond else spec


def _number_as(kind: type[int] | type[float], value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        if not math.isfinite(value):
            return None
    except OverflowError:  # a whole number that is too large for a float
        return None
    return kind(value) if kind is float or value == int(value) else None  # type: ignore[call-overload]


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float | PathLike):
        return None
    text = str(value)
    # Surrogates stand for bytes of a command line that are no UTF-8; no file could hold them.
    return text if text.strip() and not any(one == "\0" or "\ud800" <= one <= "\udfff" for one in text) else None


def _in_range(value: float, spec: Declaration) -> bool:
    return (
        (spec.at_least is None or value >= spec.at_least)
        and (spec.above is None or value > spec.above)
        and (spec.at_most is None or value <= spec.at_most)
        and (spec.below is None or value < spec.below)
    )


def _kind_in_words(kind: Any, spec: Declaration) -> str:
    bounds = span(spec)
    if get_origin(kind) in (tuple, list):
        items = {int: "whole numbers", float: "numbers", str: "texts"}[get_args(kind)[0]]
        return f"a list of {items}" + (f", each {bounds}" if bounds else "")
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}.get(kind, "settings")
    if not bounds:
        return words
    return f"{words} {bounds}" if bounds.startswith("from") else f"{words}, {bounds}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"

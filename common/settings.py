"""Settings, each declared once: name, type, default, help sentence and permitted values of a dataclass's field.

    @dataclass(frozen=True)
    class PpoSettings(Settings):
        gamma: float = setting(0.985, "Discount per decision.", at_least=0, at_most=1)

Everything else follows from the declaration: the checks, however an object is made; the defaults that Hydra composes
(`defaults`); the object of a composed configuration (`read`); the resolved configuration (`to_plain`); `--help`.
"""

import difflib
import importlib.resources
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from types import MappingProxyType
from typing import Any, TypeGuard, TypeVar, get_type_hints

from .checks import Declaration, checked, expected, one_of, quoted, without_none
from .errors import BadInput

NOT_SET = "???"
"""OmegaConf's mark of a required value that is not set yet."""

_DECLARATIONS: dict[type[Any], Mapping[str, Declaration]] = {}
_HINTS: dict[type[Any], dict[str, Any]] = {}
"""Caches, by class. mypy accepts no dataclass as an argument of a function with functools.cache."""

FAR = 0.7
"""Names less alike than this are not suggested for each other (`difflib`'s ratio)."""


def setting(default: Any = MISSING, help: str = "", *, choices: Sequence[Any] = (), **rules: Any) -> Any:
    """Declare a setting as a dataclass field; without a default it is required. rules: see `Declaration`."""
    spec = Declaration(help, choices=tuple(choices), **rules)
    if isinstance(default, list | dict):
        return field(default_factory=lambda: type(default)(default), metadata={"spec": spec})
    if default is MISSING:
        return field(metadata={"spec": spec})
    return field(default=default, metadata={"spec": spec})


def nested(cls: type["Settings"], help: str, *, inline: bool = False) -> Any:
    """Declare settings within settings; inline, they are on the level of this dataclass's own, without a prefix.

    They are required if any of theirs is.
    """
    metadata = {"spec": Declaration(help, inline=inline)}
    return field(metadata=metadata) if required(cls) else field(default_factory=cls, metadata=metadata)


def choice_of(
    options: Mapping[str, "type[Settings]"], default: str, help: str, *, tag: str = "name", follows: str = ""
) -> Any:
    """Declare a group: one of several dataclasses, chosen on the command line by `field=option`.

    A configuration names the choice in the key `tag` of the group (`source.kind`). With follows, this field has no
    choice of its own but takes the option that the named field has.
    """
    spec = Declaration(help, options=dict(options), tag="" if follows else tag, follows=follows, example=default)
    return field(default_factory=options[default], metadata={"spec": spec})


def file_choice(group: str, help: str, *, example: str, **rules: Any) -> Any:
    """Declare a required group whose options are the YAML files of `conf/<group>`, or a file of the user's own.

    rules: see `Declaration`. prefers: another group, of which a file may name an option under this key; it is chosen
    unless the command line chooses one. preferred_beside: an option of that group by a pattern, chosen if the file
    names none and a part of the command line matches. default: the option that is chosen if a command line changes
    settings of the group without choosing one. default_beside: another default by the name of a setting, chosen if the
    command line sets that one. expected: what else may be given, for the error without a choice.
    """
    return field(metadata={"spec": Declaration(help, group=group, example=example, **rules)})


class Settings:
    """Base of the frozen settings dataclasses: checks every field when an object is made.

    A subclass may check its fields against each other in `__post_init__`, after `super().__post_init__()`, by raising
    BadInput with a message that starts with the name of a field.
    """

    def __post_init__(self) -> None:
        for name, spec in declarations(type(self)).items():
            value = checked(type_of(type(self), name), spec, getattr(self, name), name)
            object.__setattr__(self, name, value)
            if spec.follows:
                leader = getattr(self, spec.follows)
                made = spec.options[option_of(declarations(type(self))[spec.follows], leader)]
                if type(value) is not made:
                    raise BadInput(f"{name}: expected {made.__name__} beside {type(leader).__name__}")


S = TypeVar("S", bound=Settings)


def declarations(cls: type[Settings]) -> Mapping[str, Declaration]:
    """The declaration of every field, in order.

    A subclass that only changes a default (`num_envs: int = 128`) keeps the declaration of its base.
    """
    if cls not in _DECLARATIONS:
        _DECLARATIONS[cls] = MappingProxyType({one.name: _declared(cls, one.name) for one in _fields(cls)})
    return _DECLARATIONS[cls]


def _declared(cls: type[Settings], name: str) -> Declaration:
    inherited = (base.__dict__.get("__dataclass_fields__", {}).get(name) for base in cls.__mro__)
    found = next((base.metadata["spec"] for base in inherited if base is not None and "spec" in base.metadata), None)
    if not isinstance(found, Declaration):
        raise TypeError(f"{cls.__name__}.{name}: expected a field declared by setting()")
    return found


def type_of(cls: type[Settings], name: str) -> Any:
    """The type of a field, resolved."""
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls][name]


def defaults(cls: type[Settings]) -> dict[str, Any]:
    """The defaults as plain data, for Hydra to compose. Required values are `???`; groups are left to Hydra."""
    tree: dict[str, Any] = {}
    for one in _fields(cls):
        spec = declarations(cls)[one.name]
        if spec.options or spec.group:
            continue
        value = _default(one)
        if value is MISSING and is_settings(type_of(cls, one.name)):
            plain: Any = defaults(type_of(cls, one.name))
        else:
            plain = NOT_SET if value is MISSING else _plain(spec, value)
        tree.update(plain if spec.inline else {one.name: plain})
    return tree


def to_plain(settings: Settings) -> dict[str, Any]:
    """The settings as plain data for YAML or JSON; `read` makes an equal object of it."""
    tree: dict[str, Any] = {}
    for name, spec in declarations(type(settings)).items():
        value = getattr(settings, name)
        plain = _plain(spec, value)
        if spec.tag:
            plain = {spec.tag: option_of(spec, value), **plain}
        tree.update(plain if spec.inline else {name: plain})
    return tree


def changes(settings: Settings) -> dict[str, Any]:
    """The settings that are not the default, as plain data; `read` makes an equal object of it where partial.

    A group is given by the settings of its chosen option, without the choice.
    """
    given = defaults(type(settings))
    tree = {name: plain for name, plain in to_plain(settings).items() if plain != given.get(name)}
    inner = {name: getattr(settings, name) for name in tree if isinstance(getattr(settings, name, None), Settings)}
    return tree | {name: changes(value) for name, value in inner.items()}


def option_of(spec: Declaration, value: Settings) -> str:
    """The name of the option of a group that `value` is."""
    return next(name for name, made in spec.options.items() if made is type(value))


def options_of(name: str, spec: Declaration) -> list[str]:
    """The options of the group `name` on the command line: its dataclasses, and the YAML files of `conf/<name>`."""
    folder = importlib.resources.files("qwop.conf").joinpath(spec.group or name)
    files = [file.name.removesuffix(".yaml") for file in folder.iterdir()] if folder.is_dir() else []
    return sorted({*spec.options, *files})


def is_settings(kind: object) -> TypeGuard[type[Settings]]:
    """True if a type is a dataclass of settings."""
    return isinstance(kind, type) and issubclass(kind, Settings)


def read(cls: type[S], node: Any, place: str = "", *, partial: bool = False, **more: Any) -> S:
    """An object of `cls` from plain data; `place` is its name for messages (`algorithm`).

    Every setting has to be there unless `partial`, where a missing one takes its default. `more` are fields that the
    data do not hold. BadInput for anything unknown, missing, of another type or out of range.
    """
    if not isinstance(node, Mapping):
        raise BadInput(f"{place}={quoted(node)}: expected settings, {{{next(iter(declarations(cls)))}: …}}")
    known = [name for name in names_in(cls) if name not in more]
    for key in map(str, node):
        if key not in known:
            raise no_such_setting(dotted(place, key), [dotted(place, name) for name in known])
    values: dict[str, Any] = dict(more)
    for name, spec in declarations(cls).items():
        if name in more:
            continue
        if spec.inline:
            inner = {key: value for key, value in node.items() if key in names_in(type_of(cls, name))}
            values[name] = read(type_of(cls, name), inner, place, partial=partial)
        elif spec.options:
            values[name] = _read_option(cls, name, node, place)
        elif name in node:
            values[name] = _read_value(cls, name, node[name], dotted(place, name), partial)
        elif not partial or name in required(cls):
            raise BadInput(_missing(cls, name, dotted(place, name)))
    try:
        return cls(**values)
    except BadInput as error:
        raise BadInput(dotted(place, str(error))) from None


def names_in(cls: type[Settings]) -> list[str]:
    """The keys of `cls` in a configuration: its fields, with those of inline fields in their place."""
    found = []
    for name, spec in declarations(cls).items():
        found += names_in(type_of(cls, name)) if spec.inline else [name]
    return found


def required(cls: type[Settings]) -> list[str]:
    """The fields without a default."""
    return [one.name for one in _fields(cls) if one.default is MISSING and one.default_factory is MISSING]


def no_such_setting(place: str, known: Sequence[str]) -> BadInput:
    """The error for a setting that does not exist; names the nearest that does."""
    names = place.split(".")
    groups = {one.rpartition(".")[0] for one in known}
    if single := next((one for one in known if place.startswith(f"{one}.") and one not in groups), None):
        return BadInput(f"{quoted(place)}: no such setting; {single} has no parts: did you mean {single}=…?")
    depth = max((i for i in range(len(names)) if ".".join(names[:i]) in groups), default=0)
    group, wrong, rest = ".".join(names[:depth]), names[depth], names[depth + 1 :]
    beside = [one.rpartition(".")[2] for one in known if one.rpartition(".")[0] == group]
    elsewhere = [one for one in known if one.rpartition(".")[0] != group and not place.startswith(f"{one}.")]
    near: str | None
    if here := nearest(wrong, beside):
        whole = ".".join([*names[:depth], here, *rest])
        near = whole if whole in known else dotted(group, here)
    elif group and rest:  # an unknown entry, such as a phase: other entries' settings are no suggestion
        near = None
    else:
        alike = [one for one in elsewhere if one.rpartition(".")[2] == names[-1]]
        near = nearest(place, alike, far=0) or nearest(place, elsewhere)
    if near:
        return BadInput(f"{quoted(place)}: no such setting; did you mean {near}?")
    of = f"of {group} " if group else ""
    return BadInput(f"{quoted(place)}: no such setting; the settings {of}are {', '.join(beside or known)}")


def nearest(name: str, known: Iterable[str], far: float = FAR) -> str | None:
    """The most similar of the known names; None where all are less alike than `far`."""
    return next(iter(difflib.get_close_matches(name, list(known), 1, far)), None)


def dotted(place: str, name: str) -> str:
    """The place of a setting inside another."""
    return f"{place}.{name}" if place else name


def _read_option(cls: type[Settings], name: str, node: Mapping[str, Any], place: str) -> Settings:
    """The chosen option of a group; of a field that follows a group, the part that belongs to the choice."""
    spec = declarations(cls)[name]
    group = spec.follows or name
    tag = declarations(cls)[group].tag
    where, chooser = dotted(place, name), dotted(place, group)
    if not isinstance(node.get(group), Mapping):
        found = f"{chooser}={quoted(node[group])}" if group in node else f"{chooser} is not set"
        raise BadInput(f"{found}: choose one of {', '.join(options_of(group, spec))}, such as {chooser}={spec.example}")
    chosen = node[group].get(tag)
    if chosen not in spec.options:
        found = f"{chooser}.{tag}={quoted(chosen)}" if tag in node[group] else f"{chooser}.{tag} is missing"
        raise BadInput(f"{found}: expected {one_of(list(spec.options))}, chosen by {chooser}={spec.example}")
    if name not in node:
        raise BadInput(f"{where} is missing, and its settings are needed: leave ~{where} out")
    inner = node[name]
    if spec.tag:
        inner = {key: value for key, value in inner.items() if key != spec.tag}
    made: Settings = read(spec.options[chosen], inner, where)
    return made


def _read_value(cls: type[Settings], name: str, value: Any, where: str, partial: bool) -> Any:
    spec, hint = declarations(cls)[name], type_of(cls, name)
    if value == NOT_SET or (spec.group and value is None):
        raise BadInput(_missing(cls, name, where))
    if spec.parse is not None:
        return spec.parse(value, where)
    kind = without_none(hint)
    if value is not None and is_settings(kind):
        return read(kind, value, where, partial=partial or bool(spec.group))
    return checked(hint, spec, value, where, _default_in_words(cls, name))


def _missing(cls: type[Settings], name: str, where: str) -> str:
    spec, hint = declarations(cls)[name], type_of(cls, name)
    if spec.group:
        options = options_of(name, spec)
        return (
            f"no {where}: choose one, such as {where}={spec.example} (there are {', '.join(options)}), or a file of "
            f"your own, {where}=path/to/mine.yaml{spec.expected and '; or '}{spec.expected}"
        )
    if name in required(cls) and not is_settings(hint):
        such = f", such as {where}={spec.example}" if spec.example else ""
        return f"{where} is not set: expected {expected(hint, spec)}{such}"
    if is_settings(hint):
        return f"{where} is missing, and its settings are needed: leave ~{where} out"
    return f"{where} is missing: expected {expected(hint, spec)}{_default_in_words(cls, name)}; leave ~{where} out"


def _default_in_words(cls: type[Settings], name: str) -> str:
    default = next(_default(one) for one in _fields(cls) if one.name == name)
    if isinstance(default, Settings):
        default = to_plain(default)
    return "" if default is MISSING else f" (default: {quoted(default)})"


def _plain(spec: Declaration, value: Any) -> Any:
    if spec.plain is not None:
        return spec.plain(value)
    if isinstance(value, Settings):
        return to_plain(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(Declaration(), one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(Declaration(), one) for one in value]
    return value


def _fields(cls: type[Any]) -> "tuple[Field[Any], ...]":
    return fields(cls)


def _default(one: "Field[Any]") -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()

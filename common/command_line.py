"""Command lines that reproduce given settings, for reports."""

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from itertools import chain, count
from pathlib import Path, PurePath

from .checks import Declaration
from .files import own_name
from .imports import SETTING, imported
from .overrides import UNREADABLE, value_of
from .reading import parse_yaml
from .settings import Settings, changes, declarations, dotted, option_of, options_of, read, to_plain
from .typed_texts import quoted


def command_line(program: str, settings: Settings, first: str = "", *, without: tuple[str, ...] = ()) -> str:
    """The command line that gives these settings; defaults are left out.

    first: a setting that the program takes without its name, in front of the others. without: settings to leave out,
    such as resume.
    """
    words = {word.partition("=")[0]: word for word in _words(settings)}
    in_front = [str(getattr(settings, first))] if words.pop(first, None) else []
    words = {name: word for name, word in words.items() if name not in without}
    if modules := imported():
        words[SETTING] = f"{SETTING}=[{','.join(modules)}]"
    return shlex.join([*program.split(), *in_front, *words.values()])


def next_command(program: str, **settings: object) -> str:
    """The line that names the command to run next, ready to be copied."""
    words = [override(name, value) for name, value in settings.items()]
    if modules := imported():
        words.append(override(SETTING, modules))
    return f"next: {shlex.join([*program.split(), *words])}"


def override(name: str, value: object) -> str:
    """The word of a command line that gives a setting this value."""
    return f"{name}={_in_words(str(value) if isinstance(value, PurePath) else value)}"


def clone_next(dataset: Path) -> str:
    """The line that names the command for a new dataset: to clone its player into runs/NAME."""
    return next_command("qwop-pretrain", dataset=dataset, out=unused(Path("runs") / own_name(dataset)))


def unused(folder: Path) -> Path:
    """The folder for the output of a command to run next: this one, or runs/me-2, runs/me-3 … where it exists."""
    names = chain([folder], (folder.with_name(f"{folder.name}-{number}") for number in count(2)))
    return next(one for one in names if not one.exists())


def _words(settings: Settings, place: str = "") -> Iterator[str]:
    """Overrides that turn the defaults of this class into these settings."""
    declared = declarations(type(settings))
    preferred = {spec.prefers for spec in declared.values()}
    groups = {name for name, spec in declared.items() if spec.options or spec.group}
    given = changes(settings)
    for name, spec in declared.items():
        value, where = getattr(settings, name), place if spec.inline else dotted(place, name)
        if spec.group:
            yield from _file_and_changes(where, spec, value)
        elif spec.tag and (option_of(spec, value) != spec.example or name in preferred):
            yield f"{where}={option_of(spec, value)}"
        if isinstance(value, Settings) and not spec.group:
            yield from _words(value, where)
        elif name in given and name not in groups:
            yield f"{where}={_in_words(given[name])}"


def _file_and_changes(where: str, spec: Declaration, value: Settings) -> list[str]:
    """The option of a group of files and its overrides that give this value in the fewest characters."""
    found = []
    for option in options_of(where, spec):
        start = to_plain(read(type(value), _shipped(spec.group, option), where, partial=True))
        found.append([f"{where}={option}", *_differences(start, to_plain(value), where)])
    return min(found, key=lambda words: len(" ".join(words)))


@cache
def _shipped(group: str, option: str) -> Mapping[str, object]:
    """The content of a shipped option's file."""
    path = resources.files("qwop.conf").joinpath(group, f"{option}.yaml")
    return parse_yaml(path.read_text(encoding="utf-8"))


def _differences(before: Mapping[str, object], after: Mapping[str, object], place: str) -> Iterator[str]:
    """Overrides that turn one mapping into the other, keeping the order of its entries."""
    kept = [name for name in before if name in after]
    if [*kept, *(name for name in after if name not in before)] != [*after]:
        kept = []
    yield from (f"~{dotted(place, name)}" for name in before if name not in kept)
    for name, value in after.items():
        where = dotted(place, name)
        if name not in kept:
            yield f"+{where}={_in_words(value)}"
        elif isinstance(value, Mapping) and isinstance(was := before[name], Mapping):
            yield from _differences(was, value, where)
        elif value != before[name]:
            yield f"{where}={_in_words(value)}"


def _in_words(value: object) -> str:
    """A value as the command line takes it: null, true, [1, 2], {a: 1}."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_name_in_words(str(key))}: {_in_words(one)}' for key, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_in_words, value))}]"
    return _quoted_if_need_be(value) if isinstance(value, str) else str(value)


def _quoted_if_need_be(text: str) -> str:
    """A text in quotes where Hydra would not read the bare one as this text, alone and in a list."""
    return text if _read(text) == text and _read(f"[{text}]") == [text] else quoted(text)


def _name_in_words(name: str) -> str:
    """A name in braces, in quotes where Hydra would not read the bare one as this name."""
    read = _read(f"{{{name}: 1}}")
    return name if isinstance(read, dict) and [*read] == [name] else quoted(name)


@cache
def _read(value: str) -> object:
    """The value as Hydra reads it; None if it does not."""
    try:
        return value_of(value)
    except UNREADABLE:
        return None

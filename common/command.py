"""Commands: a function of checked settings with a command line, help, one-line errors and exit codes.

A command line chooses options of groups (`schedule=kurodo`) and gives settings values (`seed=3`). Hydra composes the
options that are files of `conf/`; what is in brackets is read as YAML; pydantic checks the result.
"""

import copy
import gc
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from importlib.metadata import version
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Generic, Literal, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel

from .ends import EXIT_SIGNAL, one_line_end
from .errors import BadInput, naming, quoted
from .imports import import_from_line
from .reading import parse_yaml, read_yaml
from .run_folder import to_yaml
from .schema import Entries, Files, Setting, nearest, no_such_setting, options_of, places, schema
from .settings import Settings, read

S = TypeVar("S", bound=Settings)
T = TypeVar("T")

TRAINING = ("hydra", "omegaconf", "safetensors", "tensorboard", "torch", "websockets")
"""Modules of the extra `train`, as imported."""

OWN_FILE = (".yaml", ".yml")
"""Endings of a path that is given for an option."""

HELP, VERSION, PRINT = ("--help", "-h"), "--version", "--config"


@dataclass(eq=False)
class Command(Generic[S]):
    """A console script, `qwop-<name>`.

    settings_place, run_place: a class and a function, or their places, 'qwop.module:name', imported when they are
    needed: --help does without PyTorch and the like. about: a sentence or two. examples: command lines and what each
    does ('' where the line says it). needs, extra: modules, and the extra of the package that brings them.

    A mistake ends as one line on stderr and exit code 2, before anything is written; Ctrl-C as 130, SIGTERM as 143,
    SIGHUP as 129.
    """

    name: str
    settings_place: type[S] | str
    run_place: Callable[[S], None] | str
    about: str
    examples: Sequence[tuple[str, str]]
    needs: Sequence[str] = TRAINING
    extra: str = "train"

    @property
    def program(self) -> str:
        return f"qwop-{self.name}"

    @cached_property
    def settings(self) -> type[S]:
        return _resolved(self.settings_place)

    def run(self, settings: S) -> None:
        run = _resolved(self.run_place)
        if not gc.isenabled():  # as `run_script` left it; what was imported stays
            gc.freeze()
            gc.enable()
        run(settings)

    def script(self) -> None:
        """Run in a terminal; says so if the extra is not installed."""
        run_script(self.program, self, self.needs, self.extra)

    def __call__(self) -> None:
        """Run the command line; SystemExit if the exit code is not 0."""
        if os.environ.get("COLUMNS") == "0":  # a terminal that does not know its width; Rich would print nothing
            del os.environ["COLUMNS"]
        with one_line_end(self.program):
            words = [one for one in sys.argv[1:] if one not in (*HELP, VERSION, PRINT)]
            if VERSION in sys.argv[1:]:
                print("qwop", version("qwop"))
            elif {*HELP} & {*sys.argv[1:]}:
                from .help import print_help  # only this needs it

                print_help(self, words)
            elif PRINT in sys.argv[1:]:
                print(to_yaml(self.read(words)), end="")
            else:
                self.run(self.read(words))

    def read(self, words: Sequence[str]) -> S:
        """The checked settings of a command line, without running anything; BadInput for a wrong one."""
        node = self.compose(words)
        try:
            return read(self.settings, node).with_words(words)
        except BadInput as error:
            values = {name.lstrip("+"): value for name, _, value in (word.partition("=") for word in words)}
            path = values.get(str(error).partition(".")[0], "")  # of the group's file
            raise (BadInput(f"{path}: {error}") if path.endswith(OWN_FILE) else error) from None

    def compose(self, words: Sequence[str]) -> dict[str, Any]:
        """The settings that a command line gives, as plain data, unchecked and without defaults."""
        line_words = [_setting_of(word) for word in import_from_line(words)]
        options = {name: unquoted(value) for name, value, _ in line_words if name in self.groups}
        settings = [one for one in line_words if one[0] not in self.groups]
        line, node = {name: value for name, value, _ in settings}, dict[str, Any]()
        for name, group in self.groups.items():
            option = options[name] if name in options else self.settings.default_option(name, node, line)
            if option is not None:
                merge(node, option_settings(group, option, name))
            elif group.of(Files) and (of := next((one for one in line if one.startswith(f"{name}.")), "")):
                raise BadInput(f"{of}={quoted(line[of])}: no {name} is chosen that it could change")
        values = [(name, put(self.settings, node, name, value, new=is_new)) for name, value, is_new in settings]
        self.settings.complete(node, values, options)
        return self.settings.with_options(node)

    @property
    def groups(self) -> dict[str, Setting]:
        """The settings that are chosen among options."""
        every, leaders = schema(self.settings).items(), self.settings.leaders
        return {name: one for name, one in every if (one.options and name not in leaders) or one.of(Files) is not None}


def _resolved(place: T | str) -> T:
    return cast(T, resolve_name(place)) if isinstance(place, str) else place


def _setting_of(word: str) -> tuple[str, str, bool]:
    """Name and value of `name=value`, and whether a + in front, as Hydra has it, says that it is new."""
    place, equals, value = word.partition("=")
    name = place.removeprefix("+").removeprefix("+")
    too_deep = name.count(".") > 50  # Python's calls go no deeper than about 1,000
    if not equals or not name or name[0] in "+-~" or ".." in f".{name}." or too_deep:
        raise BadInput(f"{quoted(word) or 'an empty argument'}: expected setting=value; --help shows the settings")
    return name, value, name != place


def read_own_file(setting: str, path: str, expected: str) -> dict[str, Any]:
    """The YAML mapping in a file of the user's own that a setting names; BadInput for anything else."""
    with naming(f"{setting}={path}"):
        return read_yaml(Path(os.path.expanduser(path)), expected)


def option_settings(group: Setting, option: str, place: str) -> dict[str, Any]:
    """The settings of an option: a class, a file of `conf/` or, where files are options, one of the user's own or a
    mapping in braces. BadInput, which names the `place`, if there is none."""
    options, has_files = options_of(group), group.of(Files) is not None
    if has_files and option.startswith("{") and isinstance(whole := value_of(option, None), dict):
        return {group.name: whole}
    if has_files and option.endswith(OWN_FILE):
        expected = f"expected a file of your own, or one of {', '.join(options)}"
        return {group.name: read_own_file(place, option, expected)}
    if option not in options:
        near = nearest(option, options)
        question = f"did you mean {near}? The options are" if near else "choose one of"
        own = ", or a file of your own (its path, with .yaml)" if has_files else ""
        raise BadInput(f"{place}={quoted(option)}: no such option; {question} {', '.join(options)}{own}")
    return {group.name: {group.tag: option}} if option in group.options else copy.deepcopy(_compose(group.name, option))


@cache
def _compose(group: str, option: str) -> dict[str, Any]:
    """The settings of a file of `conf/`, composed by Hydra, whose global state stays as it was."""
    from hydra import compose, initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    outer = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("qwop.conf", version_base="1.3"):
            settings: Any = OmegaConf.to_container(compose(overrides=[f"+{group}={option}"]), resolve=True)
        return dict(settings)
    finally:
        GlobalHydra.instance().hydra = outer


def run_script(program: str, main: Callable[[], None], needs: Sequence[str], extra: str) -> None:
    """Run a console script; a light installation is answered with one line instead of a traceback.

    Imports take two thirds of their time without garbage collection, which begins with the command's work.
    """
    gc.disable()
    for stream in (sys.stdout, sys.stderr):  # a question mark for a character that the terminal's encoding lacks
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
    try:
        with one_line_end(program):
            if missing := [name for name in needs if find_spec(name) is None]:
                install = f"{program} needs the extra '{extra}': pip install 'qwop[{extra}]'"
                raise BadInput(f"{missing[0]} is not installed; {install}")
            main()
    except KeyboardInterrupt:  # Ctrl-C once more, while it ends
        sys.exit(EXIT_SIGNAL + signal.SIGINT)
    finally:
        if not gc.isenabled():  # else the end would collect
            gc.freeze()
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def put(cls: type[BaseModel], node: dict[str, Any], name: str, text: str, *, new: bool) -> Any:
    """Put the value that a person typed into plain data, and return it. new: an entry may have any name.

    BadInput for the name of an entry that is none.
    """
    settings, place = dict(places(cls, node)), name
    while place and place not in settings:
        place = place.rpartition(".")[0]
    one = settings.get(place)
    if place != name and not new and one is not None and one.of(Entries) is not None:
        raise no_such_setting(name, [*settings])
    value = value_of(text, one)
    merge(node, reduce(lambda inside, part: {part: inside}, reversed(name.split(".")), value))
    return value


_NARROW = re.compile(r"""(?P<quoted>'[^']*'|"(?:\\.|[^"\\])*")|(?P<name>[{,]\s*[\w.-]+):(?=\S)""")
"""Hydra's {a:1}, which is YAML's {a: 1}, outside of quotes."""


def value_of(text: str, setting: Setting | None) -> Any:
    """The value that a person typed: of a text its characters, else a number, a constant, or in brackets YAML."""
    kind: Any = None if setting is None else setting.kind
    items, in_brackets = get_args(kind), text[:1] in ("[", "{")
    has_texts = (get_origin(kind) is Mapping and items[1] is not Any) or (
        get_origin(kind) is tuple and "str" in str(items[0])
    )
    if kind is str or (get_origin(kind) is Literal and isinstance(items[0], str)) or (has_texts and not in_brackets):
        return None if text == "null" else unquoted(text)
    if text[:1] == "{":
        text = _NARROW.sub(lambda match: match["quoted"] or f"{match['name']}: ", text)
    if has_texts:
        return _texts(text)
    if in_brackets or text[:1] in ("'", '"'):
        return _yaml(text)
    for number in (int, float):
        with suppress(ValueError, OverflowError):
            if math.isfinite(value := number(text)):
                return value
    return {"true": True, "false": False, "null": None}.get(text.lower(), text)


def _texts(text: str) -> Any:
    """Texts in brackets or braces, whatever they look like."""
    import yaml

    if isinstance(_yaml(text), str):  # such as the pattern in [a[0-9].npz, b.npz]
        in_brackets = text[0] == "[" and text[-1] == "]"
        return [unquoted(one.strip()) for one in text[1:-1].split(",")] if in_brackets else text
    return yaml.load(text, Loader=yaml.BaseLoader)


def unquoted(text: str) -> str:
    """The text without the quotes around it, if there are any."""
    value = _yaml(text) if text[:1] in ("'", '"') and text[-1:] == text[:1] else text
    return value if isinstance(value, str) else text


def _yaml(text: str) -> Any:
    try:
        return parse_yaml(f"x: {text}")["x"]
    except ValueError:
        return text


def merge(node: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put settings into others, in place, where both have settings within them, too."""
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(node.get(name), dict):
            merge(node[name], value)
        else:
            node[name] = dict(value) if isinstance(value, Mapping) else value

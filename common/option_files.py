"""Groups whose options are files: paths on the command line, and a file's preference for another group's option."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore

from .checks import one_of, quoted
from .errors import BadInput, naming
from .files import with_home
from .former_names import current_settings
from .free_names import with_encoded_names
from .overrides import FROM_FILE, UNREADABLE, value_of
from .reading import MEGABYTE, parse_yaml, read_text
from .settings import Settings, declarations, options_of

SUFFIXES = (".yaml", ".yml")
"""Endings that mark a path: `schedule=my/careful.yaml`."""


def with_option_files(arguments: Sequence[str], settings: type[Settings]) -> list[str]:
    """The same command line, already in the forms that Hydra takes, with paths and preferences resolved.

    A path becomes an option of its group, for this process. A file may name an option of another group, the one that
    its own group `prefers`: `schedule=champion` brings `algorithm=ppo-runner`. That option is chosen unless the command
    line chooses one. If the file names none, the rest of the command line may imply one (`preferred_beside`). BadInput
    for a file that cannot be read or names an option that does not exist.
    """
    made = list(arguments)
    for group, spec in declarations(settings).items():
        chosen = next((i for i, one in reversed([*enumerate(made)]) if one.startswith(f"{group}=")), None)
        if not spec.group or chosen is None:
            continue
        option = _unquoted(made[chosen].partition("=")[2])
        if option.endswith(SUFFIXES):
            path: Path | None = with_home(option)
        else:
            path = _find(spec.group, option, arguments)
        node = {} if path is None else _read(path, group, option, options_of(group, spec))
        if option.endswith(SUFFIXES):
            made[chosen] = f"{group}={_stored(spec.group, Path(option), node)}"
        beside = (option for pattern, option in spec.preferred_beside.items() if _match_any(pattern, arguments))
        preferred = node.get(spec.prefers) or next(beside, None)
        chooses = any(one.partition("=")[0].lstrip("+~") == spec.prefers for one in arguments)  # or deletes it
        if preferred is not None and not chooses:
            options = options_of(spec.prefers, declarations(settings)[spec.prefers])
            if preferred not in options:
                raise BadInput(f"{group}={option}: {spec.prefers}: {quoted(preferred)}, expected {one_of(options)}")
            made.insert(chosen + 1, f"{spec.prefers}={preferred}")
    return made


def _match_any(pattern: str, arguments: Sequence[str]) -> bool:
    return any(re.match(pattern, one) for one in arguments)


def _unquoted(option: str) -> str:
    """The option without Hydra's quotes around it."""
    if option[:1] not in ("'", '"'):
        return option
    try:
        return str(value_of(option))
    except UNREADABLE:
        return option


def _find(group: str, option: str, arguments: Sequence[str]) -> Path | None:
    """The file of an option: the package's own, or one in the folder that `--config-dir` names."""
    own = resources.files("qwop.conf").joinpath(group, f"{option}.yaml")
    folders = [
        _value(arguments, place) for place, one in enumerate(arguments) if one.startswith(("--config-dir", "-cd"))
    ]
    paths = [Path(str(own)), *(with_home(folder) / group / f"{option}.yaml" for folder in folders)]
    return next((path for path in paths if path.is_file()), None)


def _value(arguments: Sequence[str], place: int) -> str:
    """The value of the option at this place, which may be the argument after it."""
    _, equals, value = arguments[place].partition("=")
    return value if equals else "".join(arguments[place + 1 : place + 2])


def _read(path: Path, group: str, option: str, options: Sequence[str]) -> dict[str, Any]:
    with naming(f"{group}={option}"):
        text = read_text(path, MEGABYTE, f"expected a file of your own, or one of {', '.join(options)}")
    try:
        return current_settings(parse_yaml(text))
    except ValueError as error:
        raise BadInput(f"{group}={option}: not YAML settings ({error})") from None


def _stored(group: str, path: Path, node: dict[str, Any]) -> str:
    """The name under which Hydra finds the file's settings, in this process."""
    name = FROM_FILE + re.sub(r"[^\w-]", "-", path.stem, flags=re.ASCII)
    ConfigStore.instance().store(group=group, name=name, node=with_encoded_names(node), package=group)
    _PATHS[group, name] = path
    return name


_PATHS: dict[tuple[str, str], Path] = {}
"""Files of the user's own that this process has stored as options, by group and name."""


@contextmanager
def naming_files(arguments: Sequence[str], settings: type[Settings]) -> Iterator[None]:
    """Context manager: BadInput about a setting of a group also names the user's file that the group was read from.

    arguments: as `with_option_files` gives them.
    """
    try:
        yield
    except BadInput as error:
        for name, spec in declarations(settings).items():
            for one in arguments:
                path = _PATHS.get((spec.group, one.partition("=")[2]))
                if path is not None and one.startswith(f"{name}=") and str(error).startswith(f"{name}."):
                    raise BadInput(f"{path}: {error}") from None
        raise

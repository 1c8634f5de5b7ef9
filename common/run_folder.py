"""A run's settings in its folder, and the command lines that reproduce them and name the next step."""

import json
import os
import re
import shlex
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path, PurePath
from typing import Any

from .errors import BadInput, quoted
from .files import own_name, write_atomic
from .imports import SETTING, imported
from .reading import MEGABYTE, read_text, read_yaml
from .settings import Settings, to_plain

CONFIGURATION, REPORT, DATASET = "config.yaml", "report.html", "dataset.json"
"""Names of files in a folder: a run's settings, the page that reports the run, and the description of a dataset."""

_PLAIN = re.compile(r"(?!(true|false|null|nan|inf)$)[A-Za-z][\w./-]*$", re.IGNORECASE)
"""A name that is read as it stands within brackets."""


def write_configuration(settings: Settings, out: Path) -> Path:
    """Make a run's folder and write the resolved settings into it, below the words that were typed; BadInput if those
    of another command are there."""
    require_no_other_run(out, type(settings))
    write_atomic(out / CONFIGURATION, f"# {json.dumps(settings.words)}\n{to_yaml(settings)}")
    return out


def require_no_other_run(out: Path, settings: type[Settings], writes: Sequence[str] = ()) -> None:
    """Raise BadInput for a folder with another content than a run of this command: a dataset; another configuration,
    which sets what `settings` lacks; or none, and a report or another of the files that the command `writes`."""
    if (out / DATASET).exists():
        raise BadInput(f"out={out}: holds a dataset; give out= another folder")
    if not (out / CONFIGURATION).exists():
        if there := [name for name in (*writes, REPORT) if os.path.lexists(out / name)]:
            raise BadInput(f"out={out}: holds {there[0]}, which would be overwritten; give out= another folder")
        return
    before = read_settings(out / CONFIGURATION)
    if foreign := [name for name, value in before.items() if value is not None and name not in settings.model_fields]:
        raise BadInput(
            f"out={out}: holds the run of another command, whose {CONFIGURATION} sets {quoted(foreign[0])}; "
            "give out= another folder"
        )


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings that a run was started with, as plain data; BadInput for any other file."""
    return read_yaml(path, "expected the settings of a run; start anew with another out")


def to_yaml(settings: Settings) -> str:
    """The resolved settings as YAML."""
    import yaml
    from omegaconf._utils import get_omega_conf_dumper  # quotes texts that its loader would take for numbers

    dumper, plain = get_omega_conf_dumper(), to_plain(settings)
    return str(yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False))


def words_of(path: Path) -> list[str]:
    """The words of the command line that wrote the settings of a run; none where they have another origin."""
    first = read_text(path, MEGABYTE, "expected the settings of a run").partition("\n")[0]
    try:
        return [str(word) for word in json.loads(first.removeprefix("# "))]
    except (ValueError, TypeError):
        return []


def command_line(program: str, words: Sequence[str], *, without: Sequence[str] = ()) -> str:
    """The command line with these words, and with the modules that are imported. without: settings to leave out, such
    as resume."""
    line = [word for word in words if _name(word) not in without]
    if imported() and SETTING not in map(_name, line):
        line.append(override(SETTING, imported()))
    return shlex.join([*program.split(), *line])


def next_command(program: str, **settings: object) -> str:
    """The line that names the command to run next, ready to be copied."""
    return f"next: {command_line(program, [override(name, value) for name, value in settings.items()])}"


def override(name: str, value: object) -> str:
    """The word of a command line that gives a setting this value: a text as it is, plain names as [a, b], anything else
    as JSON."""
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) and _PLAIN.match(one) for one in value):
        return f"{name}=[{', '.join(value)}]"
    text = str(value) if isinstance(value, str | PurePath) else json.dumps(value, default=str, ensure_ascii=False)
    in_quotes = text[:1] in ("'", '"') and text[-1:] == text[:1]
    return f"{name}={json.dumps(text) if isinstance(value, str) and (in_quotes or text == 'null') else text}"


def clone_next(dataset: Path) -> str:
    """The line that names the command for a new dataset: to clone its player into runs/NAME."""
    return next_command("qwop-pretrain", dataset=dataset, out=unused(Path("runs") / own_name(dataset)))


def unused(folder: Path) -> Path:
    """The folder for the output of a command to run next: this one, or runs/me-2, runs/me-3 … where it exists."""
    names = chain([folder], (folder.with_name(f"{folder.name}-{number}") for number in count(2)))
    return next(one for one in names if not one.exists())


def _name(word: str) -> str:
    return word.lstrip("+").partition("=")[0]

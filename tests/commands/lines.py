"""The command lines of README, docs and conf, and the settings that each gives: `python -m tests.commands.lines`.

`expected.json` holds the settings of every line and, for qwop-finetune, of every phase with its algorithm and loop.
Run as a program, this module writes that file anew from the code as it is; read the difference before it is committed.
A line keeps only what differs from the file's `defaults`: the settings of the first line, by command and group.
"""

import contextlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qwop.commands import COMMANDS
from qwop.common.errors import BadInput
from qwop.common.settings import to_plain
from qwop.finetune.settings import FinetuneSettings

ROOT = Path(__file__).parents[2]
EXPECTED = Path(__file__).with_name("expected.json")
REFUSED = None
"""In place of the settings of a line that is none, such as one with a … in it."""

_PROGRAM = re.compile(rf"(?<![\w.])({'|'.join(COMMANDS)})(?![\w:,])")

_SHELL = "seed=0; scale=0.1; env=CartPole-v1; environment=$env; clone=runs/clone; policy=last; bounded=true; delta=0.1"
"""Values of the variables in the loops of the docs."""

OWN_FILES = {
    "careful.yaml": "algorithm: acer\nphases:\n  warm_up: {hours: 1, critic_only: true}\n"
    "  mixed: {hours: 10, demonstrations: [1.0, 0.2]}\n  alone: {hours: 20, learning_rate: [1, 0]}\n"
}
"""Files that lines name; docs/schedules.md prints such a one."""

MORE = (
    "qwop-finetune schedule=kurodo algorithm.learning_rate=1e-5 loop.num_envs=8",
    "qwop-finetune schedule=from-expert algorithm.gamma=0.9 loop.steps=16",
    "qwop-finetune schedule=kurodo algorithm.epochs=2",
    "qwop-finetune schedule=person algorithm.gamma=0.9 loop.steps=16 algorithm.epochs=2",
    "qwop-finetune schedule=pictures teacher=champion algorithm.minibatch=64",
    "qwop-finetune environment=MyQWOPlike-v0 schedule.decisions=5",
)
"""Lines beside the documented ones."""


def lines() -> Iterator[str]:
    """The command lines in code blocks and code spans, and one for each file of conf."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        block = False
        for line in re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf8")).splitlines():
            if line.lstrip().startswith("```"):
                block = not block
                continue
            for code in [line] if block else re.findall(r"`([^`]+)`", line):
                if (
                    match := _PROGRAM.search(code)
                ) and "key_world" not in code:  # test_blocks runs those with the module
                    end = r"\s+#|\s*&&|\s*;\s" + ('|"' if code[: match.start()].endswith('"') else "")
                    yield re.split(end, code[match.start() :])[0].strip()
    for path in sorted((ROOT / "conf").rglob("*.yaml")):
        name = f"{path.parent.name}={path.stem}"
        if path.parent.name == "algorithm":
            yield f"qwop-finetune schedule=live-only {name}"
        else:
            yield f"qwop-{'study' if path.parent.name == 'study' else 'finetune'} {name}"


def words_of(line: str) -> list[str]:
    """The words of a line as bash gives them to the program."""
    process = subprocess.run(
        ["bash", "-c", f"{_SHELL}; said() {{ printf '%s\\0' \"$@\"; }}; said {line}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [word for word in process.stdout.split("\0")[:-1] if word not in ("--help", "--config")]


def settings_of(line: str) -> dict[str, dict[str, Any]] | None:
    """The settings of a line, by command and group: `{"qwop-record source=page": {"source.port": 8765, …}}`.

    In qwop-finetune each phase has its own: `{"mixed algorithm=acer": {"algorithm.gamma": 0.975, …}}`.
    """
    program, *words = words_of(line)
    command = COMMANDS[program]
    try:
        settings = command.read(words)
    except BadInput:
        return REFUSED
    if isinstance(settings, FinetuneSettings):
        return _finetune(settings)
    plain = to_plain(settings)
    groups = [f"{name}={value.get('kind', value.get('name'))}" for name, value in plain.items() if _is_group(value)]
    return {" ".join([program, *groups]): _flat(plain)}


def _finetune(settings: FinetuneSettings) -> dict[str, dict[str, Any]]:
    plain = to_plain(settings)
    for name in ("phases", "algorithm", "loop"):  # the schedule's; they are in the phases
        plain["schedule"].pop(name)
    groups = {"qwop-finetune": _flat({name: one for name, one in plain.items() if name not in ("algorithm", "loop")})}
    return groups | dict(_phases(settings))


def _phases(settings: FinetuneSettings) -> Iterator[tuple[str, dict[str, Any]]]:
    phases = to_plain(settings.schedule)["phases"]
    for (name, phase), (algorithm, loop) in zip(phases.items(), settings.trained_by, strict=True):
        of_phase = {key: value for key, value in phase.items() if key not in ("algorithm", "loop")}
        own = {"algorithm": to_plain(algorithm), "loop": to_plain(loop), "phase": of_phase}
        if phase.get("hours", phase.get("decisions")) != 0:
            yield f"{name} algorithm={own['algorithm']['name']}", _flat(own)


def _is_group(value: object) -> bool:
    return isinstance(value, Mapping) and bool({"kind", "name"} & value.keys())


def _flat(node: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    flat = {}
    for name, value in node.items():
        here = f"{place}.{name}" if place else name
        if isinstance(value, Mapping) and value:
            flat.update(_flat(value, here))
        else:
            flat[here] = value
    return flat


def key_of(group: str) -> str:
    """The key of `defaults` for a group of a line's settings: a phase shares those of its algorithm."""
    return group if group.startswith("qwop-") else group.rpartition(" ")[2]


def read_expected() -> dict[str, dict[str, dict[str, Any]] | None]:
    """The settings of every line, in whole."""
    file = json.loads(EXPECTED.read_text(encoding="utf8"))
    return {line: groups and _whole(groups, file["defaults"]) for line, groups in file["lines"].items()}


def _whole(groups: dict[str, Any], defaults: dict[str, Any]) -> dict[str, dict[str, Any]]:
    whole = {name: {**defaults[key_of(name)], **changes} for name, changes in groups.items()}
    return {name: {key: one for key, one in group.items() if one != "absent"} for name, group in whole.items()}


@contextlib.contextmanager
def in_own_folder() -> Iterator[None]:
    """Context manager: a working folder with the files that lines name."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in OWN_FILES.items():
            Path(name).write_text(text)
        yield


def write_expected(settings_of_lines: dict[str, dict[str, dict[str, Any]] | None]) -> None:
    """Write the settings of every line, those of the first one of a group as its defaults."""
    defaults: dict[str, dict[str, Any]] = {}
    for groups in settings_of_lines.values():
        for name, values in (groups or {}).items():
            defaults.setdefault(key_of(name), values)
    lines = {
        line: groups and {name: _difference(values, defaults[key_of(name)]) for name, values in groups.items()}
        for line, groups in settings_of_lines.items()
    }
    text = json.dumps({"defaults": defaults, "lines": lines}, indent=1, ensure_ascii=False)
    EXPECTED.write_text(text + "\n", encoding="utf8")


def _difference(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    missing = {key: "absent" for key in defaults if key not in values}
    return missing | {key: value for key, value in values.items() if key not in defaults or defaults[key] != value}


def main() -> None:
    with in_own_folder():
        write_expected({line: settings_of(line) for line in sorted({*lines(), *MORE})})


if __name__ == "__main__":
    main()

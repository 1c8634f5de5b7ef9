"""Mistakes in right command lines, drawn from the declarations of the settings."""

import os
import random
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
from qwop.coach.command import main as coach
from qwop.common.checks import Declaration, allows_none, without_none
from qwop.common.command import Command
from qwop.common.settings import declarations
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.main import VERBS
from qwop.datasets.writer import DatasetWriter
from qwop.evaluation.watch_command import main as watch
from qwop.play.main import main as play
from qwop.search.command import main as search
from qwop.search.distil_command import main as distil

from .declared import LINES, composed, every_declaration, wrong_values

DATASET = "games"
"""A dataset in the folder that `furnish` makes."""

OF_VERBS = {
    "upgrade": ["out=new"],
    "copy": ["out=new", "drop_episodes=[0]"],
    "relabel": ["out=new", "reward=speed"],
    "export": ["out=new", "to=minari"],
    "import": ["out=new"],
    "reconstruct": ["out=new"],
}
"""Settings that verbs of qwop-dataset need, beside the dataset."""

MORE: list[tuple[Command[Any], list[str]]] = [
    (coach, []),
    (watch, ["policy=champion"]),
    (play, []),
    (search, []),
    (distil, ["games=[games]"]),
    *(
        (import_module(module).command, [f"dataset={DATASET}", *OF_VERBS.get(verb, [])])
        for verb, (module, _) in VERBS.items()
    ),
]
"""Right lines of the commands that `LINES` lacks."""

Draw = random.Random

BROKEN = (
    "[", "]", "{", "[1,", "{a:", "'", '"', "a b=1", "=", "=1", "+", "~", "++", "a..b=1", ".=1", "seed", "",
    " ", "--sead", "-x", "\1x=1", "\x1b[31mseed=1", "sé\nd=1", "\udcff=1", "{a: 1}", "seed:1", "/", "a/b=c",
    "a@b=c", "~~seed", "[" * 400 + "]" * 400,
    "x" * 5000 + "=1",
)  # fmt: skip
"""Arguments that are no setting in any form."""

OPTIONS = (
    "--config-name=nonsense", "--config-dir=missing", "--config-dir=file", "--config-path=/nowhere", "--cfg",
    "--cfg=no", "--info=no", "--package", "--experimental-rerun=missing", "--versoin", "--helpp", "-hh=1",
    "hydra.sead=1", "hydra/launcher=nonsense", "hydra.run.dir=made sead=1", "-m sead=1,2", "-m +sead=1",
)  # fmt: skip
"""Options of Hydra that are none, or whose value is none."""

ENTANGLED = ("${nothing}", "${oc.env:QWOP_NO_SUCH_VARIABLE}", "${", "${no.such.resolver:1}", "${{}}")
"""Interpolations that lead nowhere."""

READ = ("missing", "missing.safetensors", "pipe", "folder", "file", "loop", "file/inside", "a" * 300, "/dev/full")
"""Paths in the furnished folder that no command can read."""

WRITTEN = ("pipe", "file", "loop", "file/inside", "folder/" + "a" * 300, "/proc/made", "/dev/null/made")
"""Paths there into which none can write."""

READ_LATE = {
    "qwop-coach": ("person",),  # of a scripted person
    "qwop-evaluate": ("original.folder", "original.browser"),  # of world=original
    "qwop-watch": ("out",),
    "qwop-play": ("out",),
    "qwop-dataset report": ("out",),
    "qwop-dataset export": ("out",),
}
"""Paths that their right line does not read, or that are files to write."""

QUOTED = ("'1", "1'", "''", '"1', "'a'b'", "[1,'", "{'a:1}", "`1`", "“1”", "1 '")
"""Quotes that nobody closes, or in odd places, around what is no text."""

HUGE = ("9" * 5000, "-" + "9" * 5000, "1e999999", "[" + "1," * 3000 + "x]", "[" * 600 + "1" + "]" * 600)
"""Values without measure, none of which is a number in range."""


def furnish(folder: Path) -> None:
    """Make what paths of wrong lines lead to: a file, a folder, a pipe, a link to itself, a dataset."""
    (folder / "file").write_text("neither this nor that\n")
    (folder / "file.yaml").write_text("- neither: this\n")
    (folder / "folder").mkdir()
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.yaml")
    (folder / "loop").symlink_to("loop")
    info = qwop_info()
    writer = DatasetWriter(folder / DATASET, info)
    for number in range(2):
        keys = np.repeat(np.random.default_rng(number).integers(0, 16, 20), 4).astype(np.uint8)
        writer.write(episode_from_keys(keys, info, player="tests", source="page", epsilon=0.05))


class WrongVerbs:
    """Mistakes in front of a verb's settings."""

    program = "qwop-dataset"

    def mistake(self, draw: Draw) -> tuple[str, list[str]]:
        """The kind of a mistake, and a wrong line's words after the program's name."""
        if draw.random() < 0.5:
            return "verb", [
                draw.choice(("", "verfy", "-", "--sead", "verify=games", "games", "\x1b[1m", "Verify", "ver fy"))
            ]
        verb = draw.choice([*VERBS])
        return "path", [verb, draw.choice(READ), *OF_VERBS.get(verb, [])]


class RightLine:
    """A command with a right line, and mistakes in it."""

    def __init__(self, command: Command[Any], line: list[str]) -> None:
        self.program, *verb = command.program.split()
        self._line = [*verb, *line]
        self.settings = [*every_declaration(command.settings, composed(command, line))]
        self._groups = [name for name, spec in declarations(command.settings).items() if spec.tag or spec.group]
        late = READ_LATE.get(command.program, ())
        self._paths = [
            (place, hint, spec)
            for place, hint, spec in self.settings
            if (spec.path or spec.written) and place not in late
        ]
        self._numbers = [place for place, hint, spec in self.settings if spec.parse is None and _is_no_text(hint)]

    def mistake(self, draw: Draw) -> tuple[str, list[str]]:
        """The kind of a mistake, and the wrong line's words after the program's name."""
        name = draw.choice([kind for kind in KINDS if self._numbers or kind not in OF_NUMBERS])
        return name, [*self._line, *MISTAKES[name](self, draw)]

    def value(self, draw: Draw) -> list[str]:
        """A value that its setting refuses."""
        place, value = self._wrong(draw)
        return [f"{place}={value}"]

    def name(self, draw: Draw) -> list[str]:
        """A setting that is none, in a group that is there."""
        place = draw.choice(self.settings)[0]
        group, dot, name = place.rpartition(".")
        at = draw.randrange(len(name))
        wrong = name[:at] + draw.choice("qxz") + name[at:]
        return [f"{draw.choice(('', '+', '++'))}{group}{dot}{wrong}={draw.choice(('1', 'a', '[1]', ''))}"]

    def broken(self, draw: Draw) -> list[str]:
        """An argument that is no setting."""
        return [draw.choice(BROKEN)]

    def twice(self, draw: Draw) -> list[str]:
        """A wrong setting between two right ones; or one given twice, whose second, which counts, is wrong."""
        place, value = self._wrong(draw)
        return draw.choice(([f"{place}=1", f"{place}={value}"], [f"{place}={value}", "nonsense.a.b=1"]))

    def group(self, draw: Draw) -> list[str]:
        """An option or a group that is none."""
        if not self._groups:
            return [draw.choice(("source=pages", "+sorcery=page", "~algorithm", "world=[moon", "schedule=x.yaml"))]
        group = draw.choice(self._groups)
        files = [f"{group}={name}.yaml" for name in ("missing", "pipe", "folder", "file")]
        return [draw.choice((f"{group}=nonsense", f"{group}=[]", f"{group}=", f"{group}s=page", *files))]

    def path(self, draw: Draw) -> list[str]:
        """A file or folder that is not there, or is no file or folder of the kind."""
        if not self._paths:
            return self.value(draw)
        place, hint, spec = draw.choice(self._paths)
        wrong = draw.choice(WRITTEN if spec.written else READ)
        return [f"{place}=[{wrong}]" if get_origin(without_none(hint)) else f"{place}={wrong}"]

    def quotes(self, draw: Draw) -> list[str]:
        """Quotes that nobody closes, or in odd places, around what is no text."""
        place = draw.choice(self._numbers)
        return [f"{place}={draw.choice(QUOTED)}"]

    def entangled(self, draw: Draw) -> list[str]:
        """An interpolation of what is not there, or of itself."""
        place = draw.choice(self._numbers)
        return [f"{place}={draw.choice((*ENTANGLED, f'${{{place}}}'))}"]

    def option(self, draw: Draw) -> list[str]:
        """An option that Hydra does not have, or cannot follow."""
        return draw.choice(OPTIONS).split(" ")

    def sweep(self, draw: Draw) -> list[str]:
        """Several values, of which a later one is wrong, or without the option for it."""
        if draw.random() < 0.3:
            return [f"{draw.choice(self._numbers)}=1,2"]
        place, value = self._wrong(draw)
        while any(one in value for one in ",[]{}() ") or value == "":
            place, value = self._wrong(draw)
        return [draw.choice(("-m", "--multirun")), f"{place}=1,{value}"]

    def huge(self, draw: Draw) -> list[str]:
        """A value without measure."""
        place, hint, _ = draw.choice([one for one in self.settings if one[0] in self._numbers])
        return [f"{place}={draw.choice(HUGE)}"] if without_none(hint) in (int, bool) else self.value(draw)

    def _wrong(self, draw: Draw) -> tuple[str, str]:
        while True:
            place, hint, spec = draw.choice(self.settings)
            if values := typed(hint, spec):
                return place, draw.choice(values)


MISTAKES: dict[str, Callable[[RightLine, Draw], list[str]]] = {
    "value": RightLine.value,
    "name": RightLine.name,
    "broken": RightLine.broken,
    "twice": RightLine.twice,
    "group": RightLine.group,
    "path": RightLine.path,
    "quotes": RightLine.quotes,
    "interpolation": RightLine.entangled,
    "option": RightLine.option,
    "sweep": RightLine.sweep,
    "huge": RightLine.huge,
}

KINDS = ("value", "value", "name", "path", "path", *MISTAKES)
"""Kinds of mistakes, the frequent ones several times."""


OF_NUMBERS = ("quotes", "interpolation", "sweep", "huge")
"""Kinds of mistakes in numbers, which some commands do not have."""


def typed(hint: Any, spec: Declaration) -> list[str]:
    """Values that a setting must refuse, as a person types them. Whatever is typed for a text is a text."""
    kind = without_none(hint)
    if spec.parse is not None:
        return []
    if kind is str:
        return ["", *(["nonsense"] if spec.choices else []), *([] if allows_none(hint) else ["null"])]
    wrong = [_typed(value) for value in wrong_values(hint, spec)]
    of_texts = get_origin(kind) in (tuple, list) and get_args(kind)[0] is str and not spec.choices
    return [value for value in wrong if not of_texts or value == "[]" or value[:1] != "["]


def _is_no_text(hint: Any) -> bool:
    """True for numbers and truths."""
    return without_none(hint) in (int, float, bool)


def _typed(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return f"[{','.join(map(_typed, value))}]"
    return "" if value == "" else str(value)


def right_lines() -> list[RightLine | WrongVerbs]:
    """A right line of every command, with every option of its groups."""
    return [*(RightLine(*one) for one in (*LINES, *MORE)), WrongVerbs()]

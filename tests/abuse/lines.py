"""Command lines with one mistake, each decided by a seed: a command, a right line of it, and what is wrong with it.

The line runs as its console script would. It has to end with code 2 and one line that begins with the program's name,
to say nothing on stdout, and to leave the folder as it was.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_origin

from qwop.common.schema import places, schema

from .children import Child, command, main_of

LINES: dict[str, tuple[str, ...]] = {
    "record": ("source=page", "source=environment source.id=CartPole-v1", "source=policy source.policy=champion",
               "source=import source.files=[a.npz]", "source=keys source.files=[a.txt]",
               "source=keyboard", "source=browser"),
    "pretrain": ("",),
    "finetune": ("schedule=kurodo", "schedule=champion", "environment=CartPole-v1 schedule.decisions=1000",
                 "schedule=live-only algorithm=acer-small", "schedule=live-only algorithm=ftw algorithm.period=5",
                 *(f"schedule=live-only algorithm={name}" for name in ("dqn", "ddqn", "rlpd", "vtrace"))),
    "evaluate": ("policy=champion",), "watch": ("policy=champion",), "search": ("",), "distil": ("games=[games]",),
    "play": ("",), "coach": ("",), "population": ("", "agent=ftw", "agent=vtrace distributed=ray"),
    "study": ("study=cartpole-dqn",), "compare": ("with=runs/with-*",), "verify": ("dataset=games",),
    "describe": ("dataset=games",),
    "copy": ("dataset=games out=new drop_episodes=[0]",), "relabel": ("dataset=games out=new reward=speed",),
    "reestimate": ("dataset=games out=new",), "reconstruct": ("dataset=games out=new",), "report": ("dataset=games",),
    "import": ("dataset=games out=new",), "export": ("dataset=games out=new to=minari",),
}  # fmt: skip
"""Right lines of the commands and verbs."""

BROKEN = (
    "=", "=1", "+", "~", "++", "a..b=1", ".=1", "seed", "", " ", "--sead", "-x", "\1x=1", "\x1b[31mseed=1", "sé\nd=1",
    "\udcff=1", "{a: 1}", "/", "a@b=c", "[" * 400 + "]" * 400, "--config-name=nonsense",
    "hydra.run.dir=made", "-m",
)  # fmt: skip
"""Words that are no setting in any form."""

NO_NUMBER = ("nonsense", "[", "{a:", "1,2", "''", "9" * 5000, "[" * 600, "${nothing}", "nan", "1 2")
"""Values that no number, choice or truth value takes."""


class Lines:
    """Lines in one folder. only: names of commands and verbs."""

    NAMES, QUICK = (*LINES,), (*LINES,)

    def __init__(self, folder: Path, only: Sequence[str]) -> None:
        self.folder, self.only = folder, only
        (folder / "file").write_text("in the way\n")

    def run(self, seed: int) -> str:
        """Run the line of a seed; its command and mistake."""
        draw, name = random.Random(seed), self.only[seed % len(self.only)]
        right = draw.choice(LINES[name]).split()
        kind, word = self._mistake(draw, main_of(name), right)
        words = [*right, word]
        if kind != "option":  # of which the last counts
            draw.shuffle(words)
        before = self._contents()
        try:
            end = Child(command([name, *words]), self.folder).wait(20.0)
            line = end.require_one_line(f"{main_of(name).program}: ")
        except AssertionError as error:
            raise AssertionError(f"{name} {words}, {kind}: {error}") from None
        assert len(line) <= 1000, line
        assert end.out.strip() == "", end  # a bar of progress that had nothing to show
        assert self._contents() == before, f"{name} {words} changed the folder"
        return f"{name}: {kind}"

    def _mistake(self, draw: random.Random, main: Any, right: Sequence[str]) -> tuple[str, str]:
        """A kind of mistake, and the word with it."""
        read = main.read(right)
        every = [(place, one) for place, one in places(type(read), read) if one and not (one.options or one.nested)]
        settings = [one for one in every if f"{one[0]}=" not in " ".join(right)]
        place, one = draw.choice(settings or [("dataset", schema(main.settings)["dataset"])])
        kind = draw.choice(("broken", "name", "value", "value", "folder", "option"))
        if kind == "value" and (one.kind in (int, float, bool) or get_origin(one.kind) is Literal):
            return kind, f"{place}={draw.choice(NO_NUMBER)}"
        if kind == "folder" and (folders := [place for place, one in settings if place == "out"]):
            return kind, f"{draw.choice(folders)}=file/inside"
        if kind == "option" and main.groups:
            return kind, f"{draw.choice([*main.groups])}=nonsense"
        if kind == "name":
            at = draw.randrange(len(place) + 1)
            return kind, f"{place[:at]}{draw.choice('xyzq')}{place[at:]}=1"
        return "broken", draw.choice(BROKEN)

    def _contents(self) -> list[tuple[str, int]]:
        return sorted((str(path), path.stat().st_mtime_ns) for path in self.folder.rglob("*"))

"""`qwop-compare`: its settings, and its work."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..common.command import read_own_file
from ..common.cores import cores
from ..common.errors import BadInput, quoted
from ..common.files import write_atomic
from ..common.folder_lock import exclusive_lock
from ..common.run_folder import CONFIGURATION, command_line, require_no_other_run, to_yaml
from ..common.schema import nearest, schema
from ..common.settings import Count, HomePath, NoSuchSetting, OutFolder, Settings
from ..finetune.settings import FinetuneSettings

WRITES = ("results.json", "table.md", "curves.csv")


class CompareSettings(Settings):
    """The settings of `qwop-compare`. A word with another name is a row: `with=runs/with-*`."""

    rows: HomePath | None = None
    """File of rows (YAML): `rows` by name, and seeds, against, goal and title. Folders of finished runs need no file:
    with=runs/with-* without=runs/without-* names two rows."""
    out: OutFolder = "runs/compare"
    """Folder of the runs, the tables and the report."""
    jobs: Count = 1
    """Runs side by side, each with one thread on a core of its own."""
    seeds: Count | None = None
    """Runs of each row, with the seeds 0, 1, …; null: 3."""
    against: str | None = None
    """Row that the others are compared with. null: the last one of each environment."""
    goal: float | None = None
    """Return from which a game counts as solved; the share of such games is then a figure, too."""
    title: str | None = None
    """Title of the page."""
    row: Mapping[str, Any] = {}
    """The rows of the command line, by name: folders of finished runs (a list, or a pattern), or a command line."""

    @classmethod
    def complete(cls, node: dict[str, Any], line: Sequence[tuple[str, Any]], options: Mapping[str, str]) -> None:
        names = [*schema(cls)]
        rows = {name: node.pop(name) for name in [*node] if name not in names}
        for name in rows:
            if nearest(name, names) is not None:
                raise NoSuchSetting(name, names)
        if isinstance(row := node.setdefault("row", {}), dict):
            row.update(rows)

    def check(self) -> None:
        for name, row in self.row.items():  # here, too: a misspelt setting needs no PyTorch
            if not isinstance(row, str | Sequence | Mapping):
                raise BadInput(f"{name}: {quoted(row)}, expected folders of finished runs, or command lines")


def run(settings: CompareSettings) -> None:
    """Compare the rows, run what is missing, and leave tables and report in `out`."""
    from .main import compare  # with PyTorch

    names, out = ("seeds", "against", "goal", "title"), Path(settings.out)
    options = _rows_of(settings.rows, names) if settings.rows is not None else {}
    options |= {name: one for name in names if (one := getattr(settings, name)) is not None}
    rows = {**options.pop("rows", {}), **settings.row}
    if not rows:
        raise BadInput("no rows: give folders of finished runs, such as with=runs/with-*, or rows=FILE.yaml")
    with exclusive_lock(out, "out"):
        require_no_other_run(out, CompareSettings, WRITES)
        try:
            comparison = compare(rows, jobs=settings.jobs, out=out, **options)
        except KeyboardInterrupt:
            print("stopped; the same command goes on with the runs that are missing")
            raise
        write_atomic(out / CONFIGURATION, to_yaml(settings))
    print(comparison.markdown.partition("```")[0].rstrip(), f"\nreport: {out / 'report.html'}", sep="\n")
    if failures := comparison.results["failed"]:
        name, last = next(iter(failures.items()))
        raise BadInput(f"{name} failed: {last}; {len(failures)} in all, which the same command tries again")


def finetune(settings: FinetuneSettings) -> None:
    """Carry out `qwop-finetune`: one training, or with seeds=3 as many, and a comparison of their figures."""
    from ..finetune.main import run as train

    if settings.seeds == 1:
        train(settings)
        return
    line = command_line("qwop-finetune", settings.words, without=("seeds", "seed", "out", "resume"))
    seeds = [*range(settings.seed, settings.seed + settings.seeds)]
    run(CompareSettings(out=settings.out, jobs=cores(), row={"run": {"command": line, "seeds": seeds}}))


def _rows_of(path: str, names: Sequence[str]) -> dict[str, Any]:
    """The content of a file of rows; BadInput for anything else."""
    document = read_own_file("rows", path, "expected a file of rows")
    if unknown := document.keys() - {"rows", *names}:
        raise BadInput(f"{path}: {quoted(sorted(unknown)[0])} is unknown; expected rows, {', '.join(names)}")
    if not isinstance(document.get("rows"), dict):
        raise BadInput(f"{path}: no rows; expected rows by name, each a command line or folders of finished runs")
    return document

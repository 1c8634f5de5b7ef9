"""`qwop-compare`: its settings, and its work."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..common.command import read_own_file
from ..common.cores import cores
from ..common.errors import BadInput, naming, quoted
from ..common.files import write_atomic
from ..common.folder_lock import exclusive_lock
from ..common.run_folder import CONFIGURATION, command_line, require_no_other_run, to_yaml
from ..common.schema import nearest, no_such_setting, schema
from ..common.settings import Count, HomePath, OutFolder, Settings
from ..finetune.settings import FinetuneSettings

TABLE = "table.md"
WRITES = ("results.json", TABLE, "curves.csv")


class CompareSettings(Settings):
    """The settings of `qwop-compare`. A word with another name is a row: `with=runs/with-*`."""

    rows: HomePath | None = None
    """File of rows (YAML): `rows` by name, and jobs, seeds, against and title. Folders of finished runs need no file:
    with=runs/with-* without=runs/without-* names two rows."""
    out: OutFolder = "runs/compare"
    """Folder of the runs, the tables and the report."""
    jobs: Count = 1
    """Runs side by side, each with one thread on a core of its own."""
    seeds: Count = 3
    """Runs of each row, with the seeds from 0 on."""
    against: str | None = None
    """Row that the others are compared with. null: the last one of each environment."""
    title: str = "qwop-compare"
    """Title of the page."""
    row: Mapping[str, Any] = {}
    """The rows by name: folders of finished runs (a list, or a pattern), or command lines."""

    @classmethod
    def complete(cls, node: dict[str, Any], line: Sequence[tuple[str, Any]], options: Mapping[str, str]) -> None:
        names = [name for name in schema(cls) if name != "row"]
        rows = {name: node.pop(name) for name in [*node] if name not in names}
        if typo := next((name for name in rows if nearest(name, names) is not None), None):
            raise no_such_setting(typo, names)
        node["row"] = rows

    def check(self) -> None:
        for name, row in self.row.items():  # here, too: a misspelt setting needs no PyTorch
            if not isinstance(row, str | Sequence | Mapping):
                raise BadInput(f"{name}: {quoted(row)}, expected folders of finished runs, or command lines")

    def with_file(self) -> "CompareSettings":
        """These settings and, where they leave them open, those of the file of rows."""
        if self.rows is None:
            return self
        document = read_own_file("rows", self.rows, "expected a file of rows")
        with naming(f"rows={self.rows}"):
            if not isinstance(own := document.pop("rows", {}), Mapping):
                raise BadInput(f"rows are {quoted(own)}, expected names of rows")
            document = {name: value for name, value in document.items() if name not in self.model_fields_set}
            return self.with_(**{**document, "row": {**own, **self.row}})


def run(settings: CompareSettings) -> None:
    """Compare the rows, run what is missing, and leave tables and report in `out`."""
    settings = settings.with_file()
    if not settings.row:
        raise BadInput("no rows: give folders of finished runs, such as with=runs/with-*, or a file of rows")
    from .main import compare  # with PyTorch

    out = Path(settings.out)
    with exclusive_lock(out, "out", within=("made",)):
        require_no_other_run(out, CompareSettings, WRITES)
        try:
            comparison = compare(settings.row, **settings.model_dump(exclude={"rows", "row"}))
        except KeyboardInterrupt:
            print("stopped; the same command goes on with the runs that are missing")
            raise
        write_atomic(out / CONFIGURATION, to_yaml(settings))
    tables = (out / TABLE).read_text(encoding="utf-8").partition("```")[0].rstrip()
    print(tables, f"\nreport: {out / 'report.html'}", sep="\n")
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

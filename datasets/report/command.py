"""`qwop-dataset report`: a page about a dataset, or about two side by side."""

from dataclasses import dataclass
from pathlib import Path

from ...common.command import to_yaml
from ...common.command_line import clone_next, command_line
from ...common.errors import BadInput
from ...common.files import write_atomic
from ...common.folder_lock import shared_lock
from ...common.progress import plain_console
from ...common.settings import Settings, setting
from ..reader import open_dataset
from ..subcommand import Subcommand
from .document import document
from .sample import sample


@dataclass(frozen=True)
class ReportSettings(Settings):
    """The dataset, and the one to compare it with."""

    dataset: str = setting(help="Folder of the dataset.", example="data/me", path=True)
    against: str | None = setting(None, "Folder of another dataset, shown beside it.", path=True)
    out: str | None = setting(None, "File of the report (.html). null: beside the dataset, named after it.", path=True)
    games: int = setting(
        30,
        "Episodes of each dataset that are drawn and can be played; each takes about 70 kB.",
        at_least=1,
        at_most=1000,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.out is not None and Path(self.out).suffix != ".html":
            raise BadInput(f"out={self.out}: expected the name of a page (.html)")

    @property
    def file(self) -> Path:
        """The report's file, with the default in place."""
        folder = Path(self.dataset).resolve()
        return Path(self.out) if self.out is not None else folder.with_name(f"{folder.name}-report.html")


def run(settings: ReportSettings) -> None:
    """Write the page."""
    folders = [settings.dataset, *([settings.against] if settings.against is not None else [])]
    samples = [sample(open_dataset(folder), settings.games) for folder in folders]
    made_by = command_line("qwop-dataset report", settings, "dataset")
    with shared_lock(settings.file.parent, "out", beside=True):
        write_atomic(settings.file, document(samples, made_by, to_yaml(settings)))
    console = plain_console()
    console.print(f"report: {settings.file}")
    console.print(clone_next(Path(settings.dataset)))


command = Subcommand(
    "dataset-report",
    ReportSettings,
    run,
    about="Write a page about a dataset: statistics, charts, keys, gait, and a player of its games.",
    examples=[
        ("qwop-dataset report data/me", ""),
        ("qwop-dataset report data/me against=data/kurodo", "two datasets side by side"),
    ],
)

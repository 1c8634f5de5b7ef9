"""`qwop-dataset import`: a dataset from another tool's files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.errors import BadInput
from ...common.imports import without_module
from ...common.progress import plain_console
from ...common.settings import Settings, setting
from ...common.shared_settings import environment_settings, smoothing
from ...common.typed_texts import Names
from ...envs.spec import EnvironmentSpec
from ..editing.new_dataset import finish, new_folder, require_outside, write_dataset
from ..subcommand import Subcommand
from . import minari, tables
from .imported import ImportDefaults, Imported

EXPECTED = (
    "expected a table (.csv, .tsv, .parquet, .npz, packed or not), a folder of them such as LeRobot's, or the folder "
    "of a Minari dataset"
)


@dataclass(frozen=True)
class DatasetImportSettings(Settings):
    """The files to import, and facts that they lack."""

    dataset: str = setting(help="Folder or file to import; its format is detected.", example="minari/me-v0", path=True)
    out: str = setting(help="Folder of the new dataset.", example="data/me", written=True)
    environment_id: str | None = setting(
        None,
        "Environment of the episodes; the module that registers it may stand in front (my_envs:Walk-v0). null: the one "
        "that the files name; tables name none.",
    )
    environment: Mapping[str, Any] = environment_settings(
        "Settings of that environment, such as environment.frames_per_step=4.", "environment_id"
    )
    columns: Mapping[str, Names] = setting(
        {},
        "Tables: names of their columns, where they differ from action, reward, episode, terminated, truncated and "
        "observation, such as columns.action=key or 'columns.observation=[x,speed]'.",
    )
    player: str = setting("unknown", "Name of the player, if the files lack it.")
    epsilon: float = smoothing(" if the files lack them")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.environment_id is not None:
            object.__setattr__(self, "environment_id", without_module(self.environment_id, "environment_id"))
        if self.environment and self.environment_id is None:
            raise BadInput("environment: its settings need environment_id, such as environment_id=QWOP-v1")


def run(settings: DatasetImportSettings) -> None:
    """Write the episodes as a dataset, and print what was filled in."""
    console = plain_console()
    path, out = Path(settings.dataset), Path(settings.out)
    require_outside(out, [path])
    found = open_foreign(path, settings)
    if not found.total:
        raise BadInput(f"{path}: has no episode; {EXPECTED}")
    with new_folder(out, [path]) as folder:
        write_dataset(folder, found.info, found.episodes, found.total, console, [])
    for note in found.notes:
        console.print(note)
    finish(out, console)


def open_foreign(path: Path, settings: DatasetImportSettings) -> Imported:
    """Detect the format and open the files; BadInput for an unknown format."""
    environment = None
    if settings.environment_id is not None:
        environment = EnvironmentSpec(settings.environment_id, settings.environment)
    defaults = ImportDefaults(settings.player, settings.epsilon, environment)
    if not path.exists():
        raise BadInput(f"{path}: no such file or folder; {EXPECTED}")
    if minari.is_minari(path):
        return minari.read(path, defaults)
    if tables.is_table(path):
        return tables.read(path, defaults, settings.columns)
    raise BadInput(f"{path}: cannot be imported; {EXPECTED}")


command = Subcommand(
    "dataset-import",
    DatasetImportSettings,
    run,
    about="Write a new dataset from a table (CSV, Parquet, NumPy's arrays, LeRobot's folder) or from Minari's.",
    examples=[
        ("qwop-dataset import mine.csv out=data/mine environment_id=my_envs:Walk-v0 columns.action=key", "a table"),
        ("qwop-dataset import mine.npz out=data/mine environment_id=CartPole-v1", "NumPy's arrays"),
        ("qwop-dataset import lerobot/me out=data/me environment_id=CartPole-v1", "LeRobot"),
        ("qwop-dataset import minari/me-v0 out=data/me", ""),
    ],
)

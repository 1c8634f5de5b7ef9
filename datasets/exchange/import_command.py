"""`qwop-dataset import`: a dataset from another tool's files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ...common.command import Command
from ...common.errors import BadInput
from ...common.progress import plain_console
from ...common.settings import Expected, HomePath, OutFolder, Settings
from ...common.shared_settings import EnvironmentId, Smoothing
from ...envs.spec import EnvironmentSpec
from ..editing.new_dataset import finish, new_folder, require_outside, write_dataset
from . import minari, tables
from .imported import ImportDefaults

EXPECTED = (
    "expected a table (.csv, .tsv, .parquet, .npz, packed or not), a folder of them such as LeRobot's, or the folder "
    "of a Minari dataset"
)


def _names(value: Any) -> Any:
    """Names as texts, one or several; a number is a name, too."""
    if value is None or isinstance(value, Mapping):
        raise ValueError
    return tuple(map(str, value)) if isinstance(value, list | tuple) else str(value)


Names = Annotated[str | tuple[str, ...], BeforeValidator(_names)]
"""The name of a column, or of several."""


class DatasetImportSettings(Settings):
    """The files to import, and facts that they lack."""

    dataset: Annotated[HomePath, Field(examples=["minari/me-v0"])]
    """Folder or file to import; its format is detected."""
    out: Annotated[OutFolder, Field(examples=["data/me"])]
    """Folder of the new dataset."""
    environment_id: EnvironmentId | None = None
    """Environment of the episodes; the module that registers it may stand in front (my_envs:Walk-v0). null: the one
    that the files name; tables name none."""
    environment: Annotated[
        Mapping[str, Any], Expected("settings such as {frames_per_step: 2}; environment_id names the environment")
    ] = Field(default_factory=dict)
    """Settings of that environment, such as environment.frames_per_step=4."""
    columns: Annotated[Mapping[str, Names], Expected("names of columns, {observation: [x, speed]}")] = Field(
        default_factory=dict
    )
    """Tables: names of their columns, where they differ from action, reward, episode, terminated, truncated and
    observation, such as columns.action=key or 'columns.observation=[x,speed]'."""
    player: str = "unknown"
    """Name of the player, if the files lack it."""
    epsilon: Smoothing = 0.05
    """Smoothing of the behaviour probabilities if the files lack them: this fraction is spread evenly over all
    actions."""

    def check(self) -> None:
        if self.environment and self.environment_id is None:
            raise BadInput("environment: its settings need environment_id, such as environment_id=QWOP-v1")


def run(settings: DatasetImportSettings) -> None:
    """Write the episodes as a dataset, and print what was filled in; the format is detected."""
    console = plain_console()
    path, out = Path(settings.dataset), Path(settings.out)
    require_outside(out, [path])
    id = settings.environment_id
    environment = None if id is None else EnvironmentSpec(id, settings.environment)
    defaults = ImportDefaults(settings.player, settings.epsilon, environment)
    if not path.exists():
        raise BadInput(f"{path}: no such file or folder; {EXPECTED}")
    if minari.is_minari(path):
        games = minari.read(path, defaults)
    elif tables.is_table(path):
        games = tables.read(path, defaults, settings.columns)
    else:
        raise BadInput(f"{path}: cannot be imported; {EXPECTED}")
    if not games.total:
        raise BadInput(f"{path}: has no episode; {EXPECTED}")
    with new_folder(out, [path]) as folder:
        write_dataset(folder, games.info, games.episodes, games.total, console)
    for note in games.notes:
        console.print(note)
    finish(out, console)


command = Command(
    "dataset import",
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

"""`qwop-dataset upgrade`: rewrite a dataset of an older version in the current one."""

from dataclasses import dataclass, replace
from pathlib import Path

from ...common.progress import plain_console
from ...common.settings import Settings, setting
from ..reader import open_dataset
from ..schema import SHARED_CONTROL
from ..subcommand import Subcommand
from .new_dataset import finish, new_folder, write_dataset


@dataclass(frozen=True)
class UpgradeSettings(Settings):
    """The dataset to upgrade."""

    dataset: str = setting(help="Folder of the dataset.", example="data/me", path=True)
    out: str = setting(help="Folder of the new dataset.", example="data/me-3", written=True)


def run(settings: UpgradeSettings) -> None:
    """Rewrite every episode with the same content."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    info = replace(dataset.info, version=SHARED_CONTROL)
    with new_folder(out, [dataset.folder]) as folder:
        write_dataset(folder, info, dataset, len(dataset), console, [dataset])
    finish(out, console)


command = Subcommand(
    "dataset-upgrade",
    UpgradeSettings,
    run,
    about="Rewrite a dataset in the newest version of the format (3), with the same content.",
    examples=[("qwop-dataset upgrade data/me out=data/me-3", "")],
)

"""`qwop-record`: games from a source into a dataset."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console

from ..common.command import command, settings
from ..common.errors import BadInput
from ..common.progress import progress_bar
from ..datasets.reader import open_dataset
from ..datasets.writer import DatasetWriter, next_number
from .source import Source


def _import(config: DictConfig, folder: Path) -> Source:
    from .published.source import ImportSettings, open_import

    return open_import(settings(ImportSettings, config, "source"), folder)


def _policy(config: DictConfig, folder: Path) -> Source:
    import torch

    from .by_policy import PolicySettings, open_policy

    torch.set_num_threads(1)  # for a network this small, threads wait for each other longer than they compute
    return open_policy(settings(PolicySettings, config, "source"), folder)


def _page(config: DictConfig, folder: Path) -> Source:
    from .page.source import PageSettings, open_page

    return open_page(settings(PageSettings, config, "source"), folder)


def _browser(config: DictConfig, folder: Path) -> Source:
    from .original.source import BrowserSettings, open_browser_source

    return open_browser_source(settings(BrowserSettings, config, "source"), folder)


def _keyboard(config: DictConfig, folder: Path) -> Source:
    from .keyboard.source import KeyboardSettings, open_keyboard

    return open_keyboard(settings(KeyboardSettings, config, "source"), folder)


SOURCES: dict[str, Callable[[DictConfig, Path], Source]] = {
    "browser": _browser,
    "import": _import,
    "keyboard": _keyboard,
    "page": _page,
    "policy": _policy,
}
"""How each `source=` is opened. What a source needs is imported when it is asked for, some of it being an extra."""


def run(config: DictConfig) -> None:
    """Record what the source has, each game a whole file as soon as it is there, and print what the dataset holds."""
    console = Console()
    folder = _folder(config)
    given = OmegaConf.to_container(config.source)
    assert isinstance(given, dict)
    kind = given.pop("kind")
    source = SOURCES[kind](OmegaConf.create(given), folder)
    writer = DatasetWriter(folder, source.info)
    _keep_configuration(config, folder)
    for note in source.notes:
        console.print(note, highlight=False, soft_wrap=True)
    record(source, writer, console)
    if next_number(folder) == 0:
        console.print(f"nothing was recorded into {folder}", soft_wrap=True, highlight=False)
    else:
        console.print(open_dataset(folder).summary().table(f"{folder}"))


def _folder(config: DictConfig) -> Path:
    try:
        folder = config.dataset
    except OmegaConfBaseException as error:  # a player that an interpolation cannot find
        raise BadInput(f"dataset: {str(error).splitlines()[0]}") from None
    if folder in (None, ""):
        raise BadInput("dataset is empty: name the folder to record into, such as dataset=data/mine")
    return Path(str(folder))


def record(source: Source, writer: DatasetWriter, console: Console) -> None:
    """Write every episode of the source as it comes. Ctrl-C loses the games under way, no other.

    It is how a source ends that nobody knows the length of, and an interruption of any other.
    """
    try:
        with progress_bar("games", console) as progress:
            task = progress.add_task("recording", total=source.total)
            for episode in source.episodes:
                with _after_interrupts():
                    source.written(writer.write(episode))
                progress.advance(task)
    except KeyboardInterrupt:
        console.print(f"stopped; the games that had ended are in {writer.folder}", soft_wrap=True, highlight=False)
        if source.total is not None:
            raise


@contextmanager
def _after_interrupts() -> Iterator[None]:
    """Ctrl-C is heard after what is inside, so that a game being written gets written."""
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt


def _keep_configuration(config: DictConfig, folder: Path) -> None:
    """The resolved configuration of this recording, beside those of others into the same dataset."""
    recordings = folder / "recordings"
    recordings.mkdir(exist_ok=True)
    path = recordings / f"{datetime.now():%Y-%m-%dT%H-%M-%S.%f}-{os.getpid()}.yaml"
    with path.open("x", encoding="utf-8") as file:
        file.write(OmegaConf.to_yaml(config, resolve=True))


main = command("record", run)

"""`source=page`: a person plays on a local page in the browser."""

import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ...common.errors import BadInput
from ...datasets.embedded import embedded_dataset
from ...datasets.folder import read_info
from ...datasets.schema import DatasetInfo, Episode
from ..live_game import LiveGame
from ..person import info_for
from ..settings import RecorderPageSettings
from ..source import Source
from .library import Library
from .qwop_game import QwopGame
from .server import PageServer


def open_page(settings: RecorderPageSettings, folder: Path) -> Source:
    """Serve the page; the games played on it are yielded as they end. BadInput for invalid settings."""
    info = info_for(settings, folder)
    ghost, others = _ghosts(settings.ghost)
    LiveGame().advance(0)  # compiles the engine now if necessary, rather than during the first game
    server = PageServer(
        Library(folder, others),
        lambda: QwopGame(info, settings.player, settings.epsilon),
        {"player": settings.player, "ghost": ghost},
        settings.port,
    )
    return page_source(server, info, settings.open)


def page_source(
    server: PageServer, info: DatasetInfo, open_browser: bool, close: Callable[[], None] = lambda: None
) -> Source:
    """The games of a page's server as a source. close: called once the server has stopped."""

    def finish() -> Sequence[Episode]:
        try:
            return server.stop()
        finally:
            close()

    return Source(
        info=info,
        episodes=_episodes(server, open_browser),
        notes=[
            f"play at {server.address}",
            "press Ctrl-C here when you are done; every game is saved as it ends, and so is one that is under way then",
        ],
        written=server.written,
        finish=finish,
    )


def _episodes(server: PageServer, open_browser: bool) -> Iterator[Episode]:
    server.start()
    if open_browser:
        webbrowser.open(server.address)
    yield from server.episodes()


def _ghosts(ghost: str) -> tuple[str, dict[str, Path]]:
    """Choose the first ghost ('embedded', 'best', 'none' or 'other') and the collections other than one's own games."""
    collections: dict[str, Path] = {}
    with suppress(BadInput):  # this installation has no demonstrations
        collections["embedded"] = embedded_dataset()
    if ghost in ("best", "none"):
        return ghost, collections
    if ghost == "embedded":
        return ghost if collections else "none", collections
    read_info(Path(ghost))
    return "other", {"other": Path(ghost), **collections}

"""`source=page`: a person plays QWOP in the browser, on the page of `qwop-play`."""

from pathlib import Path

from ...common.progress import plain_console
from ...datasets.folder import read_info
from ..live_game import LiveGame
from ..page.library import Library
from ..page.source import page_source
from ..person import info_for
from ..settings import RecorderPageSettings
from ..source import Source
from .server import PlayServer


def open_page(settings: RecorderPageSettings, folder: Path) -> Source:
    """Serve the page; the games played on it are yielded as they end. BadInput for invalid settings."""
    info = info_for(settings, folder)
    others: dict[str, Path] = {}
    ghost = settings.ghost
    if ghost not in ("embedded", "best", "none"):
        read_info(Path(ghost))
        others["other"], ghost = Path(ghost), "other"
    LiveGame().advance(0)  # compiles the engine now if necessary, rather than after the first game
    page = {"player": settings.player, "ghost": ghost}
    server = PlayServer(Library(folder, others), info, settings.epsilon, page, settings.port, plain_console().print)
    return page_source(server, info, settings.open)

"""`source=page`: a person plays in the browser."""

import webbrowser
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ...common.errors import BadInput
from ...datasets.embedded import embedded_dataset
from ...datasets.schema import Episode
from ...datasets.writer import DESCRIPTION, read_info, require_same
from ...envs.names import ACTIONS
from ..person import person_info
from ..settings import RecorderPageSettings
from ..source import Source
from .library import Library
from .server import PageServer


def open_page(settings: RecorderPageSettings, folder: Path) -> Source:
    """The games that are played at the page, each given the moment it ends. BadInput for settings that cannot be."""
    info = person_info(settings.frames_per_step, settings.reward, settings.observation_lag)
    info.environment.make()  # is refused now rather than when the first game has ended
    assert info.actions == len(ACTIONS)
    if (folder / DESCRIPTION).exists():
        require_same(read_info(folder), info, folder)
    ghost, others = _ghosts(settings.ghost)
    server = PageServer(Library(folder, others), info, settings.player, settings.epsilon, ghost, settings.port)
    return Source(
        info=info,
        episodes=_episodes(server, settings.open),
        notes=[f"play at {server.address}", "Ctrl-C here when you are done; every game is kept as it ends"],
        written=server.written,
    )


def _episodes(server: PageServer, open_browser: bool) -> Iterator[Episode]:
    server.start()
    if open_browser:
        webbrowser.open(server.address)
    yield from server.episodes()


def _ghosts(ghost: str) -> tuple[str, dict[str, Path]]:
    """What the page is told to race against ('embedded', 'best', 'none' or 'other'), and the shelves beside the own."""
    shelves: dict[str, Path] = {}
    with suppress(BadInput):  # an installation without demonstrations
        shelves["embedded"] = embedded_dataset()
    if ghost in ("best", "none"):
        return ghost, shelves
    if ghost == "embedded":
        return ghost if shelves else "none", shelves
    read_info(Path(ghost))
    return "other", {"other": Path(ghost), **shelves}

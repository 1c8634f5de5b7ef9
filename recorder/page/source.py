"""Games of a page's server as a source."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...common.show_page import forwarding, open_page
from ...datasets.schema import DatasetInfo, Episode
from ..source import Source
from .local_server import LocalServer


def page_source(
    server: LocalServer, info: DatasetInfo, open_browser: bool, close: Callable[[], None] = lambda: None,
    after_game: Callable[[], object] = lambda: None,
) -> Source:  # fmt: skip
    """The games of a page's server as a source. close: called once the server has stopped. after_game: called once a
    game is written."""

    def finish() -> Sequence[Episode]:
        try:
            return server.stop()
        finally:
            close()

    def written(path: Path) -> None:
        server.written(path)
        after_game()

    return Source(
        info=info,
        episodes=_episodes(server, open_browser),
        notes=[
            f"play at {server.address}",
            *filter(None, [forwarding(server.address)]),
            "press Ctrl-C here when you are done; every game is saved as it ends, and so is one that is under way then",
        ],
        written=written,
        finish=finish,
    )


def _episodes(server: LocalServer, open_browser: bool) -> Iterator[Episode]:
    pa.array(np.zeros(0))  # pyarrow imports pandas with its first array: now, not while a game is written
    server.start()
    if open_browser:
        open_page(server.address)
    yield from server.episodes()

"""Games of a page's server as a source."""

import webbrowser
from collections.abc import Callable, Iterator, Sequence

from ...datasets.schema import DatasetInfo, Episode
from ..source import Source
from .local_server import LocalServer


def page_source(
    server: LocalServer, info: DatasetInfo, open_browser: bool, close: Callable[[], None] = lambda: None
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


def _episodes(server: LocalServer, open_browser: bool) -> Iterator[Episode]:
    server.start()
    if open_browser:
        webbrowser.open(server.address)
    yield from server.episodes()

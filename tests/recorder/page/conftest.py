"""A page's server whose games are written as `qwop-record` writes them."""

import http.client
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from qwop.datasets.schema import DatasetInfo
from qwop.datasets.writer import DatasetWriter
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.page.server import EnvironmentServer
from websockets.sync.client import ClientConnection, connect


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser; skips without one."""
    from ...play.page import open_browser

    started = open_browser(size="1280,800")
    yield started
    started.quit()


class Recorder:
    """A server whose games are written as `qwop-record` writes them."""

    def __init__(self, folder: Path, server: EnvironmentServer, info: DatasetInfo) -> None:
        self.folder, self.server = folder, server
        self.games = GameWriter(DatasetWriter(folder, info))
        self.server.start(self.games)
        self.address = urlsplit(self.server.address)

    def stop(self) -> None:
        """Stop; the games that are under way are written."""
        self.server.stop()
        self.games.close()

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.address.netloc, timeout=10)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def play(self, origin: str | None = None, path: str | None = None) -> ClientConnection:
        origin = origin or f"http://{self.address.netloc}"
        return connect(f"ws://{self.address.netloc}{path or self.address.path + 'play'}", origin=origin)  # type: ignore[arg-type]

    def wait_for_games(self, count: int) -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if len(list(self.folder.glob("episodes/episode-*.parquet"))) == count:
                return
            time.sleep(0.02)
        raise AssertionError(f"{len(list(self.folder.glob('episodes/episode-*.parquet')))} games, expected {count}")


@pytest.fixture
def make_recorder() -> type[Recorder]:
    return Recorder

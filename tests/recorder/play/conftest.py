"""Games as the page sends them, and a server whose games are written as `qwop-record` writes them."""

import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.writer import DatasetWriter
from qwop.envs import replay
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.page.library import Library
from qwop.recorder.play.server import PlayServer
from websockets.sync.client import ClientConnection, connect

INFO = qwop_info(frames_per_step=3, reward="shaped", observation_lag=0)


@dataclass(frozen=True)
class PagesGame:
    """A game as the page has played it."""

    game: str
    keys: NDArray[np.uint8]
    frames: list[int]
    sha256: str

    @classmethod
    def of(cls, keys: Sequence[int], number: int = 1) -> "PagesGame":
        game = replay(keys)
        played = np.array(keys[: len(game.states) - 1], np.uint8)
        return cls(f"{number:012x}", played, played.tolist(), game.sha256)

    def begin(self, **more: Any) -> str:
        said = {"type": "begin", "game": self.game, "player": "ada", "tempo": 1, "file": None, **more}
        return json.dumps(said)

    def part(self, start: int, end: int | None = None) -> str:
        return json.dumps({"type": "frames", "game": self.game, "at": start, "frames": self.frames[start:end]})

    def end(self, sha256: str | None = None) -> str:
        said = {"type": "end", "game": self.game, "frames": len(self.frames), "sha256": sha256 or self.sha256}
        return json.dumps(said)


class Recorder:
    """A server whose games are written as `qwop-record` writes them."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder, self.said = folder, list[str]()
        self.server = PlayServer(
            Library(folder, {}), INFO, 0.05, {"player": "me", "ghost": "none"}, port, self.said.append
        )
        self.games = GameWriter(DatasetWriter(folder, INFO))
        self.server.start(self.games)
        self.address = urlsplit(self.server.address)

    def stop(self) -> None:
        self.server.stop()
        self.games.close()

    def get(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.address.netloc, timeout=60)
        connection.request("GET", self.address.path + path)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def page(self) -> ClientConnection:
        origin: Any = f"http://{self.address.netloc}"
        return connect(f"ws://{self.address.netloc}{self.address.path}play", origin=origin)

    def send(self, game: PagesGame, **begin: Any) -> dict[str, Any]:
        """A whole game over a connection of its own; returns the first answer."""
        with self.page() as page:
            for message in (game.begin(**begin), game.part(0), game.end()):
                page.send(message)
            answer: dict[str, Any] = json.loads(page.recv(timeout=60))
            return answer

    def wait_for_games(self, count: int) -> None:
        until = time.monotonic() + 20
        while (found := len(list(self.folder.glob("episodes/episode-*.parquet")))) != count:
            assert time.monotonic() < until, f"{found} games, expected {count}"
            time.sleep(0.02)


@pytest.fixture
def game_of() -> Callable[..., PagesGame]:
    return PagesGame.of


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    made = Recorder(tmp_path / "dataset")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser; skips without one."""
    from ...play.page import open_browser

    started = open_browser(size="1280,800")
    yield started
    started.quit()

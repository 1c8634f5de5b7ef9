"""A recorder behind its page, as `qwop-record` opens it, and games as the page sends them."""

import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.datasets.writer import DatasetWriter
from qwop.envs import replay
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.main import open_source
from qwop.recorder.settings import RecorderPageSettings, SourceSettings
from websockets.sync.client import ClientConnection, connect


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser; skips without one."""
    from ...play.page import open_browser

    started = open_browser(size="1280,800")
    yield started
    started.quit()


@pytest.fixture(scope="module")
def phone() -> Iterator[Any]:
    """A browser with a phone's screen and touch."""
    from ...play.page import open_browser

    started = open_browser(phone=True)
    yield started
    started.quit()


@pytest.fixture
def open_page(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Opens pages, in the browser unless it is the phone, whose recorders are stopped after the test."""
    from .recording_page import RecordingPage

    opened: list[RecordingPage] = []

    def of(*arguments: str, folder: str = "games", into: Any = None) -> RecordingPage:
        into = into or request.getfixturevalue("browser")
        page = RecordingPage(into, tmp_path / folder, *arguments)
        opened.append(page)
        page.wait_until(lambda: page.value("document.body.dataset.recorder") == "connected", "connected")
        return page

    yield of
    for page in opened:
        page.stop()


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

    def part(self, start: int = 0, end: int | None = None, **more: Any) -> str:
        facts = {"player": "ada", "tempo": 1, **more}
        return json.dumps({"type": "frames", "game": self.game, "at": start, "frames": self.frames[start:end], **facts})

    def rest(self, start: int = 0, **more: Any) -> str:
        """Its last frames, which end it."""
        return self.part(start, **{"sha256": self.sha256, **more})


class Recorder:
    """A page of these settings, whose games are written as `qwop-record` writes them. failure: why it has ended."""

    def __init__(self, folder: Path, settings: SourceSettings | None = None) -> None:
        self.folder, self.failure = folder, ""
        self.source = open_source(settings or RecorderPageSettings(open=False, ghost="none"), folder)
        (address,) = re.findall(r"http://\S+", self.source.notes[0])
        self.address = urlsplit(address)
        self.games = GameWriter(DatasetWriter(folder, self.source.info))
        threading.Thread(target=self._record, daemon=True).start()
        assert self.get("games.json")[0] == 200  # it serves

    def _record(self) -> None:
        try:
            self.source.record(self.games)
        except BadInput as error:
            self.failure = str(error)

    def stop(self) -> None:
        """Stop; the games that are under way are written."""
        self.source.finish()
        self.games.close()

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.address.netloc, timeout=60)
        connection.request("GET", self.address.path + path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def page(self) -> ClientConnection:
        origin: Any = f"http://{self.address.netloc}"
        return connect(f"ws://{self.address.netloc}{self.address.path}play", origin=origin)

    def send(self, game: PagesGame, **more: Any) -> dict[str, Any]:
        """A whole game over a connection of its own; returns the first answer."""
        with self.page() as page:
            page.send(game.rest(**more))
            answer: dict[str, Any] = json.loads(page.recv(timeout=60))
            return answer

    def wait_for_games(self, count: int) -> None:
        self.wait_until(lambda: len(list(self.folder.glob("episodes/episode-*.parquet"))) == count, f"{count} games")

    def wait_until(self, true: Callable[[], Any], what: str) -> None:
        until = time.monotonic() + 20
        while not true():
            assert time.monotonic() < until, f"never {what}"
            time.sleep(0.02)


@pytest.fixture
def make_recorder(tmp_path: Path) -> Iterator[Callable[..., Recorder]]:
    """Opens recorders, which are stopped after the test."""
    made: list[Recorder] = []

    def make(settings: SourceSettings | None = None, folder: Path = tmp_path / "dataset") -> Recorder:
        made.append(Recorder(folder, settings))
        return made[-1]

    yield make
    for recorder in made:
        recorder.stop()


@pytest.fixture
def recorder(make_recorder: Callable[..., Recorder]) -> Recorder:
    """A recorder of a person who plays QWOP."""
    return make_recorder()


@pytest.fixture
def game_of() -> Callable[..., PagesGame]:
    return PagesGame.of

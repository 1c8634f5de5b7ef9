"""A coached game over the page's connection, and a recorder that is killed in the middle of it."""

import json
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, open_dataset
from qwop.recorder.coaching.page_source import open_coached_page
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.settings import EnvironmentPageSettings, RecorderPageSettings
from websockets.sync.client import ClientConnection, connect


class Page:
    """Does what the page does, without a browser."""

    def __init__(self, address: str) -> None:
        host = urlsplit(address)
        url = f"ws://{host.netloc}{host.path}play"
        self.socket: ClientConnection = connect(url, origin=f"http://{host.netloc}")  # type: ignore[arg-type]
        self.number, self.control, self.frames, self.row = 0, {"person": False, "waiting": False}, 0, np.zeros(0)
        self.ended: dict[str, Any] | None = None

    def _answer(self) -> None:
        """Take what the server sends until the frames, and what it says about control after them. Or until a game's
        end, which is said when the game is written: keys may have been sent meanwhile."""
        message = self.socket.recv(timeout=10)
        while isinstance(message, str):
            self._hear(message)
            if json.loads(message)["type"] == "ended":
                return
            message = self.socket.recv(timeout=10)
        numbers = np.frombuffer(message, "<f4")
        self.frames, self.row = int(numbers[1]), numbers[-45:]
        try:
            while isinstance(said := self.socket.recv(timeout=0.1), str):
                self._hear(said)
        except TimeoutError:
            pass

    def _hear(self, message: str) -> None:
        said = json.loads(message)
        if said["type"] == "control":
            self.control = {name: said[name] for name in ("person", "waiting")}
        elif said["type"] == "ended":
            self.ended = said

    def send(self, kind: str, **more: Any) -> None:
        if kind in ("start", "back"):
            self.number += 1
        self.socket.send(json.dumps({"type": kind, "game": self.number, **more}))
        if kind != "hand over":
            self._answer()

    def keys(self, held: int, frames: int) -> None:
        for _ in range(0, frames, 10):
            self.send("keys", keys=[held] * 10)


SETTINGS = RecorderPageSettings(policy="champion", open=False, max_idle_frames=0)


@contextmanager
def recording(folder: Path) -> Iterator[Page]:
    """The page of a recording that ends as the context does."""
    source = open_coached_page(SETTINGS, folder)
    (address,) = re.findall(r"http://\S+", source.notes[0])
    games = GameWriter(DatasetWriter(folder, source.info))
    thread = threading.Thread(target=source.record, args=[games], daemon=True)
    thread.start()
    page = Page(address)
    try:
        yield page
    finally:
        page.socket.close()
        assert [*source.finish()] == []
        games.close()


def test_control_goes_back_and_forth_over_the_connection(tmp_path: Path) -> None:
    with recording(tmp_path / "data") as page:
        take_over_and_go_back(page)
    games = open_dataset(tmp_path / "data")
    assert [len(game) > 0 for game in games] == [True, True]
    assert games[1].branch is not None
    assert not [*(tmp_path / "data").glob("aside/under-way-*")]


def take_over_and_go_back(page: Page) -> None:
    page.send("start")
    page.keys(0, 40)
    assert page.control == {"person": False, "waiting": False}
    page.keys(1, 10)
    assert page.control["person"]
    before = page.row
    page.send("back")
    assert page.control == {"person": False, "waiting": True}
    page.keys(0, 10)
    assert page.control["waiting"]
    page.send("hand over")
    page.keys(0, 10)
    assert page.control == {"person": True, "waiting": False}
    assert not np.array_equal(page.row, before)


def test_the_game_is_back_before_the_line_that_is_left_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write = threading.Event()
    write = GameWriter.write
    monkeypatch.setattr(GameWriter, "write", lambda *given: may_write.wait(60) and write(*given))
    with recording(tmp_path / "data") as page:
        page.send("start")
        page.keys(1, 40)
        page.send("back")
        assert page.control["waiting"]
        may_write.set()
    assert len(open_dataset(tmp_path / "data")) == 1


def test_one_does_not_go_back_in_a_game_that_was_discarded(tmp_path: Path) -> None:
    with recording(tmp_path / "data") as page:
        page.send("start")
        while page.ended is None:
            page.keys(9, 10)
        page.socket.send(json.dumps({"type": "discard", "name": page.ended["name"]}))
        assert json.loads(page.socket.recv(timeout=10))["type"] == "discarded"
        assert not [*tmp_path.rglob("*.partial")]  # a killed recorder's successor would record it again
        page.socket.send(json.dumps({"type": "back", "game": 2}))
        page.number = 2
        page.send("start")
        assert page.frames == 0
    assert not [*(tmp_path / "data").glob("episodes/episode-*.parquet")]


def test_another_environment_than_the_policys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"give source\.id=QWOP-v1"):
        open_coached_page(EnvironmentPageSettings(id="CartPole-v1", policy="champion", open=False), tmp_path / "data")


@contextmanager
def recorder(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Page]]:
    program = str(Path(sysconfig.get_path("scripts")) / "qwop-record")
    words = ["source=page", "source.policy=champion", "source.open=false", f"dataset={folder}"]
    process = subprocess.Popen([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    address = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
    yield process, Page(address)
    process.wait(timeout=30)


@pytest.mark.slow
def test_killed_recorders_lose_nothing(tmp_path: Path) -> None:
    folder, random, frames = tmp_path / "data", np.random.default_rng(1), []
    for number in range(6):
        with recorder(folder) as (process, page):
            page.send("start")
            page.keys(0, int(random.integers(2, 8)) * 10)
            if number % 2:
                page.send("back")
            page.keys(int(random.integers(1, 16)), 10 * int(random.integers(1, 4)))
            time.sleep(1.5)  # the copy of a game is half a second old at most
            process.send_signal(signal.SIGKILL if number < 5 else signal.SIGINT)
        frames.append(number % 2)
    games = [*open_dataset(folder)]
    assert len(games) == 6 + sum(frames)
    assert sum(game.branch is not None for game in games) == sum(frames)
    assert not [*folder.glob("aside/under-way-*")]


LEFT = """
import sys
from pathlib import Path
from qwop.datasets import DatasetWriter
from qwop.recorder.coaching.page_source import Recording, open_coached_page
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.settings import RecorderPageSettings

folder, settings = Path(sys.argv[1]), RecorderPageSettings(policy="champion")
source = open_coached_page(settings, folder)
opened = {name.split(".")[0] for name in sys.modules}
game = Recording(settings, folder).new_game()
game.frame(1)
DatasetWriter(folder, source.info).write(game.go_back(3))
source.finish()
print({name.split(".")[0] for name in sys.modules} - opened)
"""


@pytest.mark.needs(module="pandas")
def test_the_first_line_that_is_left_loads_no_libraries(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEFT, str(tmp_path / "games")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "set()\n"

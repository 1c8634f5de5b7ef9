"""Signals to a recorder while a person plays on its page; the player is a client that sends what the page sends.

Every game that was reported as recorded has to be there with its keys; unless the process was killed, so has the
beginning of the game under way. Then the client sends what was not confirmed to another recorder, every game is there
whole and once, and the whole dataset is verified.
"""

import json
import os
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from qwop.datasets import open_dataset
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from ..fakes import until
from ..recorder.page.conftest import PagesGame
from .children import Child, command
from .children import run as run_command
from .runs import SIGNALS
from .works import require_clean, require_whole

AT_ONCE, MOST_FRAMES = 3, 240
"""Frames in a message, as from the page, and in a game."""


class Player(threading.Thread):
    """Plays games on a recorder's page until its connection ends, first `unsent`, a game of an earlier recorder.

    recorded: the episodes that the recorder has reported, and the keys that were sent for each. under_way: the game
    that is not confirmed.
    """

    def __init__(self, address: str, seed: int, unsent: PagesGame | None = None) -> None:
        super().__init__()
        self.recorded: list[tuple[str, list[int]]] = []
        self.under_way = unsent
        self._address, self._random = urlsplit(address), random.Random(seed)
        self.start()

    def run(self) -> None:
        host = self._address.netloc
        try:
            with connect(f"ws://{host}{self._address.path}play", origin=f"http://{host}") as page:  # type: ignore[arg-type]
                while True:
                    self.under_way = self.under_way or self._new_game()
                    self._send(page, self.under_way)
        except (ConnectionClosed, InvalidHandshake, OSError):
            return

    def _new_game(self) -> PagesGame:
        held = np.repeat([self._random.randrange(1, 16) for _ in range(MOST_FRAMES // AT_ONCE)], AT_ONCE)
        return PagesGame.of(held.tolist(), self._random.getrandbits(48))

    def _send(self, page: ClientConnection, game: PagesGame) -> None:
        last = (len(game.frames) - 1) // AT_ONCE * AT_ONCE
        for at in range(0, last, AT_ONCE):
            page.send(game.part(at, at + AT_ONCE))
            time.sleep(0.002)
        page.send(game.rest(last))
        self.recorded.append((json.loads(page.recv())["name"], game.frames))
        self.under_way = None


class Pages:
    """Recorders in one folder. only: names of signals."""

    NAMES, QUICK = SIGNALS, SIGNALS

    def __init__(self, folder: Path, only: Sequence[str]) -> None:
        self.folder, self.only = folder, only

    def run(self, seed: int) -> str:
        """One signal at one moment; which, and of how many games it was."""
        draw, name = random.Random(seed), self.only[seed % len(self.only)]
        number, games = signal.Signals[name], self.folder / "games"
        shutil.rmtree(games, ignore_errors=True)
        child, address = self._recorder()
        player = Player(address, draw.randrange(2**31))
        child.ended_within(draw.random() * 1.5 + 0.1)
        child.send(number)
        end = child.wait()
        player.join()
        assert end.code == (-number if name == "SIGKILL" else 0), end
        require_whole(games)
        found = _keys(games)
        for episode, keys in player.recorded:
            assert found.pop(episode, None) == keys, f"{episode} is lost, or another"
        whole = [] if player.under_way is None else player.under_way.frames
        assert all(keys == whole[: len(keys)] for keys in found.values()), "another game than was played"
        assert len(found) <= 1
        self._go_on(len(_keys(games)) - len(found), player.under_way, whole)
        return f"{name}: survived"

    def _go_on(self, before: int, unsent: PagesGame | None, whole: list[int]) -> None:
        child, address = self._recorder()
        player = Player(address, 0, unsent)
        while not player.recorded:
            time.sleep(0.01)
        child.send(signal.SIGINT)
        assert child.wait().code == 0
        player.join()
        games = self.folder / "games"
        after = list(_keys(games).values())
        assert len(after) > before
        assert not whole or after.count(whole) == 1, "the game under way is lost, or there twice"
        require_whole(games)
        require_clean(games)
        end = run_command(["verify", "dataset=games", "replay=true"], self.folder)
        assert end.code == 0, end

    def _recorder(self) -> tuple[Child, str]:
        """A recorder, and its page's address."""
        words = ["record", "source=page", "source.open=false", "source.port=0", "dataset=games"]
        child = Child(command(words), self.folder)
        address = until(lambda: re.search(rb"http://\S+(?=\s)", os.pread(child.out.fileno(), 4096, 0)))
        assert address, child.wait(0)
        return child, address[0].decode()


def _keys(folder: Path) -> dict[str, list[int]]:
    """The keys of every frame of each episode in a folder, by the name of its file."""
    paths = sorted(folder.glob("episodes/episode-*.parquet"))
    episodes = open_dataset(folder) if paths else []
    return {
        path.stem: np.concatenate(episode.keys or ()).tolist() for path, episode in zip(paths, episodes, strict=True)
    }

"""Signals while a person plays on the page: `python tests/faults/page.py --moments 15`.

A recorder runs in a fork; a client plays as the page does. After a random time the recorder gets a signal. Every game
that was reported as recorded has to be there with its keys; unless the process was killed, so has the beginning of the
game under way. Then the client sends what was not confirmed to another recorder, every game is there whole and once,
and the whole dataset is verified.
"""

import argparse
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import children
import numpy as np
from children import Child
from qwop.datasets import open_dataset
from qwop.envs import replay
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect
from work import require_clean, require_whole

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")

AT_ONCE = 3
"""Frames in a message, as from the page."""

MOST_FRAMES = 240


class Game:
    """A game of random keys, as the page has played it."""

    def __init__(self, draw: random.Random) -> None:
        held = np.repeat([draw.randrange(1, 16) for _ in range(MOST_FRAMES // AT_ONCE)], AT_ONCE)
        game = replay(held)
        self.name = f"{draw.getrandbits(48):012x}"
        self.keys = held[: len(game.states) - 1].astype(np.uint8)
        self._frames = self.keys.tolist()
        self._sha256 = game.sha256

    def messages(self) -> Iterator[dict[str, Any]]:
        """All that the page sends of it, in order."""
        yield {"type": "begin", "player": "me", "tempo": 1, "file": None}
        for at in range(0, len(self._frames), AT_ONCE):
            yield {"type": "frames", "at": at, "frames": self._frames[at : at + AT_ONCE]}
        yield {"type": "end", "frames": len(self._frames), "sha256": self._sha256}


class Player(threading.Thread):
    """Plays games on a recorder's page until its connection ends. pace: seconds between messages. unsent: a game of an
    earlier recorder, which is sent first."""

    def __init__(self, address: str, seed: int, pace: float = 0.002, unsent: Game | None = None) -> None:
        super().__init__()
        self.recorded: list[tuple[str, list[int]]] = []
        """Names of the episodes that the recorder has reported, and the keys that were sent for each."""
        self.under_way = unsent
        """The game that is not confirmed."""
        self._address, self._pace, self._random = urlsplit(address), pace, random.Random(seed)
        self.start()

    def run(self) -> None:
        host = self._address.netloc
        try:
            with connect(f"ws://{host}{self._address.path}play", origin=f"http://{host}") as page:  # type: ignore[arg-type]
                while True:
                    self.under_way = self.under_way or Game(self._random)
                    self._send(page, self.under_way)
        except (ConnectionClosed, InvalidHandshake, OSError):
            return

    def _send(self, page: ClientConnection, game: Game) -> None:
        for message in game.messages():
            page.send(json.dumps({**message, "game": game.name}))
            time.sleep(self._pace)
        while (answer := json.loads(page.recv()))["type"] != "recorded":
            pass  # the next command
        if answer["name"] is not None:  # else the recorder is about to end
            self.recorded.append((answer["name"], game.keys.tolist()))
            self.under_way = None


def start(folder: Path, name: str) -> tuple[Child, str]:
    """A recorder into `folder/name`, and its page's address."""
    child = Child(["record", "source=page", "source.open=false", "source.port=0", f"dataset={name}"], folder)
    said = b""
    while not (found := re.search(rb"http://\S+", said)):
        said += os.read(child._out, 4096)
        assert child.running, said
    return child, found[0].decode()


def trial(folder: Path, name: str, number: signal.Signals, draw: random.Random) -> None:
    """One signal at one moment; AssertionError where a game is lost."""
    child, address = start(folder, name)
    player = Player(address, draw.randrange(2**31))
    child.wait_at_most(draw.random() * 1.5 + 0.1)
    child.send(number)
    end = child.wait()
    player.join()
    killed = number == signal.SIGKILL
    assert end.code == (-number if killed else 0), end
    require_whole(folder / name)
    found = _keys(folder / name)
    for episode, keys in player.recorded:
        assert found.pop(episode, None) == keys, f"{episode} is lost, or another"
    whole = [] if player.under_way is None else player.under_way.keys.tolist()
    assert all(keys == whole[: len(keys)] for keys in found.values()), "another game than was played"
    assert len(found) <= 1
    child, address = start(folder, name)
    before = len(_keys(folder / name)) - len(found)
    player = Player(address, 0, unsent=player.under_way)
    while not player.recorded:
        time.sleep(0.01)
    child.send(signal.SIGINT)
    assert child.wait().code == 0
    player.join()
    after = list(_keys(folder / name).values())
    assert len(after) > before
    assert not whole or after.count(whole) == 1, "the game under way is lost, or there twice"
    require_whole(folder / name)
    require_clean(folder / name)
    assert children.run(["verify", f"dataset={name}", "replay=true"], folder).code == 0


def _keys(folder: Path) -> dict[str, list[int]]:
    """The keys of every frame of each episode in a folder, by the name of its file."""
    paths = sorted(folder.glob("episodes/episode-*.parquet"))
    if not paths:
        return {}
    return {
        path.stem: np.concatenate(episode.keys or ()).tolist()
        for path, episode in zip(paths, open_dataset(folder), strict=True)
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=15, help="of each signal (15)")
    parser.add_argument("--seed", type=int, default=0, help="draws the moments (0)")
    asked = parser.parse_args()
    children.preload()
    failed = 0
    for name in SIGNALS:
        draw = random.Random(f"{asked.seed} {name}")
        survived = 0
        for moment in range(asked.moments):
            with tempfile.TemporaryDirectory(prefix="qwop-page-") as temporary:
                try:
                    trial(Path(temporary).resolve(), "games", signal.Signals[name], draw)
                    survived += 1
                except AssertionError as error:
                    print(f"{name}, moment {moment}: {str(error)[:2000]}", file=sys.stderr, flush=True)
        failed += asked.moments - survived
        print(f"recording on the page, {name}: {survived} of {asked.moments} survived", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

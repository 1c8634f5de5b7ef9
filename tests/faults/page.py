"""Signals while a person plays on the page: `python tests/faults/page.py --moments 15`.

A recorder runs in a fork; a client plays as the page does. After a random time the recorder gets a signal. Every game
that was reported as recorded has to be there with its keys; unless the process was killed, so has the game under way,
up to a second before. Then another recorder adds a game to the folder, and the whole dataset is verified.
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
from pathlib import Path
from urllib.parse import urlsplit

import children
import numpy as np
from children import Child
from qwop.datasets import open_dataset
from qwop.envs import replay
from qwop.envs.qwop.packed_game import check_bits
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect
from work import require_clean, require_whole

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")

AT_ONCE = 10
"""Frames in a message."""

SAFE = 1.0
"""Seconds after which what a page has sent is kept, whatever ends the recorder but a kill."""


class Player(threading.Thread):
    """Plays games on a recorder's page until its connection ends. pace: seconds between messages."""

    def __init__(self, address: str, seed: int, pace: float = 0.05) -> None:
        super().__init__()
        self.recorded: list[tuple[str, list[int]]] = []
        """Names of the episodes that the recorder has reported, and their keys."""
        self.under_way: list[int] = []
        """Keys of the game that is being played."""
        self.sent: list[tuple[float, int]] = []
        """Times at which parts of that game were sent, and the number of frames so far."""
        self._address, self._pace, self._random = urlsplit(address), pace, random.Random(seed)
        self.start()

    def sent_before(self, when: float) -> list[int]:
        """Keys of the game under way that were sent before this time."""
        return self.under_way[: max((frames for at, frames in self.sent if at < when), default=0)]

    def run(self) -> None:
        host = self._address.netloc
        try:
            with connect(f"ws://{host}{self._address.path}play", origin=f"http://{host}") as page:  # type: ignore[arg-type]
                while True:
                    self._play(page)
        except (WebSocketException, OSError):
            return

    def _play(self, page: ClientConnection) -> None:
        drawn = np.repeat([self._random.randrange(1, 16) for _ in range(200)], 3).astype(np.uint8)
        played = replay(drawn)
        keys = drawn[: len(played.states) - 1]
        frames = (keys | check_bits(played) << 4).tolist()
        game = {"game": f"{self._random.getrandbits(48):012x}"}
        self.sent, self.under_way = [], keys.tolist()
        page.send(json.dumps({"type": "begin", **game, "player": "tests", "tempo": 1, "file": None}))
        for at in range(0, len(frames), AT_ONCE):
            page.send(json.dumps({"type": "frames", **game, "at": at, "frames": frames[at : at + AT_ONCE]}))
            self.sent.append((time.monotonic(), min(at + AT_ONCE, len(frames))))
            time.sleep(self._pace)
        page.send(json.dumps({"type": "end", **game, "frames": len(frames), "sha256": played.sha256}))
        while (answer := json.loads(page.recv()))["type"] != "recorded":
            pass
        self.sent = []
        self.recorded.append((answer["name"], keys.tolist()))


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
    child.wait_at_most(draw.random() * 3.0 + 0.1)
    safe = player.sent_before(time.monotonic() - SAFE)
    child.send(number)
    end = child.wait()
    player.join()
    killed = number == signal.SIGKILL
    assert end.code == (-number if killed else 0), end
    require_whole(folder / name)
    found = _keys(folder / name)
    for episode, keys in player.recorded:
        assert found.pop(episode, None) == keys, f"{episode} is lost, or another"
    kept = [keys for keys in found.values() if keys[: len(safe)] == safe]
    assert killed or kept or not any(safe), f"the game under way is lost: {safe}, {found}"
    child, address = start(folder, name)
    before = len(_keys(folder / name))
    player = Player(address, 0)
    while not player.recorded:
        assert player.is_alive(), "the page was refused"
        time.sleep(0.01)
    child.send(signal.SIGINT)
    assert child.wait().code == 0
    player.join()
    assert len(_keys(folder / name)) > before
    require_whole(folder / name)
    require_clean(folder / name)
    assert children.run(["verify", f"dataset={name}", "replay=true"], folder).code == 0


def _keys(folder: Path) -> dict[str, list[int]]:
    """The keys of every frame of each episode in a folder, by the name of its file."""
    paths = sorted(folder.glob("episode-*.parquet"))
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

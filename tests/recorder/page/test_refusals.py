"""Requests that the page's server must refuse, sent over plain sockets while a game is under way."""

import base64
import itertools
import json
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.envs.pictures.frame_rows import ROW, rows_of_game
from qwop.play.server import LOOPBACK
from qwop.recorder.page import local_server
from websockets.exceptions import ConnectionClosed

KEYS = [5, 5, 9, 10, 10, 6, 0, 5]
"""A runner who stumbles, but does not fall for a long time if these are pressed by turns with nothing."""


class Player:
    """A game under way; `check` plays on and looks at what is shown."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.keys: list[int] = []
        connection.send(json.dumps({"type": "start", "game": 1}))
        self.rows = [self._rows()]

    def check(self) -> None:
        keys = [KEYS[len(self.keys) % len(KEYS)] if len(self.keys) < 8 else 0]
        self.connection.send(json.dumps({"type": "keys", "game": 1, "keys": keys}))
        self.keys += keys
        self.rows.append(self._rows())

    def _rows(self) -> Any:
        return np.frombuffer(self.connection.recv(timeout=10), "<f4")[2:].reshape(-1, ROW)


def request(method: str, path: str, headers: list[tuple[str, str]], protocol: str = "HTTP/1.1") -> bytes:
    lines = [f"{method} {path} {protocol}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


UPGRADE = [
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Sec-WebSocket-Key", base64.b64encode(bytes(16)).decode()),
    ("Sec-WebSocket-Version", "13"),
]


def refused_requests(host: str, port: int, token: str) -> Iterator[tuple[str, bytes]]:
    """Every request is wrong in one respect: a name, and its bytes."""
    own = f"/{token}/"
    at_home, page = [("Host", host)], [("Origin", f"http://{host}")]
    for wrong, path in itertools.product(["", "x", token[:-1], token + "x", token.swapcase()], ["", "play"]):
        yield f"token {wrong!r}, {path!r}", request("GET", f"/{wrong}/{path}", at_home + page + UPGRADE)

    hosts = ["", "localhost", "127.0.0.1:1", f"127.0.0.2:{port}", f"0.0.0.0:{port}", "example.org",
             f"127.0.0.1.example.org:{port}", f"{host}.", f"user@{host}", f"{host},{host}"]  # fmt: skip
    for wrong, path in itertools.product(hosts, ["games.json", "play"]):
        if path == "play" or LOOPBACK.fullmatch(wrong) is None:
            yield f"host {wrong!r}, {path!r}", request("GET", own + path, [("Host", wrong), *page, *UPGRADE])
    yield "no host", request("GET", own, [])
    yield "another host, then ours", request("GET", own, [("Host", "example.org"), *at_home])

    for wrong in ["null", "", "http://example.org", f"https://{host}", f"http://localhost:{port}", f"ws://{host}"]:
        yield f"origin {wrong!r}, play", request("GET", own + "play", [*at_home, ("Origin", wrong), *UPGRADE])
    for site, path in itertools.product(["cross-site", "same-site"], ["games.json", "main.js"]):
        yield f"fetched {site}, {path}", request("GET", own + path, [*at_home, ("Sec-Fetch-Site", site)])
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"]:
        yield f"{method}", request(method, own + "games.json", at_home + page + UPGRADE)

    outside = ["../server.py", "..%2fserver.py", "/etc/passwd", "\\..\\server.py", "static",
               "games/own/../dataset.json", "games/own/..%2fdataset.bin", "games/own/episode-" + "9" * 5000 + ".bin",
               "tiles/../main.js", "main.js%00", "..", "~"]  # fmt: skip
    for path in outside:
        yield f"path {path[:40]!r}", request("GET", own + path, at_home)


def frame(data: bytes, opcode: int = 1) -> bytes:
    """A masked WebSocket frame."""
    assert len(data) < 2**16
    header = struct.pack("!BB", 0x80 | opcode, 0x80 | len(data)) if len(data) < 126 else None
    return (header or struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, len(data))) + bytes(4) + data


REFUSED_MESSAGES: list[Any] = [
    None, 1, "start", [], {}, {"type": None}, {"type": "stop"}, {"type": "start"}, {"type": ["start"]},
    {"type": "start", "game": "1"}, {"type": "start", "game": 1.5}, {"type": "start", "game": True},
    {"type": "start", "game": -1}, {"type": "start", "game": 10**30}, {"type": "start", "game": 1, "more": 1},
    {"type": "keys", "game": 1}, {"type": "keys", "keys": [1]}, {"type": "keys", "game": 1, "keys": "1"},
    {"type": "keys", "game": 1, "keys": [16]}, {"type": "keys", "game": 1, "keys": [-1]},
    {"type": "keys", "game": 1, "keys": [1.0]}, {"type": "keys", "game": 1, "keys": [True]},
    {"type": "keys", "game": 1, "keys": [10**400]}, {"type": "keys", "game": 1, "keys": [0] * 61},
    {"type": "discard"}, {"type": "discard", "name": ""}, {"type": "discard", "name": "episode-999999"},
    {"type": "discard", "name": "../dataset/episode-000000"}, {"type": "discard", "name": "episode-" + "0" * 300},
]  # fmt: skip
REFUSED_TEXTS = ("", "{", "NaN", '{"type": "start", "game": 1e400}', "[" * 2000, '{"a":' * 500)


def answer(address: Any, data: bytes) -> bytes:
    """Send bytes; return the answer to its end. TimeoutError if the server does not close the connection."""
    received = b""
    with (
        socket.create_connection((address.hostname, address.port), timeout=10) as plain,
        suppress(ConnectionResetError, BrokenPipeError),
    ):
        plain.sendall(data)
        while chunk := plain.recv(65536):
            received += chunk
    return received


def opening(address: Any) -> bytes:
    headers = [("Host", address.netloc), ("Origin", f"http://{address.netloc}"), *UPGRADE]
    return request("GET", f"{address.path}play", headers)


def test_requests_that_no_page_makes_are_refused_and_the_game_goes_on(
    recorder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    address = recorder.address
    with recorder.play() as connection:
        player = Player(connection)
        for name, data in refused_requests(address.netloc, address.port, address.path.strip("/")):
            status = answer(address, data).partition(b"\r\n")[0]
            assert status == b"" or status.split(b" ")[1][:1] in (b"4", b"5"), f"{name}: {status!r}"
            assert b"500" not in status, name
        player.check()
    recorder.wait_for_games(1)
    (episode,) = open_dataset(recorder.folder)
    assert np.concatenate(episode.keys or ()).tolist() == player.keys
    np.testing.assert_array_equal(np.concatenate(player.rows), rows_of_game(player.keys))
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def test_messages_that_no_page_sends_end_their_connection_and_no_other_game(
    recorder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    messages = [*map(json.dumps, REFUSED_MESSAGES), *REFUSED_TEXTS, b'{"type": "start", "game": 1}']  # the last binary
    with recorder.play() as connection:
        player = Player(connection)
        for message in messages:
            with recorder.play() as other:
                other.send(message)
                with pytest.raises(ConnectionClosed) as closed:
                    other.recv(timeout=10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008, message[:60]
        player.check()
    recorder.wait_for_games(1)
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def test_no_more_pages_than_the_limit_play_at_once(recorder: Any) -> None:
    with ExitStack() as opened:
        players = [Player(opened.enter_context(recorder.play())) for _ in range(local_server.MAX_PAGES)]
        more = opened.enter_context(recorder.play())
        with pytest.raises(ConnectionClosed) as closed:
            more.recv(timeout=10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013
        for player in players:
            player.check()
    with recorder.play() as again:
        Player(again).check()


@pytest.fixture
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "SEND_SECONDS", 0.5)


@pytest.mark.usefixtures("short_times")
def test_a_page_that_takes_nothing_is_cut_off_its_game_is_kept_and_the_server_can_stop(recorder: Any) -> None:
    address = recorder.address
    keys = json.dumps({"type": "keys", "game": 1, "keys": [5] + [0] * 59}).encode()
    with recorder.play() as connection, socket.socket() as deaf:
        player = Player(connection)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(10)
        deaf.connect((address.hostname, address.port))
        deaf.sendall(opening(address))
        with suppress(OSError):  # a reset or a broken pipe ends it
            for game in itertools.count(1):
                deaf.sendall(frame(json.dumps({"type": "start", "game": game}).encode()))
                for _ in range(30):
                    deaf.sendall(frame(keys.replace(b'"game": 1', f'"game": {game}'.encode())))
        player.check()
        before = time.monotonic()
        recorder.stop()
        assert time.monotonic() - before < 10
    kept = list(open_dataset(recorder.folder))
    assert player.keys in [np.concatenate(game.keys or ()).tolist() for game in kept]
    assert len(kept) >= 2

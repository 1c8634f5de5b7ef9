"""Requests that the page's server must refuse, sent over plain sockets while a game is under way."""

import base64
import itertools
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.envs.pictures.frame_rows import ROW, rows_of_game
from qwop.recorder.page import connections
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
    at_home = [("Host", host)]
    page = [("Origin", f"http://{host}")]

    paths = [
        "",
        "games.json",
        "settings.json",
        "main.js",
        "play",
        "games/embedded/episode-000000.bin",
        "tiles/lane.png",
    ]
    wrong_tokens = ["", "x", token[:-1], token + "x", token.swapcase(), f"%{ord(token[0]):02x}{token[1:]}", "A" * 22]
    for wrong, path in itertools.product(wrong_tokens, paths):
        place = f"/{wrong}/{path}" if wrong else f"/{path}"
        yield f"token {wrong!r}, {path!r}", request("GET", place, at_home + page + UPGRADE)

    hosts = ["", "localhost", f"localhost:{port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.2:{port}", f"0.0.0.0:{port}",
             f"[::1]:{port}", "example.org", f"example.org:{port}", f"127.0.0.1.example.org:{port}", f"{host}.",
             f"user@{host}", f"{host},{host}"]  # fmt: skip
    for wrong, path in itertools.product(hosts, ["", "games.json", "play"]):
        yield f"host {wrong!r}, {path!r}", request("GET", own + path, [("Host", wrong), *page, *UPGRADE])
    yield "no host", request("GET", own, [])
    yield "no host, HTTP/1.0", request("GET", own, [], "HTTP/1.0")
    yield "two hosts", request("GET", own, [*at_home, *at_home])
    yield "another host, then ours", request("GET", own, [("Host", "example.org"), *at_home])

    origins = ["null", "", "http://example.org", f"https://{host}", f"http://localhost:{port}", "http://127.0.0.1",
               f"http://{host}.example.org", f"http://{host}/", f"ws://{host}", "file://"]  # fmt: skip
    for wrong in origins:
        yield f"origin {wrong!r}, play", request("GET", own + "play", [*at_home, ("Origin", wrong), *UPGRADE])
        yield f"origin {wrong!r}, games", request("GET", own + "games.json", [*at_home, ("Origin", wrong)])
    yield "no origin, play", request("GET", own + "play", at_home + UPGRADE)
    yield "two origins", request("GET", own + "play", [*at_home, *page, ("Origin", "http://example.org"), *UPGRADE])
    for site, path in itertools.product(["cross-site", "same-site"], ["games.json", "settings.json", "main.js"]):
        yield f"fetched {site}, {path}", request("GET", own + path, [*at_home, ("Sec-Fetch-Site", site)])

    methods = ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "X"]
    for method, path in itertools.product(methods, ["", "games.json", "play"]):
        yield f"{method} {path!r}", request(method, own + path, at_home + page + UPGRADE)

    outside = ["../server.py", "..%2fserver.py", "%2e%2e/server.py", "....//server.py", "static/../../server.py",
               "/etc/passwd", "\\..\\server.py", "static", "games", "games/", "games/own/", "games/own/../dataset.json",
               "games/own/..%2fdataset.bin", "games/own/episode-000000", "games/own/episode-999999.bin",
               "games/own/episode-" + "9" * 300 + ".bin", "games/own/episode-" + "9" * 5000 + ".bin",
               "games/other/episode-000000.bin", "games/embedded/dataset.bin", "games/embedded/x/episode-000000.bin",
               "tiles/../main.js", "tiles/", "tiles/strip-99.png", "index.html/", "main.js%00", "main.js.map", "play/",
               "favicon.ico", "__pycache__", ".", "..", "~", "*"]  # fmt: skip
    for path in outside:
        yield f"path {path[:40]!r}", request("GET", own + path, at_home)

    yield "body", request("POST", own, [*at_home, ("Content-Length", "3")]) + b"abc"
    for length in ("5", "-1", "abc", "0x0", "99999999999999999999", "0, 5", "1.5"):
        yield f"content length {length}", request("GET", own, [*at_home, ("Content-Length", length)])
    yield "chunked", request("GET", own, [*at_home, ("Transfer-Encoding", "chunked")]) + b"0\r\n\r\n"
    yield (
        "both lengths",
        request("GET", own, [*at_home, ("Content-Length", "0"), ("Transfer-Encoding", "chunked")]) + b"0\r\n\r\n",
    )

    yield "long path", request("GET", own + "a" * 9000, at_home)
    yield "long header", request("GET", own, [*at_home, ("X", "a" * 9000)])
    yield "many headers", request("GET", own, [*at_home, *[("X", "a")] * 200])
    yield "endless line", b"GET /" + b"a" * 100_000
    yield "folded header", b"GET " + own.encode() + b" HTTP/1.1\r\nHost: " + host.encode() + b"\r\n x\r\n\r\n"
    for line in (b"", b"GET", b"GET /", b"GET / HTTP/2.0", b"GET / HTTP/0.9", b"GET  / HTTP/1.1", b"PRI * HTTP/2.0",
                 b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\x00" * 40, b"\xff\xfe GET / HTTP/1.1",
                 b"GET /\xc3\xa9 HTTP/1.1",
                 b"GET http://" + host.encode() + own.encode() + b" HTTP/1.1"):  # fmt: skip
        yield f"line {line[:20]!r}", line + b"\r\nHost: " + host.encode() + b"\r\n\r\n"
    for header in (b"Host", b": x", b"Ho st: x", b"X: a\x00b", b"X\x80: a", b"X : a"):
        yield f"header {header!r}", b"GET " + own.encode() + b" HTTP/1.1\r\n" + header + b"\r\n\r\n"

    for missing, _ in UPGRADE:
        rest = [header for header in UPGRADE if header[0] != missing]
        yield f"upgrade without {missing}", request("GET", own + "play", at_home + page + rest)
    for name, value in (("Sec-WebSocket-Version", "12"), ("Sec-WebSocket-Version", "x"), ("Sec-WebSocket-Key", "short"),
                        ("Sec-WebSocket-Key", "!" * 24), ("Upgrade", "h2c"), ("Connection", "close")):  # fmt: skip
        changed = [(one, value if one == name else was) for one, was in UPGRADE]
        yield f"upgrade with {name}={value}", request("GET", own + "play", at_home + page + changed)


def frame(data: bytes, opcode: int = 1, head: int = 0x80, mask: bool = True, length: int | None = None) -> bytes:
    size = len(data) if length is None else length
    bit = 0x80 if mask else 0
    if size < 126:
        header = struct.pack("!BB", head | opcode, bit | size)
    elif size < 2**16:
        header = struct.pack("!BBH", head | opcode, bit | 126, size)
    else:
        header = struct.pack("!BBQ", head | opcode, bit | 127, size)
    return header + (bytes(4) if mask else b"") + data


def refused_messages() -> Iterator[tuple[str, bytes]]:
    """Frames that a connected page must not send: a name, and the bytes."""
    documents: list[Any] = [
        None, True, 1, "start", [], {}, {"type": None}, {"type": "stop"}, {"type": "start"}, {"type": ["start"]},
        {"type": "start", "game": "1"}, {"type": "start", "game": None}, {"type": "start", "game": 1.5},
        {"type": "start", "game": True}, {"type": "start", "game": -1}, {"type": "start", "game": 10**30},
        {"type": "start", "game": [1]}, {"type": "start", "game": 1, "more": 1}, {"type": "keys"},
        {"type": "keys", "game": 1}, {"type": "keys", "keys": [1]}, {"type": "keys", "game": 1, "keys": None},
        {"type": "keys", "game": 1, "keys": 5}, {"type": "keys", "game": 1, "keys": "1"},
        {"type": "keys", "game": 1, "keys": {"1": 1}}, {"type": "keys", "game": 1, "keys": [16]},
        {"type": "keys", "game": 1, "keys": [-1]}, {"type": "keys", "game": 1, "keys": [1.0]},
        {"type": "keys", "game": 1, "keys": ["1"]}, {"type": "keys", "game": 1, "keys": [None]},
        {"type": "keys", "game": 1, "keys": [True]}, {"type": "keys", "game": 1, "keys": [[1]]},
        {"type": "keys", "game": 1, "keys": [10**400]}, {"type": "keys", "game": 1, "keys": [0] * 61},
        {"type": "discard"}, {"type": "discard", "name": None}, {"type": "discard", "name": 0},
        {"type": "discard", "name": ""}, {"type": "discard", "name": "episode-999999"},
        {"type": "discard", "name": "../dataset/episode-000000"}, {"type": "discard", "name": "dataset"},
        {"type": "discard", "name": "episode-" + "0" * 300}, {"type": "discard", "name": "episode-000000\x00"},
    ]  # fmt: skip
    for document in documents:
        text = json.dumps(document)
        yield text[:60], frame(text.encode())
    start = b'{"type": "start", "game": 1}'
    for text in ("", "{", "NaN", "1e999", '{"type": "start", "game": 1e400}', '{"type": "start", "game": NaN}',
                 "[" * 2000, '{"a":' * 500, "\x00", "start"):  # fmt: skip
        yield f"text {text[:30]!r}", frame(text.encode())
    yield "binary", frame(start, opcode=2)
    yield "not UTF-8", frame(b'{"type": "\xff\xfe"}')
    yield "too long", frame(b" " * 5000 + start)
    yield "too long in parts", frame(b" " * 3000, head=0) + frame(b" " * 3000, opcode=0)
    yield "said to be long", frame(start, length=2**40)
    yield "said to be of negative length", frame(start, length=2**63)
    yield "not masked", frame(start, mask=False)
    yield "continues nothing", frame(start, opcode=0)
    yield "begins twice", frame(start, head=0) + frame(start)
    yield "long ping", frame(b"a" * 126, opcode=9)
    yield "ping in parts", frame(b"a", opcode=9, head=0)
    yield "closing with one byte", frame(b"a", opcode=8)
    for opcode in (3, 7, 11, 15):
        yield f"opcode {opcode}", frame(start, opcode=opcode)
    for bit in (0x40, 0x20, 0x10):
        yield f"reserved bit {bit:x}", frame(start, head=0x80 | bit)


def answer(address: Any, *parts: bytes) -> list[bytes]:
    """Send bytes, each part once the one before it was answered; return the answers, the last one to the very end.

    TimeoutError if the server does not close the connection.
    """
    received = [b"" for _ in parts]
    with (
        socket.create_connection((address.hostname, address.port), timeout=10) as plain,
        suppress(ConnectionResetError, BrokenPipeError),
    ):
        for place, part in enumerate(parts):
            plain.sendall(part)
            while chunk := plain.recv(65536):
                received[place] += chunk
                if place < len(parts) - 1 and received[place].endswith(b"\r\n\r\n"):
                    break
                if place and received[place].startswith(b"\x88"):  # the server closes as soon as this is answered
                    plain.sendall(frame(b"", opcode=8))
    return received


def opening(address: Any) -> bytes:
    headers = [("Host", address.netloc), ("Origin", f"http://{address.netloc}"), *UPGRADE]
    return request("GET", f"{address.path}play", headers)


def test_requests_that_no_page_makes_are_refused_and_the_game_goes_on(
    recorder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    address, count = recorder.address, 0
    with recorder.play() as connection:
        player = Player(connection)
        for name, data in refused_requests(address.netloc, address.port, address.path.strip("/")):
            status = answer(address, data)[0].partition(b"\r\n")[0]
            assert status == b"" or status.split(b" ")[1][:1] in (b"4", b"5"), f"{name}: {status!r}"
            assert b"500" not in status, name
            count += 1
            if count % 5 == 0:
                player.check()
        player.check()
    assert count >= 200
    recorder.wait_for_games(1)
    (episode,) = open_dataset(recorder.folder)
    assert np.concatenate(episode.keys or ()).tolist() == player.keys
    np.testing.assert_array_equal(np.concatenate(player.rows), rows_of_game(player.keys))
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def test_messages_that_no_page_sends_end_their_connection_and_no_other_game(
    recorder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with recorder.play() as connection:
        player = Player(connection)
        for name, data in refused_messages():
            head, frames = answer(recorder.address, opening(recorder.address), data)
            assert head.startswith(b"HTTP/1.1 101"), name
            assert frames[:1] in (b"", b"\x88"), f"{name}: answered by {frames[:40]!r}"  # nothing, or a close frame
            if frames:
                code = int.from_bytes(frames[2:4], "big")
                assert code in (1002, 1003, 1007, 1008, 1009), f"{name}: {code}"
            player.check()
    recorder.wait_for_games(1)
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def test_connections_that_say_nothing_are_cut_off_and_bounded(recorder: Any) -> None:
    address, threads = recorder.address, threading.active_count()
    with recorder.play() as connection, ExitStack() as opened:
        player = Player(connection)
        flood = []
        for _ in range(300):
            plain = socket.create_connection((address.hostname, address.port), timeout=10)
            flood.append(opened.enter_context(plain))
        slow = flood[:10]
        until = time.monotonic() + connections.OPEN_SECONDS + 3
        # Each connection has two threads.
        assert threading.active_count() <= threads + 2 * connections.MAX_CONNECTIONS + 5
        while time.monotonic() < until:
            for plain in slow:  # a byte now and then
                try:
                    plain.sendall(b"G")
                except OSError:
                    slow = [one for one in slow if one is not plain]
            player.check()
            time.sleep(0.1)
        assert slow == []
        for plain in flood:
            with suppress(ConnectionResetError):
                assert plain.recv(100) == b""
        assert recorder.get(address.path)[0] == 200
        player.check()


def test_no_more_pages_than_the_limit_play_at_once(recorder: Any) -> None:
    with ExitStack() as opened:
        players = [Player(opened.enter_context(recorder.play())) for _ in range(connections.MAX_PAGES)]
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
    monkeypatch.setattr(connections, "SEND_SECONDS", 0.5)


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


@pytest.mark.skipif(os.name == "nt", reason="counts the descriptors of a POSIX process")
def test_refused_connections_leave_no_descriptor_open(recorder: Any) -> None:
    address = recorder.address
    recorder.get(address.path)
    # The process may open one or two of its own meanwhile; a kind of refusal that leaves one open leaves ten.
    most = len(os.listdir("/dev/fd")) + 5
    for data in (b"", b"GET / HTTP/1.1\r\n\r\n", opening(address), request("GET", "/", [("Host", "x")])) * 10:
        with socket.create_connection((address.hostname, address.port), timeout=10) as plain:
            plain.sendall(data)
    until = time.monotonic() + 10
    while len(os.listdir("/dev/fd")) > most and time.monotonic() < until:
        time.sleep(0.1)
    assert len(os.listdir("/dev/fd")) <= most

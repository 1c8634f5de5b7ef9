"""Requests that a page's server must refuse, sent over plain sockets while a game is under way."""

import base64
import itertools
import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, open_dataset
from qwop.play import server
from qwop.play.server import LOOPBACK
from qwop.recorder.settings import RecorderPageSettings
from websockets.exceptions import ConnectionClosed

KEYS = [5] * 20 + [10] * 10


class Player:
    """A game under way; `check` plays on."""

    def __init__(self, connection: Any, game: Any) -> None:
        self.connection, self.game, self.sent = connection, game, 0
        connection.send(game.begin())

    def check(self) -> None:
        self.connection.send(self.game.part(self.sent, self.sent + 5))
        self.sent += 5
        with pytest.raises(TimeoutError):  # it is not closed
            self.connection.recv(timeout=0.05)


@pytest.fixture
def player(recorder: Any, game_of: Callable[..., Any]) -> Iterator[Player]:
    with recorder.page() as connection:
        yield Player(connection, game_of(KEYS))


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


REFUSED_MESSAGES = (
    "", "{", "[" * 2000, "null", '{"type": "stop"}', '{"type": "start", "game": 1}', '{"type": "discard", "name": ""}',
    '{"type": "discard", "name": "../dataset/episode-000000"}', json.dumps({"type": "discard", "name": "e" * 300}),
    b'{"type": "discard", "name": "x"}',
)  # fmt: skip


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
    recorder: Any, player: Player, caplog: pytest.LogCaptureFixture
) -> None:
    address = recorder.address
    for name, data in refused_requests(address.netloc, address.port, address.path.strip("/")):
        status = answer(address, data).partition(b"\r\n")[0]
        assert status == b"" or status.split(b" ")[1][:1] in (b"4", b"5"), f"{name}: {status!r}"
        assert b"500" not in status, name
    player.check()
    player.connection.close()
    recorder.wait_for_games(1)
    (episode,) = open_dataset(recorder.folder)
    assert episode.keys_of_frames.tolist() == KEYS[:5]
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def test_messages_that_no_page_sends_end_their_connection_and_no_other_game(
    recorder: Any, player: Player, caplog: pytest.LogCaptureFixture
) -> None:
    for message in REFUSED_MESSAGES:
        with recorder.page() as other:
            other.send(message)
            with pytest.raises(ConnectionClosed) as closed:
                other.recv(timeout=10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008, message[:60]
    player.check()
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


@pytest.mark.parametrize("host", ["localhost", "localhost:8123", "127.0.0.1:1", "[::1]:8123"])
def test_a_page_of_a_forwarded_port_is_served_and_plays(recorder: Any, host: str) -> None:
    path, own = recorder.address.path, f"http://{host}"
    head = answer(recorder.address, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert head.startswith(b"HTTP/1.1 200")
    assert f"connect-src 'self' ws://{host};".encode() in head
    for origin, plays in ((own, True), (f"http://{recorder.address.netloc}", False), ("http://localhost:9", False)):
        with socket.create_connection((recorder.address.hostname, recorder.address.port), timeout=10) as plain:
            plain.sendall(request("GET", f"{path}play", [("Host", host), ("Origin", origin), *UPGRADE]))
            assert plain.recv(65536).startswith(b"HTTP/1.1 101" if plays else b"HTTP/1.1 403"), origin


@pytest.fixture
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PING_SECONDS", "SEND_SECONDS"):
        monkeypatch.setattr(server, name, 0.2)


@pytest.mark.usefixtures("short_times")
def test_a_page_that_falls_asleep_loses_its_connection_without_a_word(
    make_recorder: Callable[..., Any], game_of: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    recorder, game = make_recorder(), game_of(KEYS)
    with socket.create_connection((recorder.address.hostname, recorder.address.port), timeout=10) as asleep:
        asleep.sendall(opening(recorder.address))
        for message in (game.begin(), game.part(0)):
            asleep.sendall(frame(message.encode()))
        recorder.wait_for_games(1)
    assert caplog.records == []


def test_only_this_machine_is_served_and_a_port_in_use_is_refused(recorder: Any, make_recorder: Any) -> None:
    assert recorder.address.hostname == "127.0.0.1"
    with pytest.raises(BadInput, match=f"source.port={recorder.address.port}"):
        make_recorder(RecorderPageSettings(open=False, port=recorder.address.port))


def test_a_game_that_cannot_be_written_ends_the_recording(
    recorder: Any, player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> Any:
        raise BadInput("the disk is full")

    monkeypatch.setattr(DatasetWriter, "write", fail)
    player.connection.send(player.game.part(0))
    player.connection.send(player.game.end())
    with pytest.raises(ConnectionClosed):
        player.connection.recv(timeout=10)
    recorder.wait_until(lambda: recorder.failure == "the disk is full", "ended")

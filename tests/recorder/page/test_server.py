"""The recorder behind the page, with messages as the page sends them, and requests that no page makes."""

import base64
import html
import itertools
import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import qwop.recorder.page.server as recorder_server
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, Episode, open_dataset
from qwop.play.server import LOOPBACK
from qwop.play.site import files
from qwop.recorder.game_writer import record_interrupted
from qwop.recorder.settings import RecorderPageSettings
from websockets.exceptions import ConnectionClosed

FALL = [4] * 60
KEYS = [5] * 20 + [10] * 10

GameOf = Callable[..., Any]


def settings(recorder: Any) -> dict[str, Any]:
    match = re.search(r'<meta name="recorder" content="([^"]*)">', recorder.get("")[1].decode())
    assert match
    read: dict[str, Any] = json.loads(html.unescape(match[1]))
    return read


def only_game(folder: Path) -> Episode:
    (episode,) = open_dataset(folder)
    return episode


def test_a_game_is_recorded_as_it_ends(recorder: Any, game_of: GameOf) -> None:
    game = game_of(FALL)
    with recorder.page() as page:
        for start in range(0, len(game.frames), 7):
            page.send(game.part(start, start + 7))
        page.send(game.rest(len(game.frames)))
        answer = json.loads(page.recv(timeout=60))
    name = answer.pop("name")
    assert name.startswith("episode-000000-")
    assert answer == {"type": "recorded", "game": game.game}
    episode = only_game(recorder.folder)
    assert episode.keys_of_frames.tolist() == game.frames
    assert (episode.player, episode.source, episode.outcome) == ("ada", "page", "fell")
    content = (recorder.folder / "episodes" / f"{name}.parquet").read_bytes()
    with recorder.page() as page:
        page.send(json.dumps({"type": "discard", "name": name}))
        assert json.loads(page.recv(timeout=60)) == {"type": "discarded", "name": name}
    assert json.loads(recorder.get("games.json")[1])["games"] == []
    (aside,) = recorder.folder.glob("aside/episode-*")
    assert aside.read_bytes() == content


def test_frames_may_come_twice_and_the_same_keys_may_be_another_game(recorder: Any, game_of: GameOf) -> None:
    one, other = game_of(KEYS), game_of(KEYS, 2)
    with recorder.page() as page:
        for start, end in ((0, 10), (5, 20), (0, 3)):
            page.send(one.part(start, end, tempo=0.5))
        page.send(one.rest(20))
        assert json.loads(page.recv(timeout=60))["name"].startswith("episode-000000-")
    assert recorder.send(other)["name"].startswith("episode-000001-")
    games = [*open_dataset(recorder.folder)]
    assert [game.keys_of_frames.tolist() for game in games] == [KEYS, KEYS]
    assert games[0].source == "page at 0.5 times the pace"


def test_a_game_under_way_is_kept_when_its_connection_breaks_off(recorder: Any, game_of: GameOf) -> None:
    game = game_of(KEYS)
    with recorder.page() as page:
        page.send(game.part(0, 9))
        page.socket.shutdown(socket.SHUT_RDWR)
        recorder.wait_for_games(1)
    assert recorder.send(game)["name"].startswith("episode-000001-")  # the page comes back, and plays it to its end
    assert only_game(recorder.folder).keys_of_frames.tolist() == KEYS
    assert len([*recorder.folder.glob("aside/episode-*-discarded.aside")]) == 1  # nothing recorded is deleted


def test_the_copy_of_a_killed_recorder_is_recorded_and_replaced_by_the_whole_game(
    recorder: Any, make_recorder: Callable[..., Any], game_of: GameOf, tmp_path: Path
) -> None:
    game, left = game_of(KEYS), tmp_path / "left"
    with recorder.page() as page:
        page.send(game.part(0, 25))
        recorder.wait_until(lambda: [*recorder.folder.glob("aside/under-way-*/game-*.partial")], "copied")
        shutil.copytree(recorder.folder, left)  # as a kill at this moment leaves it
    assert record_interrupted(left) == ["games that a killed recorder left are recorded: 1"]
    assert len(only_game(left).keys_of_frames) == 25
    make_recorder(folder=left).send(game)  # the page had kept it
    assert only_game(left).keys_of_frames.tolist() == KEYS


def test_the_page_is_served_with_its_recorder_and_games(recorder: Any, game_of: GameOf) -> None:
    recorder.send(game_of(KEYS))
    folder = str(recorder.folder)
    assert settings(recorder) == {"player": "me", "ghost": "none", "folder": folder, "dataset": folder}
    for name in ("main.js", "engine.wasm", "tiles/lane.png", "champion.safetensors"):
        assert recorder.get(name) == (200, files()[name])
    for script in recorder_server.STATIC.glob("*.js"):
        assert script.name not in files()
        for name in re.findall(r'from "\./([\w.]+)"', script.read_text()):
            assert recorder.get(name)[0] == 200, name
    (listed,) = json.loads(recorder.get("games.json")[1])["games"]
    assert json.loads(recorder.get(f"games/own/{listed['name']}")[1]) == {"keys": KEYS}
    for path in ("nothing", "games/own/episode-000007", "games/x/y", "../server.py"):
        assert recorder.get(path)[0] == 404


@pytest.mark.parametrize(
    ("keys", "more", "reason"),
    [
        (KEYS, {"tempo": 3}, "tempo: input should be less than or equal to 1"),
        (KEYS, {"sha256": "0" * 64}, "played it otherwise"),
        ([*FALL, 4, 4], {}, "played it otherwise"),  # it went on after its end
        ([0] * 9, {}, "no key is pressed"),
    ],
)
def test_a_refused_game_is_named_and_the_next_is_recorded(
    recorder: Any, game_of: GameOf, keys: list[int], more: dict[str, Any], reason: str, capsys: Any
) -> None:
    games, answers = [game_of(KEYS, 1), game_of(keys, 2), game_of(KEYS, 3)], []
    games[1].frames[:] = keys
    with recorder.page() as page:
        for game in games:
            page.send(game.rest(**(more if game is games[1] else {})))
            answers.append(json.loads(page.recv(timeout=60)))
    assert [answer["type"] for answer in answers] == ["recorded", "refused", "recorded"]
    assert answers[1]["game"] == games[1].game
    assert reason in answers[1]["reason"]
    recorder.wait_for_games(2)
    assert reason in capsys.readouterr().out.replace("\n", " ")


def test_a_game_with_missing_frames_is_refused_and_what_still_comes_of_it_is_passed_over(
    recorder: Any, game_of: GameOf
) -> None:
    game = game_of(KEYS)
    with recorder.page() as page:
        for message in (game.part(0, 9), game.part(12, 15), game.rest(15), game_of(KEYS, 2).rest()):
            page.send(message)
        refused, recorded = (json.loads(page.recv(timeout=60)) for _ in range(2))
    assert refused == {"type": "refused", "game": game.game, "reason": "its frames from 9 on are missing"}
    assert recorded["game"] == f"{2:012x}"


UPGRADE = [
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Sec-WebSocket-Key", base64.b64encode(bytes(16)).decode()),
    ("Sec-WebSocket-Version", "13"),
]


def request(method: str, path: str, headers: list[tuple[str, str]]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


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
    for method in ["POST", "DELETE", "HEAD", "OPTIONS"]:
        yield f"{method}", request(method, own + "games.json", at_home + page + UPGRADE)

    outside = ["../server.py", "..%2fserver.py", "/etc/passwd", "\\..\\server.py", "games/own/../dataset.json",
               "games/own/..%2fdataset", "games/own/episode-" + "9" * 5000, "main.js%00", "~"]  # fmt: skip
    for path in outside:
        yield f"path {path[:40]!r}", request("GET", own + path, at_home)


REFUSED_MESSAGES = (
    "", "{", "[" * 2000, '{"type": "frames"}', '{"type": "start", "game": 1}', '{"type": "discard", "name": ""}',
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


def test_what_no_page_sends_is_refused_and_a_game_under_way_goes_on(
    recorder: Any, game_of: GameOf, caplog: pytest.LogCaptureFixture
) -> None:
    game, address = game_of(KEYS), recorder.address
    with recorder.page() as page:
        for name, data in refused_requests(address.netloc, address.port, address.path.strip("/")):
            status = answer(address, data).partition(b"\r\n")[0]
            assert status == b"" or status.split(b" ")[1][:1] in (b"4", b"5"), f"{name}: {status!r}"
            assert b"500" not in status, name
        for message in REFUSED_MESSAGES:
            with recorder.page() as other:
                other.send(message)
                with pytest.raises(ConnectionClosed) as closed:
                    other.recv(timeout=10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008, message[:60]
        page.send(game.part(0, 5))
        page.send("{")  # of its own: the game is kept as far as it was played
        with pytest.raises(ConnectionClosed):
            page.recv(timeout=60)
    recorder.wait_for_games(1)
    assert only_game(recorder.folder).keys_of_frames.tolist() == KEYS[:5]
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


@pytest.mark.parametrize("host", ["localhost", "localhost:8123", "[::1]:8123"])
def test_a_page_of_a_forwarded_port_is_served_and_plays(recorder: Any, host: str) -> None:
    path, own = recorder.address.path, f"http://{host}"
    head = answer(recorder.address, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert head.startswith(b"HTTP/1.1 200")
    assert f"connect-src 'self' ws://{host};".encode() in head
    for origin, plays in ((own, True), (f"http://{recorder.address.netloc}", False), ("http://localhost:9", False)):
        with socket.create_connection((recorder.address.hostname, recorder.address.port), timeout=10) as plain:
            plain.sendall(request("GET", f"{path}play", [("Host", host), ("Origin", origin), *UPGRADE]))
            assert plain.recv(65536).startswith(b"HTTP/1.1 101" if plays else b"HTTP/1.1 403"), origin


def test_only_this_machine_is_served_and_a_port_in_use_is_refused(recorder: Any, make_recorder: Any) -> None:
    assert recorder.address.hostname == "127.0.0.1"
    with pytest.raises(BadInput, match=f"source.port={recorder.address.port}"):
        make_recorder(RecorderPageSettings(open=False, port=recorder.address.port))


def test_a_game_that_cannot_be_written_ends_the_recording(
    recorder: Any, game_of: GameOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> Any:
        raise BadInput("the disk is full")

    monkeypatch.setattr(DatasetWriter, "write", fail)
    with recorder.page() as page:
        page.send(game_of(KEYS).rest())
        with pytest.raises(ConnectionClosed):
            page.recv(timeout=10)
    recorder.wait_until(lambda: recorder.failure == "the disk is full", "ended")

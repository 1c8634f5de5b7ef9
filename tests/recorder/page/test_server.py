"""The page's server, with the requests of a page and with requests that no page should make."""

import json
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, open_dataset
from qwop.envs import replay
from qwop.envs.pictures.frame_rows import ROW, rows_of_game
from qwop.recorder.game_writer import record_interrupted
from qwop.recorder.page import local_server
from qwop.recorder.page.server import PageServer
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from .conftest import INFO
from .test_refusals import frame, opening

FALL = [4] * 60


def frames(data: Any) -> tuple[int, int, Any]:
    numbers = np.frombuffer(data, "<f4")
    return int(numbers[0]), int(numbers[1]), numbers[2:].reshape(-1, ROW)


def play(connection: ClientConnection, number: int, keys: list[int], at_once: int = 3) -> list[Any]:
    """Send keys a few frames at a time; return all rows received, the first included."""
    connection.send(json.dumps({"type": "start", "game": number}))
    got, first, rows = frames(connection.recv(timeout=10))
    assert (got, first) == (number, 0)
    shown = [rows]
    for start in range(0, len(keys), at_once):
        connection.send(json.dumps({"type": "keys", "game": number, "keys": keys[start : start + at_once]}))
        got, first, rows = frames(connection.recv(timeout=10))
        assert got == number
        shown.append(rows)
        if len(rows) < len(keys[start : start + at_once]):
            break
    return shown


def test_a_game_is_recorded_as_it_ends_and_replays_exactly(recorder: Any) -> None:
    with recorder.play() as connection:
        shown = np.concatenate(play(connection, 1, FALL, at_once=7))
        ended = json.loads(connection.recv(timeout=10))
    assert (ended["type"], ended["outcome"], ended["game"]) == ("ended", "fell", 1)
    assert ended["name"].startswith("episode-000000-")
    episode = open_dataset(recorder.folder)[0]
    assert episode.keys is not None
    keys = np.concatenate(episode.keys)
    assert keys.tolist() == FALL[: len(keys)]
    np.testing.assert_array_equal(shown, rows_of_game(keys))
    assert ended["metres"] == replay(keys).events[-1, 0]
    assert (episode.player, episode.source, episode.outcome) == ("me", "page", "fell")
    assert ended["seconds"] == pytest.approx(len(keys) / 30)


def test_an_abandoned_game_is_kept_if_a_key_was_pressed(recorder: Any) -> None:
    with recorder.play() as connection:
        play(connection, 1, [0] * 6)
        play(connection, 2, [1] * 6)  # restarts; the first had no key down
        play(connection, 3, [5] * 9)
    recorder.wait_for_games(2)
    episodes = list(open_dataset(recorder.folder))
    assert [sum(map(len, episode.keys or ())) for episode in episodes] == [6, 9]
    assert {episode.outcome for episode in episodes} == {"stopped"}
    assert all(episode.truncated and not episode.terminated for episode in episodes)


def test_a_game_under_way_is_kept_when_its_connection_breaks_off(recorder: Any) -> None:
    with recorder.play() as connection:
        play(connection, 1, [5] * 9)
        connection.socket.shutdown(socket.SHUT_RDWR)  # no closing handshake
        recorder.wait_for_games(1)
    (episode,) = open_dataset(recorder.folder)
    assert np.concatenate(episode.keys or ()).tolist() == [5] * 9


def test_a_game_under_way_is_kept_when_the_recorder_stops(recorder: Any) -> None:
    with recorder.play() as idle, recorder.play() as connection:
        play(idle, 1, [0] * 9)
        play(connection, 1, [5] * 9)
        recorder.stop()
    (episode,) = open_dataset(recorder.folder)
    assert np.concatenate(episode.keys or ()).tolist() == [5] * 9


def test_a_game_under_way_is_kept_when_the_recorder_is_killed(recorder: Any, tmp_path: Path) -> None:
    with recorder.play() as connection:
        play(connection, 1, [5] * 9)
        until = time.monotonic() + 60
        while not [*recorder.folder.glob("aside/under-way-*/*.partial")]:
            assert time.monotonic() < until
            time.sleep(0.02)
        shutil.copytree(recorder.folder, tmp_path / "left")  # as a kill at this moment leaves it
    record_interrupted(tmp_path / "left")
    (episode,) = open_dataset(tmp_path / "left")
    assert set(np.concatenate(episode.keys or ()).tolist()) == {5}


def test_a_game_whose_end_the_page_never_saw_is_kept_once(recorder: Any) -> None:
    with recorder.play() as connection:
        play(connection, 1, [5] * 3)
        connection.send(json.dumps({"type": "keys", "game": 1, "keys": FALL}))
        connection.socket.shutdown(socket.SHUT_RDWR)
        recorder.wait_for_games(1)
    assert open_dataset(recorder.folder)[0].outcome == "fell"


def test_two_pages_play_their_own_games(recorder: Any) -> None:
    with recorder.play() as one, recorder.play() as two:
        first = play(one, 1, [1] * 6)
        second = play(two, 1, [2] * 9)
        assert (np.concatenate(first)[-1] != np.concatenate(second)[-1]).any()
    recorder.wait_for_games(2)


def test_keys_of_an_earlier_game_are_not_played_in_the_next(recorder: Any) -> None:
    with recorder.play() as connection:
        play(connection, 1, [1] * 3)
        connection.send(json.dumps({"type": "start", "game": 2}))
        assert frames(connection.recv(timeout=10))[:2] == (2, 0)
        connection.send(json.dumps({"type": "keys", "game": 1, "keys": [1] * 30}))
        connection.send(json.dumps({"type": "keys", "game": 2, "keys": [4]}))
        game, first, rows = frames(connection.recv(timeout=10))
    assert (game, first, len(rows)) == (2, 1, 1)


def test_a_game_can_be_discarded(recorder: Any) -> None:
    with recorder.play() as connection:
        play(connection, 1, FALL)
        name = json.loads(connection.recv(timeout=10))["name"]
        connection.send(json.dumps({"type": "discard", "name": name}))
        assert json.loads(connection.recv(timeout=10)) == {"type": "discarded", "name": name}
    assert json.loads(recorder.get(recorder.address.path + "games.json")[1])["games"] == []
    assert len(list((recorder.folder / "aside").glob("*-discarded.aside"))) == 1


def test_serves_the_page_the_scene_and_the_games(recorder: Any) -> None:
    path = recorder.address.path
    with recorder.play() as connection:
        play(connection, 1, FALL)
        connection.recv(timeout=10)
    status, page = recorder.get(path)
    assert status == 200
    assert b"<canvas" in page
    scene = json.loads(recorder.get(path + "scene.json")[1])
    assert scene["row"] == ROW
    for tile in [strip["tile"] for strip in scene["strips"]] + ["lane.png", "sand.png", "finish.png"]:
        assert recorder.get(path + f"tiles/{tile}")[1].startswith(b"\x89PNG")
    games = json.loads(recorder.get(path + "games.json")[1])
    assert games["best"]["name"] == games["games"][0]["name"]
    assert games["best"]["name"].startswith("episode-000000-")


@pytest.mark.parametrize(
    "path",
    ["nothing", "../server.py", "static/page.css", "games/own/episode-000007.bin", "games/x/y.bin", "tiles/x.png"],
)
def test_other_paths_are_not_found(recorder: Any, path: str) -> None:
    assert recorder.get(recorder.address.path + path)[0] == 404


def test_without_the_token_or_from_another_site_nothing_is_served(recorder: Any) -> None:
    path = recorder.address.path
    assert recorder.get("/")[0] == 403
    assert recorder.get("/wrong-token-of-some-length/games.json")[0] == 403
    assert recorder.get(path, Host="example.org")[0] == 403
    for origin, at in (("http://example.org", None), (None, "/wrong-token-of-some-length/play")):
        with pytest.raises(InvalidStatus) as refused, recorder.play(origin=origin, path=at):
            pass
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:8123", "127.0.0.1:1", "[::1]:8123"])
def test_a_page_of_a_forwarded_port_is_served_and_plays(recorder: Any, host: str) -> None:
    path, own = recorder.address.path, f"http://{host}"
    with socket.create_connection((recorder.address.hostname, recorder.address.port), timeout=10) as plain:
        plain.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head = b"".join(iter(lambda: plain.recv(65536), b""))
    assert head.startswith(b"HTTP/1.1 200")
    assert f"connect-src 'self' ws://{host};".encode() in head
    for origin, plays in ((own, True), (f"http://{recorder.address.netloc}", False), ("http://localhost:9", False)):
        with socket.create_connection((recorder.address.hostname, recorder.address.port), timeout=10) as plain:
            upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            asked = f"GET {path}play HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n{upgrade}{key}\r\n"
            plain.sendall(asked.encode())
            assert plain.recv(65536).startswith(b"HTTP/1.1 101" if plays else b"HTTP/1.1 403"), origin


@pytest.fixture
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PING_SECONDS", "SEND_SECONDS"):
        monkeypatch.setattr(local_server, name, 0.2)


@pytest.mark.usefixtures("short_times")
def test_a_page_that_falls_asleep_loses_its_connection_without_a_word(
    make_recorder: Any, make_server: Callable[[Path, int], PageServer], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = make_recorder(tmp_path / "dataset", make_server(tmp_path / "dataset", 0), INFO)
    try:
        with socket.create_connection((recorder.address.hostname, recorder.address.port), timeout=10) as asleep:
            asleep.sendall(opening(recorder.address))
            for message in ({"type": "start", "game": 1}, {"type": "keys", "game": 1, "keys": [5] * 9}):
                asleep.sendall(frame(json.dumps(message).encode()))
            recorder.wait_for_games(1)
    finally:
        recorder.stop()
    assert caplog.records == []


@pytest.mark.parametrize(
    "message",
    ["{", '{"type": "keys"}', '{"type": "keys", "game": 1, "keys": [16]}', '{"type": "discard", "name": "../x"}', "[]"],
)
def test_an_invalid_message_closes_the_connection_of_that_page_alone(recorder: Any, message: str) -> None:
    with recorder.play() as other, recorder.play() as connection:
        connection.send(json.dumps({"type": "start", "game": 1}))
        connection.recv(timeout=10)
        connection.send(message)
        with pytest.raises(ConnectionClosed):
            connection.recv(timeout=10)
        play(other, 1, [1] * 3)


def test_only_this_machine_is_served_and_a_port_in_use_is_refused(
    recorder: Any, make_server: Callable[[Path, int], PageServer], tmp_path: Path
) -> None:
    assert recorder.address.hostname == "127.0.0.1"
    with pytest.raises(BadInput, match=f"source.port={recorder.address.port}"):
        make_server(tmp_path / "two", recorder.address.port or 0)


def test_a_game_that_cannot_be_written_ends_the_recording(recorder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise BadInput("the disk is full")

    monkeypatch.setattr(DatasetWriter, "write", fail)
    with recorder.play() as connection:
        play(connection, 1, FALL)
        with pytest.raises(ConnectionClosed):
            connection.recv(timeout=10)
    with pytest.raises(BadInput, match="the disk is full"):
        recorder.games.wait()

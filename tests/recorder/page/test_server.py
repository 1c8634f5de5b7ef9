"""The recorder behind the page, with messages as the page sends them."""

import html
import json
import re
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.play.site import files
from qwop.recorder.game_writer import record_interrupted
from websockets.exceptions import ConnectionClosed

FALL = [4] * 60
KEYS = [5] * 20 + [10] * 10


def settings(recorder: Any) -> dict[str, Any]:
    found = re.search(r'<meta name="recorder" content="([^"]*)">', recorder.get("")[1].decode())
    assert found
    read: dict[str, Any] = json.loads(html.unescape(found[1]))
    return read


def test_a_game_is_recorded_as_it_ends(recorder: Any, game_of: Callable[..., Any]) -> None:
    game = game_of(FALL)
    with recorder.page() as page:
        page.send(game.begin())
        for start in range(0, len(game.frames), 7):
            page.send(game.part(start, start + 7))
        page.send(game.end())
        answer = json.loads(page.recv(timeout=60))
    name = answer.pop("name")
    assert name.startswith("episode-000000-")
    assert answer == {"type": "recorded", "game": game.game, "next": None}
    (episode,) = open_dataset(recorder.folder)
    np.testing.assert_array_equal(episode.keys_of_frames, game.keys)
    assert (episode.player, episode.source, episode.outcome) == ("ada", "page", "fell")


def test_a_game_under_way_is_kept_when_its_connection_breaks_off(recorder: Any, game_of: Callable[..., Any]) -> None:
    game = game_of(KEYS)
    with recorder.page() as page:
        page.send(game.begin())
        page.send(game.part(0, 9))
        page.socket.shutdown(socket.SHUT_RDWR)
        recorder.wait_for_games(1)
    assert recorder.send(game)["name"].startswith("episode-000001-")  # the page comes back, and plays it to its end
    (episode,) = open_dataset(recorder.folder)
    np.testing.assert_array_equal(episode.keys_of_frames, game.keys)


def test_a_game_under_way_is_kept_when_the_recorder_stops(recorder: Any, game_of: Callable[..., Any]) -> None:
    game = game_of(KEYS)
    with recorder.page() as page:
        page.send(game.begin())
        page.send(game.part(0))
        page.send(game_of(FALL, 2).begin())  # nothing played
        with pytest.raises(TimeoutError):
            page.recv(timeout=0.2)
        recorder.stop()
    (episode,) = open_dataset(recorder.folder)
    np.testing.assert_array_equal(episode.keys_of_frames, game.keys)


def test_the_copy_of_a_killed_recorder_is_recorded_and_replaced_by_the_whole_game(
    recorder: Any, make_recorder: Callable[..., Any], game_of: Callable[..., Any], tmp_path: Path
) -> None:
    game, left = game_of(KEYS), tmp_path / "left"
    with recorder.page() as page:
        page.send(game.begin())
        page.send(game.part(0, 25))
        until = time.monotonic() + 60
        while not [*recorder.folder.glob("aside/under-way-*/game-*.partial")]:
            assert time.monotonic() < until
            time.sleep(0.02)
        shutil.copytree(recorder.folder, left)  # as a kill at this moment leaves it
    assert record_interrupted(left) == ["games that a killed recorder left are recorded: 1"]
    assert len(open_dataset(left)[0].keys_of_frames) == 25
    make_recorder(folder=left).send(game)  # the page had kept it
    (episode,) = open_dataset(left)
    np.testing.assert_array_equal(episode.keys_of_frames, game.keys)


def test_a_file_is_recorded_under_its_name(recorder: Any, game_of: Callable[..., Any]) -> None:
    recorder.send(game_of(KEYS), file="best_keys.txt", player="somebody")
    (episode,) = open_dataset(recorder.folder)
    assert (episode.player, episode.source, episode.origin.sha256) == ("somebody", "best_keys.txt", f"{1:012x}")


def test_after_ten_games_the_page_names_the_next_command(recorder: Any, game_of: Callable[..., Any]) -> None:
    commands = [recorder.send(game_of(KEYS, number))["next"] for number in range(1, 11)]
    command = f"qwop-pretrain dataset={recorder.folder} out=runs/{recorder.folder.name}"
    assert commands == [None] * 9 + [command]
    assert settings(recorder)["next"] == command


def test_a_game_can_be_discarded(recorder: Any, game_of: Callable[..., Any]) -> None:
    name = recorder.send(game_of(KEYS))["name"]
    with recorder.page() as page:
        page.send(json.dumps({"type": "discard", "name": name}))
        assert json.loads(page.recv(timeout=60)) == {"type": "discarded", "name": name}
    assert json.loads(recorder.get("games.json")[1])["games"] == []


def test_the_page_is_served_with_its_recorder_and_games(recorder: Any, game_of: Callable[..., Any]) -> None:
    game = game_of(KEYS)
    recorder.send(game)
    folder = str(recorder.folder)
    assert settings(recorder) == {"player": "me", "ghost": "none", "folder": folder, "dataset": folder, "next": None}
    for name in ("main.js", "engine.wasm", "tiles/lane.png", "champion.safetensors"):
        assert recorder.get(name) == (200, files()[name])
    assert b"RecordedGames" in recorder.get("recorder.js")[1]
    (listed,) = json.loads(recorder.get("games.json")[1])["games"]
    assert json.loads(recorder.get(f"games/own/{listed['name']}.json")[1]) == {"keys": KEYS}
    for path in ("nothing", "games/own/episode-000007.json", "games/x/y.json", "../server.py"):
        assert recorder.get(path)[0] == 404


def test_every_script_that_the_recorder_adds_is_there(recorder: Any) -> None:
    import qwop.recorder.page.server as server

    for script in server.STATIC.glob("*.js"):
        for name in re.findall(r'from "\./([\w.]+)"', script.read_text()):
            assert recorder.get(name)[0] == 200, name
        assert script.name not in files()


@pytest.mark.parametrize("message", ["{", '{"type": "end"}'])
def test_an_invalid_message_closes_the_connection_and_keeps_the_game(
    recorder: Any, game_of: Callable[..., Any], message: str
) -> None:
    game = game_of(KEYS)
    with recorder.page() as page:
        page.send(game.begin())
        page.send(game.part(0, 12))
        page.send(message)
        with pytest.raises(ConnectionClosed):
            page.recv(timeout=60)
    recorder.wait_for_games(1)
    assert len(open_dataset(recorder.folder)[0].keys_of_frames) == 12


@pytest.mark.parametrize(
    ("begin", "missing", "reason"),
    [
        ({"player": "x" * 120}, 0, "player: string should have at most 100 characters"),
        ({"tempo": 3}, 0, "tempo: input should be less than or equal to 1"),
        ({}, 3, "frames have come"),
    ],
)
def test_a_refused_game_is_named_and_the_next_is_recorded(
    recorder: Any, game_of: Callable[..., Any], begin: dict[str, Any], missing: int, reason: str, capsys: Any
) -> None:
    games = [game_of(KEYS[: len(KEYS) - number], number) for number in (1, 2, 3)]
    answers = []
    with recorder.page() as page:
        for number, game in enumerate(games):
            second = number == 1
            page.send(game.begin(**(begin if second else {})))
            page.send(game.part(missing if second else 0))
            page.send(game.end())
            answers.append(json.loads(page.recv(timeout=60)))
    assert [answer["type"] for answer in answers] == ["recorded", "refused", "recorded"]
    assert answers[1]["game"] == games[1].game
    assert reason in answers[1]["reason"]
    recorder.wait_for_games(2)
    assert reason in capsys.readouterr().out.replace("\n", " ")

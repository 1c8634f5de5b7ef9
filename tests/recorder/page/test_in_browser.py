"""The recorder's page of QWOP in a real browser: played by key events, recorded and played back."""

import json
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.envs import replay

from .recording_page import RecordingPage

pytestmark = pytest.mark.needs(module="selenium")

ESCAPE = "\ue00c"


@pytest.fixture
def page(open_page: Callable[..., RecordingPage]) -> RecordingPage:
    """The page of QWOP."""
    opened = open_page("source=page", "source.player=me", "source.ghost=none")
    opened.browser.execute_script("localStorage.clear()")
    return opened


def test_a_game_played_by_keys_is_in_the_dataset_and_replays_exactly(page: RecordingPage) -> None:
    (name,) = page.find("#card #name")
    assert name.get_attribute("value") == "me"
    name.send_keys("\ue009a\ue009Zoë\ue007")  # all of it is replaced; Enter begins
    page.wait("playing")
    page.fall()
    (episode,) = open_dataset(page.folder)
    keys = episode.keys_of_frames
    assert {5, 6} <= set(keys.tolist())  # q and o together, w and o
    game = replay(keys)
    assert len(game.states) == len(keys) + 1
    assert game.events[-1, 4] == 1
    assert (episode.outcome, episode.player, episode.source) == ("fell", "Zoë", "page")
    assert page.text("metres") == f"{game.events[-1, 0]:.1f} m"
    assert page.text("seconds") == f"{(len(keys) - np.flatnonzero(keys)[0]) / 30:.2f} s"
    assert page.unsent() == 0
    page.require_quiet()
    printed = page.stop()
    page.wait_until(lambda: "The recorder has stopped" in page.text("toast"), "told")
    assert page.recorder.returncode == 0
    assert "fell 1" in printed


def test_games_are_watched_raced_against_discarded_and_had_back(page: RecordingPage) -> None:
    page.fall()
    page.run()
    page.press("r")  # leaves the game, which is kept
    page.wait("playing")
    assert [episode.outcome for episode in page.wait_for_games(2)] == ["fell", "stopped"]
    page.load()  # the list comes from the dataset now
    page.press("l")
    page.wait_until(lambda: len(page.find("#own tr")) == 2, "two rows")
    page.of_first("race")
    page.wait_until(lambda: page.find("#own tr.chosen"), "chosen")
    page.of_first("watch")
    page.wait("watching")
    page.wait_until(lambda: page.text("ghost").startswith("your game 1: "), "named")
    page.press(ESCAPE)
    page.wait("ready")
    page.press("l")
    page.of_first("discard")
    page.wait_until(lambda: len(page.recorded()) == 1, "discarded")
    page.browser.execute_script("document.querySelector('#drawer').close()")
    page.click("#toast button")
    first, again = page.wait_for_games(2)
    assert {first.outcome, again.outcome} == {"fell", "stopped"}
    page.require_quiet()


def test_a_page_that_is_reloaded_loses_nothing_and_records_nothing_twice(page: RecordingPage) -> None:
    page.run()
    page.load()
    (episode,) = page.wait_for_games(1)
    assert episode.outcome == "stopped"
    page.wait_until(lambda: page.unsent() == 0, "confirmed")
    assert len(page.recorded()) == 1
    assert not [*page.folder.glob("aside/*-discarded.aside")]


def test_what_is_played_without_a_recorder_is_recorded_by_the_next_one(
    page: RecordingPage, open_page: Callable[..., RecordingPage]
) -> None:
    page.run()
    page.recorder.send_signal(signal.SIGKILL)
    page.recorder.wait()
    page.stumble()  # the game goes on without it
    assert "until the recorder is back" in page.text("detail")
    page.run()
    page.press(ESCAPE)
    page.wait("paused")
    assert page.unsent() == 2
    arguments = ("source=page", "source.ghost=none", f"source.port={page.address.split(':')[2].split('/')[0]}")
    other = open_page(*arguments, folder="other")
    other.wait_until(lambda: f"wait here for the recorder of {page.folder}" in other.text("toast"), "told")
    other.stop()
    assert other.recorded() == []
    again = open_page(*arguments)
    again.wait_until(lambda: again.unsent() == 0, "confirmed")
    assert [game.outcome for game in again.wait_for_games(2)] == ["fell", "stopped"]  # and no beginning beside it
    again.wait_until(lambda: again.value("document.querySelectorAll('#own tr').length") == 2, "listed")


def test_on_a_narrow_window_the_recorders_line_covers_no_button_of_the_card(page: RecordingPage) -> None:
    page.fall()
    where = "document.querySelector('footer .where')"
    page.browser.execute_script(f"{where}.textContent = 'recording into /home/somebody/games/of/qwop/that/I/played'")
    for width, height in ((360, 640), (320, 568), (640, 360)):
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        footer = page.value("document.querySelector('footer').getBoundingClientRect().toJSON()")
        card = page.value("document.getElementById('card').getBoundingClientRect().toJSON()")
        assert card["bottom"] <= footer["top"]
        assert footer["right"] <= width
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_game_that_was_refused_stays_in_the_list_with_its_reason(page: RecordingPage, game_of: Any) -> None:
    why, game = "player: string should have at most 100 characters", game_of([0] * 5 + [1] * 6 + [9] * 12)
    entry = {
        "dataset": str(page.folder.resolve()), "begun": 1, "page": "qwop.page.closed", "player": "x" * 120, "tempo": 1,
        "frames": game.frames, "sha256": game.sha256,
    }  # fmt: skip
    script = "localStorage.setItem('qwop.unsent.' + arguments[0], arguments[1])"
    page.browser.execute_script(script, game.game, json.dumps(entry))
    page.load()
    page.wait_until(lambda: why in page.text("toast"), "told")
    assert page.value(f"JSON.parse(localStorage.getItem('qwop.unsent.{game.game}')).frames") == game.frames
    page.load()  # the next page has it in the list, too
    page.press("l")
    (row,) = page.value("[...document.querySelectorAll('#own tr')].map((row) => row.innerText)")
    for word in ("not in the dataset", why, "file"):
        assert word in row


def test_without_websocket_the_page_opens_says_so_and_keeps_the_games(page: RecordingPage) -> None:
    source = {"source": "delete window.WebSocket;"}
    script = page.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    try:
        page.load()
        page.wait_until(lambda: "no recorder" in page.find("footer .where")[0].text, "told")
        page.run()
        page.press("r")  # leaves the game
        page.wait("playing")
        assert page.unsent() == 1
    finally:
        page.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    page.load()
    assert len(page.wait_for_games(1)) == 1

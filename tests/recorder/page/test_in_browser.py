"""The recorder's page of QWOP in a real browser: played by key events, recorded and played back."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.envs import replay

from .recording_page import RecordingPage

pytestmark = pytest.mark.needs(module="selenium")


class Page(RecordingPage):
    """The page of QWOP."""

    def __init__(self, browser: Any, folder: Path, *arguments: str) -> None:
        super().__init__(browser, folder, "source=page", "source.player=me", "source.ghost=none", *arguments)
        self.wait_until(
            lambda: self.browser.execute_script("return document.body.dataset.recorder") == "connected", "connected"
        )

    def run(self) -> None:
        """Begin a game, and press a key in it."""
        self.press("r")
        self.wait("playing")
        self.keys().key_down("q").key_down("o").pause(0.25).key_up("q").key_up("o").perform()

    def fall(self) -> None:
        """Play a game that ends by itself."""
        self.run()
        self.lie_down()
        self.wait_until(lambda: "recorded as game" in self.text("detail").lower(), "recorded")

    def lie_down(self) -> None:
        """Hold keys by turns until the runner falls."""
        until = time.monotonic() + 60
        while self.state == "playing":
            assert time.monotonic() < until, "the runner never falls"
            keys = self.keys().key_down("w").key_down("o").pause(0.5).key_up("w").key_up("o")
            keys.key_down("q").pause(0.4).key_up("q").perform()
        self.wait("over")

    def wait_for_games(self, count: int) -> list[Any]:
        self.wait_until(lambda: len(self.recorded()) == count, f"{count} games")
        return list(open_dataset(self.folder))

    def of_first(self, action: str) -> None:
        """Click a button of the list's first game."""
        buttons = "[...document.querySelectorAll('#own tr:last-child button')]"
        self.browser.execute_script(f"{buttons}.find((one) => one.textContent === arguments[0]).click()", action)

    def unsent(self) -> int:
        """Games that the browser keeps for the recorder."""
        return int(
            self.browser.execute_script(
                "return Object.keys(localStorage).filter((name) => name.includes('unsent')).length"
            )
        )


def outcomes(page: Page) -> list[str]:
    return [episode.outcome for episode in open_dataset(page.folder)] if page.recorded() else []


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Page]:
    opened = Page(browser, tmp_path / "dataset")
    browser.execute_script("localStorage.clear()")
    browser.get_log("browser")  # what the page of an earlier recorder has said
    yield opened
    opened.stop()


def test_a_game_played_by_keys_is_in_the_dataset_and_replays_exactly(page: Page) -> None:
    name = page.browser.find_element("css selector", "#card #name")
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
    seconds = (len(keys) - np.flatnonzero(keys)[0]) / 30
    assert page.text("seconds") == f"{seconds:.2f} s"
    assert page.unsent() == 0
    assert page.browser.get_log("browser") == []  # no error, and nothing that the page's own policy forbids


def test_games_are_watched_raced_against_discarded_and_had_back(page: Page) -> None:
    page.fall()
    page.run()
    page.press("r")  # leaves the game, which is kept
    page.wait("playing")
    assert [episode.outcome for episode in page.wait_for_games(2)] == ["fell", "stopped"]
    page.browser.refresh()  # the list comes from the dataset now
    page.wait("ready")
    page.press("l")
    page.wait_until(lambda: len(page.find("#own tr")) == 2, "two rows")
    page.of_first("race")
    page.wait_until(lambda: page.find("#own tr.chosen"), "chosen")
    page.of_first("watch")
    page.wait("watching")
    page.wait_until(lambda: page.text("ghost").startswith("your game 1: "), "named")
    page.press("\ue00c")  # escape
    page.wait("ready")
    page.press("l")
    page.of_first("discard")
    page.wait_until(lambda: len(page.recorded()) == 1, "discarded")
    page.browser.execute_script("document.querySelector('#drawer').close()")
    page.click("#toast button")
    first, again = page.wait_for_games(2)
    assert {first.outcome, again.outcome} == {"fell", "stopped"}
    assert page.browser.get_log("browser") == []


def test_a_page_that_is_reloaded_loses_nothing_and_records_nothing_twice(page: Page) -> None:
    page.run()
    page.browser.refresh()
    (episode,) = page.wait_for_games(1)
    assert episode.outcome == "stopped"
    page.wait_until(lambda: page.unsent() == 0, "confirmed")
    assert len(page.recorded()) == 1
    assert not [*page.folder.glob("aside/*-discarded.aside")]


def test_what_is_played_without_a_recorder_is_recorded_by_the_next_one(page: Page, tmp_path: Path) -> None:
    page.run()
    page.recorder.send_signal(signal.SIGKILL)
    page.recorder.wait()
    page.lie_down()  # the game goes on without it
    assert "until the recorder is back" in page.text("detail")
    page.run()
    page.press("\ue00c")
    page.wait("paused")
    assert page.unsent() == 2
    port = f"source.port={page.browser.current_url.split('/')[2].split(':')[1]}"
    other = Page(page.browser, tmp_path / "other", port)
    other.wait_until(lambda: f"wait here for the recorder of {page.folder}" in other.text("toast"), "said")
    other.stop()
    assert other.recorded() == []
    again = Page(page.browser, page.folder, port)
    try:
        again.wait_until(
            lambda: outcomes(again) == ["fell", "stopped"], "recorded, and no beginning of a game beside it"
        )
        again.wait_until(lambda: again.unsent() == 0, "confirmed")
        script = "return document.querySelectorAll('#own tr').length"
        again.wait_until(lambda: again.browser.execute_script(script) == 2, "listed")
    finally:
        again.stop()


def test_on_a_narrow_window_the_recorders_line_covers_no_button_of_the_card(page: Page) -> None:
    page.fall()
    where = "document.querySelector('footer .where')"
    page.browser.execute_script(f"{where}.textContent = 'recording into /home/somebody/games/of/qwop/that/I/played'")
    for width, height in ((360, 640), (320, 568), (640, 360)):
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        footer = page.browser.execute_script("return document.querySelector('footer').getBoundingClientRect().toJSON()")
        card = page.browser.execute_script("return document.getElementById('card').getBoundingClientRect().toJSON()")
        assert card["bottom"] <= footer["top"]
        assert footer["right"] <= width
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_dropped_file_of_keys_is_recorded(page: Page) -> None:
    from qwop.policies.champion import keys_path

    for _ in range(2):  # the second time it is there already
        page.browser.find_element("css selector", "#file").send_keys(str(keys_path("champion")))
        (episode,) = page.wait_for_games(1)
        page.wait_until(lambda: page.unsent() == 0, "confirmed")
    assert (episode.outcome, episode.source) == ("finished", "champion_keys.txt")
    assert len(page.recorded()) == 1


def test_stopping_is_said_on_the_page_and_ends_with_a_summary(page: Page) -> None:
    page.fall()
    said = page.stop()
    page.wait_until(lambda: "The recorder has stopped" in page.text("toast"), "said")
    assert page.recorder.returncode == 0
    assert "fell 1" in said


@pytest.mark.slow
def test_a_recorder_that_hangs_for_a_while_records_what_came_meanwhile(page: Page) -> None:
    page.recorder.send_signal(signal.SIGSTOP)
    page.run()
    page.lie_down()
    assert page.text("detail").endswith("Being recorded …")
    page.recorder.send_signal(signal.SIGCONT)
    page.wait_until(lambda: "recorded as game" in page.text("detail").lower(), "recorded")
    assert page.wait_for_games(1)[0].outcome == "fell"


def unsent(page: Page, games: list[Any], **of_second: Any) -> None:
    """Let the browser keep games that the recorder has not confirmed, the second of them with other values."""
    for number, game in enumerate(games):
        entry = {
            "dataset": str(page.folder.resolve()), "begun": number + 1, "page": "qwop.page.closed", "player": "ada",
            "tempo": 1, "file": None, "frames": game.frames, "sha256": game.sha256,
        } | (of_second if number == 1 else {})  # fmt: skip
        script = "localStorage.setItem('qwop.unsent.' + arguments[0], arguments[1])"
        page.browser.execute_script(script, game.game, json.dumps(entry))


@pytest.mark.parametrize(
    ("of_second", "why"),
    [
        ({"player": "x" * 120}, "player: string should have at most 100 characters"),
        ({"tempo": 3}, "tempo: input should be less than or equal to 1"),
    ],
)
def test_a_refused_game_is_set_apart_with_a_word_and_the_next_is_sent(
    page: Page, game_of: Any, of_second: dict[str, Any], why: str
) -> None:
    keys = [0] * 5 + [1] * 6 + [6] * 15 + [9] * 12
    games = [game_of(keys[: len(keys) - number], number) for number in range(3)]
    unsent(page, games, **of_second)
    page.browser.refresh()
    page.wait("ready")
    recorded = page.wait_for_games(2)
    page.wait_until(lambda: page.unsent() == 0, "answered")
    assert [episode.keys_of_frames.tolist() for episode in recorded] == [games[0].keys.tolist(), games[2].keys.tolist()]
    page.wait_until(lambda: why in page.text("toast"), "said")
    apart = f"JSON.parse(localStorage.getItem('qwop.apart.{games[1].game}'))"
    assert page.browser.execute_script(f"return {apart}.frames") == games[1].frames
    page.browser.refresh()  # the next page has it in the list, too
    page.wait("ready")
    page.press("l")
    listed = "[...document.querySelectorAll('#own tr')].map((row) => row.innerText)"
    rows = page.browser.execute_script(f"return {listed}")
    assert len(rows) == 3
    (row,) = (row for row in rows if "not in the dataset" in row)
    assert why in row
    assert "file" in row
    page.fall()  # and goes on recording
    assert len(page.wait_for_games(3)) == 3


def test_a_page_that_ended_before_its_first_frame_stops_nothing(page: Page, game_of: Any) -> None:
    games = [game_of([0, 1, 6, 6, 9 - number], number) for number in range(3)]
    unsent(page, games, frames=[], sha256=None)
    page.browser.refresh()
    assert len(page.wait_for_games(2)) == 2
    page.wait_until(lambda: page.unsent() == 0, "forgotten")


def test_without_websocket_the_page_opens_says_so_and_keeps_the_games(page: Page) -> None:
    script = page.browser.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": "delete window.WebSocket;"}
    )
    try:
        page.browser.refresh()
        page.wait("ready")
        page.wait_until(lambda: "no recorder" in page.find("footer .where")[0].text, "said")
        page.run()
        page.press("r")  # leaves the game
        page.wait("playing")
        assert page.unsent() == 1
    finally:
        page.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    page.browser.refresh()
    assert len(page.wait_for_games(1)) == 1

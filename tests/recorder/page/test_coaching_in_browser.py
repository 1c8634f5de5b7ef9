"""A policy corrected on the page in a real browser, by key events."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.datasets.control import PERSON, POLICY
from qwop.datasets.verify import verify

from ...play.page import lift, open_browser, touch
from .recording_page import RecordingPage

pytestmark = pytest.mark.needs(module="selenium")

BACKSPACE, ESCAPE = "\ue003", "\ue00c"


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., RecordingPage]]:
    opened: list[RecordingPage] = []

    def of(*arguments: str) -> RecordingPage:
        opened.append(RecordingPage(browser, tmp_path / "games", "source=page", "source.policy=champion", *arguments))
        opened[-1].wait_until(lambda: connected(opened[-1]), "connected")
        return opened[-1]

    yield of
    for page in opened:
        page.stop()


def connected(page: RecordingPage) -> bool:
    return bool(page.browser.execute_script("return document.body.dataset.recorder === 'connected'"))


def who(page: RecordingPage) -> str:
    return str(page.browser.execute_script("return document.getElementById('who').dataset.who"))


def seconds(page: RecordingPage) -> float:
    return float(page.text("seconds").removesuffix(" s"))


@pytest.mark.slow
def test_a_policy_is_corrected(open_page: Callable[..., RecordingPage]) -> None:
    page = open_page("source.release=0.3", "source.back=1", "source.player=me")
    page.press("\ue007")
    page.wait("playing")
    page.wait_until(lambda: seconds(page) > 3, "three seconds along")
    for speed in ("1/2 speed", "1/4 speed"):  # or a busy machine is too late, and the runner has fallen
        page.press("s")
        assert page.text("speed") == speed
    assert who(page) == "policy"
    page.keys().key_down("q").perform()
    page.wait_until(lambda: who(page) == "person", "in the person's hands")
    page.keys().key_up("q").perform()
    page.wait_until(lambda: who(page) == "policy", "released")
    page.press("t")
    page.wait_until(lambda: who(page) == "person", "handed over")
    page.press("t")
    page.wait_until(lambda: who(page) == "policy", "handed back")
    page.press(BACKSPACE)
    page.wait_until(lambda: who(page) == "waiting", "back")
    time.sleep(0.5)  # until the newest frame is drawn
    stands = seconds(page)
    time.sleep(0.3)
    assert seconds(page) == stands
    page.press(BACKSPACE)  # again: nothing was played, so no episode is left
    page.wait_until(lambda: seconds(page) < stands, "further back")
    page.press(ESCAPE)  # a game that waits is paused, not left
    page.wait("paused")
    page.press(ESCAPE)
    page.wait("playing")
    assert who(page) == "waiting"
    page.press("s")
    assert page.text("speed") == ""
    page.keys().key_down("q").key_down("p").perform()
    page.wait_until(lambda: who(page) == "person", "in the person's hands")
    page.wait("over")
    page.keys().key_up("q").key_up("p").perform()
    page.press(BACKSPACE)
    page.wait_until(lambda: who(page) == "waiting", "back from the end")
    time.sleep(0.5)  # until the newest frame is drawn
    stands = seconds(page)
    page.press("t")
    page.wait_until(lambda: seconds(page) > stands + 0.2, "going on")  # a line on which nothing is played is no episode
    page.press("r")
    page.wait_until(lambda: len(page.recorded()) >= 3, "written")
    assert page.browser.get_log("browser") == []
    said = page.stop()
    assert "branches" in said
    games = [*open_dataset(page.folder)][:3]  # the policy has begun another one
    first = games[0].origin.game
    assert first is not None
    assert [game.origin.game for game in games] == [first, first + 1, first + 2]
    assert [None if game.branch is None else game.branch.game for game in games] == [None, first, first + 1]
    assert games[1].outcome == "fell"
    for game in games:
        assert game.actors is not None
        assert game.policy_probabilities is not None
        drawn = game.actors == POLICY
        assert np.array_equal(game.behaviour_probabilities[drawn], game.policy_probabilities[drawn])
    assert {PERSON, POLICY} <= {*np.concatenate([game.actors for game in games]).tolist()}
    checked, problems = verify(page.folder, replay=True)
    assert all(one.replayed for one in checked)
    assert problems == []


@pytest.mark.slow
def test_backspace_counts_at_the_start_with_a_key_down_and_after_the_end(
    open_page: Callable[..., RecordingPage],
) -> None:
    page = open_page("source.back=10", "source.max_idle_frames=0")
    page.browser.get_log("browser")  # of earlier pages, whose recorders have ended
    page.press("\ue007")
    page.wait("playing")
    page.press(BACKSPACE)
    page.wait_until(lambda: who(page) == "waiting", "back at the start")
    assert (page.text("metres"), seconds(page)) == ("0.0 m", 0)
    page.keys().key_down("q").perform()
    page.wait_until(lambda: seconds(page) > 0.5, "going on")
    page.press(BACKSPACE)  # with a key down, as when the runner falls
    page.wait_until(lambda: who(page) == "waiting", "back at the start")
    time.sleep(0.5)
    assert (who(page), seconds(page)) == ("waiting", 0)
    page.keys().key_up("q").perform()
    page.keys().key_down("q").key_down("p").perform()
    page.wait("over")
    page.keys().key_up("q").key_up("p").perform()
    page.wait_until(lambda: "ecorded as game" in page.text("detail"), "recorded")
    count = len(page.recorded())
    page.press("x")
    page.wait_until(lambda: len(page.recorded()) == count - 1, "discarded")
    page.press(BACKSPACE)  # not in a game that was discarded
    time.sleep(0.2)
    assert page.state == "over"
    assert page.browser.get_log("browser") == []


@pytest.fixture(scope="module")
def phone() -> Iterator[Any]:
    started = open_browser(phone=True)
    yield started
    started.quit()


def tap(phone: Any, *selectors: str) -> None:
    touch(phone, *selectors)
    lift(phone)


@pytest.mark.slow
def test_a_policy_is_corrected_by_touch_alone(phone: Any, tmp_path: Path) -> None:
    page = RecordingPage(
        phone, tmp_path / "games", "source=page", "source.policy=champion", "source.release=0.3", "source.back=1"
    )
    try:
        tap(phone, "#choices .main")
        page.wait("playing")
        page.wait_until(lambda: seconds(page) > 1.5, "along")
        for speed in ("1/2 speed", "1/4 speed"):  # or a busy machine is too late, and the runner has fallen
            tap(phone, '[data-do="slow"]')
            assert page.text("speed") == speed
        touch(phone, '[data-key="q"]', '[data-key="p"]')
        page.wait_until(lambda: who(page) == "person", "in the person's hands")
        assert [cap.text for cap in page.find(".keys .down")] == ["Q", "P"]
        lift(phone)
        page.wait_until(lambda: who(page) == "policy", "released")
        tap(phone, '[data-do="pause"]')
        page.wait("paused")
        tap(phone, "#choices .main")
        page.wait("playing")
        tap(phone, '[data-do="back"]')
        page.wait_until(lambda: who(page) == "waiting", "back")
        tap(phone, '[data-do="handOver"]')
        page.wait_until(lambda: who(page) == "person", "handed over")
        assert phone.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        tap(phone, '[data-do="list"]')
        page.wait_until(lambda: len(page.find("#own tr")) == 1, "listed, the line that was left")
        tap(phone, "#close")
        assert page.state == "paused"  # since the list was opened
        tap(phone, '[data-do="restart"]')
        page.wait_until(lambda: len(page.recorded()) >= 2, "written")
        assert phone.get_log("browser") == []
    finally:
        page.stop()


@pytest.mark.slow
def test_a_pause_and_another_window_stop_the_clock(open_page: Callable[..., RecordingPage]) -> None:
    page = open_page()
    page.press("\ue007")
    page.wait("playing")
    page.wait_until(lambda: seconds(page) > 1, "a second along")
    for stops in (
        lambda: page.press(ESCAPE),
        lambda: page.browser.execute_script("window.dispatchEvent(new Event('blur'))"),
        lambda: page.press("l"),
    ):
        stops()
        page.wait("paused")
        time.sleep(0.5)  # until the newest frame is drawn
        stands = seconds(page)
        time.sleep(0.5)
        assert seconds(page) == stands
        if page.browser.execute_script("return document.getElementById('drawer').open"):
            page.press(ESCAPE)
        page.press(ESCAPE)
        page.wait_until(lambda at=stands: at < seconds(page) < at + 1, "going on")


@pytest.mark.slow
def test_the_keys_of_coaching_count_on_other_keyboards(open_page: Callable[..., RecordingPage]) -> None:
    page = open_page()
    page.press("\ue007")
    page.wait("playing")
    page.browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": "ы", "code": "KeyS"})
    assert page.text("speed") == "1/2 speed"

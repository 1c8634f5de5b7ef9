"""The page in a real browser: games played by key events, recorded and played back."""

import re
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.envs import replay

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install 'qwop[browser]'")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip("needs Chromium or Chrome, and chromedriver, on the path", allow_module_level=True)

RECORD = str(Path(sysconfig.get_path("scripts")) / "qwop-record")

OWN = "#games tr[data-collection=own]"
"""Rows of the player's own games; the list contains the embedded ones, too."""

TAP_LOGIC = """
const done = arguments[arguments.length - 1];
import('./keyboard.js').then(({ Keyboard }) => {
  const target = new EventTarget();
  const keyboard = new Keyboard(target);
  const send = (type, key, time, more) => {
    const event = new KeyboardEvent(type, { key, code: 'Key' + key.toUpperCase(), ...more });
    Object.defineProperty(event, 'timeStamp', { value: time });
    target.dispatchEvent(event);
  };
  send('keydown', 'q', 10); send('keyup', 'q', 12);                        // a tap within the first frame
  send('keydown', 'W', 40); send('keydown', 'W', 50, { repeat: true });    // held, capital, repeating
  send('keydown', 'o', 70); send('keyup', 'w', 120);
  send('keydown', 'p', 130, { ctrlKey: true });                            // a shortcut, not the game's
  send('keydown', 'x', 131);
  done([0, 1, 2, 3, 4].map((frame) => keyboard.during(frame * 33, (frame + 1) * 33)));
});
"""


class Page:
    """A running `qwop-record`, and a browser that shows its page."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        command = [RECORD, "source=page", "source.open=false", "source.player=me", "source.ghost=none"]
        command.append(f"dataset={folder}")
        self.recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.recorder.stdout is not None
        for line in self.recorder.stdout:
            if found := re.search(r"http://\S+", line):
                break
        else:
            raise AssertionError("qwop-record printed no address")
        browser.get(found[0])
        self.wait("ready")

    @property
    def state(self) -> str:
        return str(self.browser.execute_script("return document.body.dataset.state"))

    def wait(self, state: str) -> None:
        self.wait_until(lambda: self.state == state, f"in the state {state}")

    def wait_until(self, true: Callable[[], Any], what: str) -> None:
        until = time.monotonic() + 30
        while not true():
            assert time.monotonic() < until, f"never {what}: {self.browser.get_log('browser')}"
            time.sleep(0.02)

    def find(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def text(self, name: str) -> str:
        return str(self.browser.execute_script(f"return document.getElementById('{name}').textContent"))

    def keys(self) -> Any:
        return webdriver.ActionChains(self.browser, duration=0)

    def press(self, key: str) -> None:
        self.keys().send_keys(key).perform()

    def fall(self) -> None:
        """Play a game that ends by itself: a step with Q and O, then O until the runner falls."""
        self.press("q")
        self.wait("playing")
        self.keys().key_down("q").key_down("o").pause(0.25).key_up("q").perform()
        self.wait("over")
        self.keys().key_up("o").perform()

    def games(self) -> list[Any]:
        return sorted(self.folder.glob("episode-*.parquet"))

    def stop(self) -> str:
        if self.recorder.poll() is None:
            self.recorder.send_signal(signal.SIGINT)
        assert self.recorder.stdout is not None
        said = self.recorder.stdout.read()
        self.recorder.wait(timeout=30)
        return said


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,800",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield started
    started.quit()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Page]:
    opened = Page(browser, tmp_path / "dataset")
    yield opened
    opened.stop()


def test_a_game_played_by_keys_is_in_the_dataset_and_replays_exactly(page: Page) -> None:
    page.fall()
    (episode,) = open_dataset(page.folder)
    assert episode.keys is not None
    keys = np.concatenate(episode.keys)
    assert 5 in keys  # q and o together
    assert keys[-1] == 4
    game = replay(keys)
    assert len(game.states) == len(keys) + 1
    assert game.events[-1, 4] == 1
    assert episode.metres == game.states[-1, 0, 0] / 10
    assert (episode.outcome, episode.player, episode.source) == ("fell", "me", "page")
    assert page.text("metres") == f"{game.events[-1, 0]:.1f} m"
    seconds = (len(keys) - np.flatnonzero(keys)[0]) / 30
    assert page.text("seconds") == f"{seconds:.2f} s"
    assert "Fell" in page.text("title")
    assert page.text("detail") == "Recorded as game 0."
    assert page.browser.get_log("browser") == []  # no error, and nothing that the page's own policy forbids


def test_a_game_can_be_watched_raced_against_and_discarded(page: Page) -> None:
    page.fall()
    page.press("l")
    assert [row.get_attribute("data-name") for row in page.find(OWN)] == ["episode-000000"]
    watch, race, discard = range(3)
    page.find(f"{OWN} button")[race].click()
    page.wait_until(lambda: page.find("#games tr.chosen"), "chosen")
    page.find(f"{OWN} button")[watch].click()
    page.wait("watching")
    page.wait_until(lambda: page.text("ghost") == "me, game 0", "named")  # by the next frame that is drawn
    page.press("\ue00c")  # escape
    page.wait("over")

    page.press("r")
    page.wait("playing")
    page.keys().key_down("w").pause(0.3).key_up("w").perform()
    page.wait_until(
        lambda: re.fullmatch(r"ghost of me: you are \d+\.\d m (ahead|behind)", page.text("ghost")), "racing"
    )
    page.press("r")  # leaves the game, which is kept
    page.wait("playing")
    page.keys().key_down("o").perform()
    page.wait("over")
    page.keys().key_up("o").perform()
    assert [episode.outcome for episode in open_dataset(page.folder)] == ["fell", "stopped", "fell"]

    page.press("x")
    page.wait_until(lambda: page.text("detail") == "Discarded.", "discarded")
    page.press("l")
    page.find(f"{OWN} button")[discard].click()  # the newest that is left: the one that was left
    page.wait_until(lambda: len(page.find(OWN)) == 1, "one row")
    assert [path.stem for path in page.games()] == ["episode-000000"]
    assert len(list((page.folder / "discarded").iterdir())) == 2
    assert page.browser.get_log("browser") == []


def test_a_frame_gets_the_keys_held_at_its_end_and_those_tapped_within_it(page: Page) -> None:
    assert page.browser.execute_async_script(TAP_LOGIC) == [1, 2, 6, 4, 4]


def test_stopping_is_shown_on_the_page_and_ends_with_a_summary(page: Page) -> None:
    page.fall()
    said = page.stop()
    page.wait("closed")
    assert "stopped" in page.text("title")
    assert page.recorder.returncode == 0
    assert "fell 1" in said


def test_a_lost_connection_is_shown_and_the_page_tries_again_until_it_gives_up(page: Page) -> None:
    page.press("q")
    page.wait("playing")
    page.recorder.kill()
    page.wait("lost")
    assert page.text("title") == "Connection lost"
    page.press("r")
    assert page.state == "lost"
    page.wait("closed")
    assert page.text("detail") == "Every finished game is in the dataset."


def test_the_runner_is_drawn_on_the_track(page: Page) -> None:
    """The shirt's blue above the track's red, as in the pictures of qwop.envs."""
    time.sleep(0.3)
    colours = page.browser.execute_script("""
        const view = document.getElementById('view');
        const pixels = view.getContext('2d').getImageData(0, 0, view.width, view.height).data;
        const count = (r, g, b) => {
          let found = 0;
          for (let at = 0; at < pixels.length; at += 4) {
            found += Math.abs(pixels[at] - r) + Math.abs(pixels[at + 1] - g) + Math.abs(pixels[at + 2] - b) < 12;
          }
          return found / (pixels.length / 4);
        };
        return [count(38, 94, 168), count(203, 96, 72), count(236, 176, 132)];
    """)
    shirt, track, skin = colours
    assert shirt > 0.005
    assert track > 0.05
    assert skin > 0.005

"""The page in a real browser: games played by key events, recorded and played back."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.envs import replay

from .recording_page import RecordingPage

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


class Page(RecordingPage):
    """The page of QWOP."""

    def __init__(self, browser: Any, folder: Path) -> None:
        super().__init__(browser, folder, "source=page", "source.player=me", "source.ghost=none")

    def fall(self) -> None:
        """Play a game that ends by itself: a step with Q and O, then O until the runner falls."""
        self.press("q")
        self.wait("playing")
        self.keys().key_down("q").key_down("o").pause(0.25).key_up("q").perform()
        self.wait("over")
        self.keys().key_up("o").perform()


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

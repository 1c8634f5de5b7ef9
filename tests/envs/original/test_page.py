"""The adapter in a real browser, on a toy with the original's names."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.envs.names import BODIES
from qwop.envs.original.page import Frames, OriginalPage, PageGone, PageSettings, address_of

HEAD = BODIES.index("head")
CLOCK, ENDED = 5, 4

PLAYED = [1, 1, 5, 0, 2, 6, 10, 15, 0, 4, 1]


@pytest.fixture(scope="module")
def page(chromium: None, fake: Path) -> Iterator[OriginalPage]:
    with OriginalPage(PageSettings(folder=str(fake))) as opened:
        yield opened


def heard(frames: Frames) -> list[int]:
    """The keys of each frame, as the toy's head tells them."""
    return [int(keys) for keys in frames.states[:, HEAD, 5]]


def same(one: Frames, other: Frames) -> None:
    for name in ("states", "events", "joints", "hidden"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_frame_is_what_the_page_has(page: OriginalPage) -> None:
    start = page.new_game()
    assert len(start) == 1
    # The toy's bodies start at (0, 0), (1, -1), ... and have fallen by one frame without a key.
    np.testing.assert_array_equal(start.states[0, 1:, 0], np.arange(1, 14) + 14 / 1024)
    np.testing.assert_array_equal(start.states[0, 1:, 1], -np.arange(1, 14))
    np.testing.assert_allclose(start.events[0], [0, 0, 0, 0, 0, 1 / 30])
    later = page.play([5])
    np.testing.assert_array_equal(later.states[0, HEAD, [2, 5]], [5, 5])
    np.testing.assert_array_equal(later.joints[0], later.states[0, HEAD, 2] - np.arange(11) / 8)
    np.testing.assert_array_equal(later.hidden[0], [1, -2, -8])  # of the toy's head and hips


def test_each_frame_has_its_keys_and_none_is_played_besides(page: OriginalPage) -> None:
    page.new_game()
    first = page.play(PLAYED[:4])
    time.sleep(0.2)
    rest = page.play(np.array(PLAYED[4:], np.uint8))
    assert heard(first) + heard(rest) == PLAYED
    assert rest.events[-1, CLOCK] == pytest.approx((1 + len(PLAYED)) / 30)


def test_a_game_that_has_ended_plays_no_more(page: OriginalPage) -> None:
    page.new_game()
    frames = page.play([8] * 50)
    assert len(frames) < 50
    np.testing.assert_array_equal(frames.events[:, ENDED], [0] * (len(frames) - 1) + [1])
    assert len(page.play([1, 1])) == 0


@pytest.mark.parametrize("before", [[], [1, 2, 3], [8] * 50, [1] * 300])
def test_every_game_on_a_page_is_the_same_as_the_first(page: OriginalPage, before: list[int]) -> None:
    """The toy's world, like the original's, would be another after the page's own second reset."""
    start, frames = page.new_game(), page.play(PLAYED)
    page.new_game()
    page.play(before)
    same(page.new_game(), start)
    same(page.play(PLAYED), frames)


def test_live_a_game_takes_its_time_and_waits_for_late_decisions(
    chromium: None, fake: Path, page: OriginalPage
) -> None:
    page.new_game()
    by_hand = page.play(PLAYED * 3)
    with OriginalPage(PageSettings(folder=str(fake), live=True)) as live:
        live.new_game()
        started = time.monotonic()
        first = live.play(PLAYED)
        time.sleep(0.2)
        rest = live.play(PLAYED * 2)
        # The 33 frames last 1.1 s, less what a page that was held up catches up with.
        assert time.monotonic() - started > 0.2 + len(PLAYED) / 30
        assert live.play([]).states.shape == (0, 14, 6)
    np.testing.assert_array_equal(np.concatenate([first.states, rest.states]), by_hand.states)


class Person:
    """Somebody at the page: real clicks and keys."""

    def __init__(self, page: OriginalPage) -> None:
        self.driver = page._driver

    def click(self) -> None:
        self.driver.find_element("css selector", "canvas").click()

    def keys(self, kind: str, *names: str) -> None:
        for name in names:
            code = {"code": f"Key{name.upper()}", "windowsVirtualKeyCode": ord(name.upper())}
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": name, **code})

    def hold(self, names: str, as_bits: int) -> None:
        """Until three frames have had these keys."""
        before = self.frames_with(as_bits)
        self.keys("keyDown", *names)
        assert until(lambda: self.frames_with(as_bits) >= before + 3)
        self.keys("keyUp", *names)

    def restart(self) -> None:
        self.keys("keyDown", "r")
        self.keys("keyUp", "r")

    def frames_with(self, bits: int) -> int:
        heard: list[int] = self.driver.execute_script("return window.heard || []")
        return heard.count(bits)


def until(reached: Callable[[], Any], seconds: float = 20) -> Any:
    end = time.monotonic() + seconds
    while not (found := reached()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_a_persons_games_are_kept_frame_by_frame(chromium: None, fake: Path, page: OriginalPage) -> None:
    with OriginalPage(PageSettings(folder=str(fake))) as seen:
        person = Person(seen)
        seen.let_a_person_play()
        time.sleep(0.2)
        assert seen.take() == []
        person.click()
        person.hold("wo", 6)  # backwards, which ends no game however long a slow machine holds them
        assert seen.take() == []
        person.restart()
        (given_up,) = until(seen.take)
        person.restart()  # without a key, a game is none
        person.hold("w", 2)
        person.keys("keyDown", "q", "p")
        (game,) = until(seen.take)  # fallen
        assert seen.take() == []
        # Held over a new game: its first frame has no keys all the same, and the next ones do.
        person.keys("keyUp", "p")
        person.restart()
        before = person.frames_with(1)
        assert until(lambda: person.frames_with(1) >= before + 3)
        person.keys("keyDown", "p")
        (second,) = until(seen.take)

    assert 6 in given_up.keys
    assert given_up.frames.events[-1, ENDED] == 0
    assert set(game.keys) >= {2, 9}
    assert not {4, 6} & set(game.keys)  # those of the game before
    assert game.keys[-1] == 9
    assert heard(game.frames) == [0, *game.keys]
    assert game.frames.events[-1, ENDED] == 1
    assert len(game.frames) == len(game.keys) + 1
    assert heard(second.frames)[:2] == [0, 1]
    for one in (given_up, game, second):
        start = page.new_game()
        np.testing.assert_array_equal(one.frames.states[:1], start.states)
        np.testing.assert_array_equal(one.frames.states[1:], page.play(one.keys).states)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc")
def test_a_browser_does_not_outlive_a_killed_process(chromium: None, fake: Path) -> None:
    code = f"""
import sys
from qwop.envs.original.page import OriginalPage, PageSettings
page = OriginalPage(PageSettings(folder={str(fake)!r}))
print(page._driver.service.process.pid, flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    driver = int(process.stdout.readline())
    assert group_members(driver)
    process.kill()
    process.wait()
    end = time.monotonic() + 10
    while group_members(driver) and time.monotonic() < end:
        time.sleep(0.1)
    assert not group_members(driver)


def group_members(group: int) -> list[str]:
    """The processes of a group that run."""
    members = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue  # gone since
        state, _, own, *_ = rest.split()
        if int(own) == group and state != "Z":
            members.append(name)
    return members


def test_a_closed_browser_is_said(chromium: None, fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with OriginalPage(PageSettings(folder=str(fake))) as page:
        page.new_game()
        with monkeypatch.context() as closing:
            closing.setattr(page._driver, "execute_cdp_cmd", lambda *words: None)  # as Chromium answers meanwhile
            with pytest.raises(PageGone, match="the window was closed"):
                page.play([1])
        page._driver.quit()
        with pytest.raises(PageGone, match="does not answer any more"):
            page.play([1])


@pytest.mark.needs(module="selenium")
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "neither given"),
        ({"url": "http://localhost", "folder": "."}, "both given"),
        ({"folder": "nowhere"}, r"folder=nowhere: found no \.html file"),
        ({"url": "ftp://localhost"}, "url=ftp://localhost: expected the address of a page"),
        ({"folder": "{empty}"}, r"no \.html file"),
        ({"folder": "{fake}", "browser": "no-such-browser"}, "could be started"),
        ({"folder": "{fake}", "browser": "{broken}"}, "could be started"),
        ({"folder": "{fake}", "headless": False}, "needs a display, and DISPLAY"),
        ({"folder": "{fake}/empty.html", "timeout": 0.5}, "no game of QWOP found on it within 0.5 s"),
        ({"url": "{address}?stuck", "timeout": 1.0}, r"\(missing: doneLoading\)"),
        ({"url": "http://127.0.0.1:{unused}/Athletics.html"}, "the page does not open"),
        ({"url": "http://127.0.0.1:9/"}, "the browser refuses the address"),
    ],
)
def test_settings_and_pages_that_cannot_be_are_refused(
    chromium: None,
    fake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    complaint: str,
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    broken, empty = tmp_path / "chromium", tmp_path / "empty"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    empty.mkdir()
    with socket.socket() as once:
        once.bind(("127.0.0.1", 0))
        unused = once.getsockname()[1]
    with address_of(None, str(fake)) as address:
        words = {"fake": fake, "empty": empty, "broken": broken, "unused": unused, "address": address}
        form = lambda value: value.format(**words) if isinstance(value, str) else value  # noqa: E731
        with pytest.raises(BadInput, match=complaint):
            OriginalPage(PageSettings(**{name: form(value) for name, value in settings.items()}))


def test_without_selenium_it_is_said_what_to_install(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selenium", None)
    with pytest.raises(BadInput, match=r"pip install 'qwop\[browser\]'"):
        OriginalPage(PageSettings(folder=str(fake)))

"""The page in a real browser, played by keys and by touch."""

import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys
from qwop.play.site import files, write_site

from ..envs.web.runners import static_host
from .page import Page, lift, open_browser, touch

pytestmark = pytest.mark.needs(module="selenium")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("host")
    write_site(root / "some" / "where", files())
    with static_host(root) as host:
        yield f"{host}some/where/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    started = open_browser()
    yield started
    started.quit()


@pytest.fixture
def page(browser: Any, address: str) -> Page:
    opened = Page(browser, address)
    opened.open()
    browser.execute_script("localStorage.clear()")
    opened.open()
    return opened


def exact(page: Page, packed: str) -> None:
    """The game of a link plays as it says, in the page and in the simulator."""
    game = page.imported(f"(({{ rows, ...game }}) => game)(verify(module, '{packed}'))")
    assert isinstance(game, dict), game
    played = replay(game["keys"])
    assert len(played.states) == len(game["keys"]) + 1
    assert game["metres"] == pytest.approx(played.events[-1, 0])


def packed_game(page: Page) -> str:
    """A game of Ada's as a link has it, packed by the page."""
    keys = "[...Array(20).fill(5), ...Array(60).fill(10), ...Array(40).fill(9)]"
    return str(page.imported(f"pack(module, {{ ...play(module, {keys}), name: 'Ada', day: 20783 }})"))


def test_the_page_starts_at_nothing_and_a_game_is_played_by_the_keyboard_alone(page: Page) -> None:
    assert (page.text("metres"), page.text("seconds"), page.state) == ("0.0 m", "0.00 s", "ready")
    heights = page.value("[...document.querySelectorAll('footer button')].map((one) => one.offsetHeight)")
    assert min(heights) >= 44  # for fingers
    page.press("q")
    page.wait("playing")
    page.stumble()
    assert page.text("title").startswith("Fell after")
    assert "game 1" in page.text("detail")
    assert page.text("announcer").startswith("Fell after")
    (game,) = page.games()
    exact(page, game["packed"])
    page.press("\ue007")  # Enter: the button for another run has the focus
    page.wait("playing")
    assert page.browser.get_log("browser") == []


def test_keys_count_on_other_keyboards_and_in_the_menus_of_the_card(page: Page) -> None:
    def russian(key: str, code: str) -> None:
        for kind in ("keyDown", "keyUp"):
            page.browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": code})

    russian("д", "KeyL")
    assert page.value("document.getElementById('drawer').open")
    page.press("\ue00c")
    page.browser.execute_script("document.getElementById('ghost-choice').focus()")
    page.press(" ")  # opens the menu
    page.press("\ue00c")
    assert page.state == "ready"
    russian("й", "KeyQ")
    page.wait("playing")


def test_escape_and_a_lost_focus_pause_and_the_list_does(page: Page) -> None:
    page.press("w")
    page.wait("playing")
    page.keys().key_down("w").pause(0.3).key_up("w").perform()
    page.press("\ue00c")
    page.wait("paused")
    before = page.text("seconds")
    time.sleep(0.5)
    assert page.text("seconds") == before
    page.press("\ue00c")
    page.wait("playing")
    page.wait_until(lambda: page.text("seconds") != before, "going on")
    page.browser.execute_script("window.dispatchEvent(new Event('blur'))")
    page.wait("paused")
    page.press("l")
    assert page.value("document.getElementById('drawer').open")
    assert page.value("document.getElementById('drawer').contains(document.activeElement)")
    page.press("r")  # a new game closes the list; the one that was left is kept
    page.wait("playing")
    assert not page.value("document.getElementById('drawer').open")
    assert len(page.games()) == 1


def test_a_run_starts_at_once_unless_a_countdown_is_wanted(page: Page) -> None:
    page.press("r")
    assert page.state == "playing"
    page.press("\ue00c")  # nothing was played: the start again
    assert page.state == "ready"
    page.press("l")
    page.click("#counted")
    page.open()
    page.press("r")
    assert page.state == "countdown"
    page.wait("playing")


def test_a_replay_shows_the_times_along_the_run_and_the_board_the_best_human(page: Page) -> None:
    page.press("l")
    page.wait_until(lambda: page.value("document.querySelectorAll('#board tr').length") == 3, "all runs")
    rows = page.value("[...document.querySelectorAll('#board tr')].map((row) => row.innerText)")
    assert ["45.53 s, human" in row for row in rows] == [False, False, True]
    page.click("[aria-label='watch search from the champion']")
    page.wait("watching")
    page.scrub("bar.max")
    page.wait_until(lambda: page.text("split") == "100 m in 36.97 s · record −8.56", "the last time")
    page.scrub("400")
    page.wait_until(lambda: page.text("split").startswith("25 m in "), "an earlier one")
    page.scrub("0")
    page.wait_until(lambda: page.text("split") == "", "none")


def test_a_game_that_ended_is_discarded_had_back_and_watched(page: Page) -> None:
    page.press("q")
    page.wait("playing")
    page.stumble()
    kept = page.games()
    page.press("x")
    page.wait_until(lambda: page.games() == [], "discarded")
    page.click("#toast button")
    assert page.games() == kept
    page.press("l")
    page.click("[aria-label='discard game 1']")
    page.click("#toast button")  # within the list, which lies above everything else
    assert page.games() == kept
    undo = "getComputedStyle(document.querySelector('#toast button')).visibility"
    assert page.value(undo) == "hidden"  # not to be reached by Tab, either
    page.click("#close")
    fallen = page.text("metres")
    page.click("#choices button:nth-child(2)")  # Watch
    page.wait("watching")
    page.press("\ue00c")
    page.wait("over")
    page.wait_until(lambda: page.text("metres") == fallen, "shown as it ended")


def test_a_game_under_way_outlives_the_page(page: Page) -> None:
    page.press("q")
    page.wait("playing")
    page.keys().key_down("o").pause(0.4).key_up("o").perform()
    page.open()
    (game,) = page.games()
    exact(page, game["packed"])
    assert "under way" in page.text("toast")


def test_two_pages_at_once_take_no_game_from_each_other(page: Page) -> None:
    def stride() -> None:
        page.press("r")
        page.wait("playing")
        page.keys().key_down("o").pause(0.7).key_up("o").perform()

    def leave() -> None:
        page.press("r")  # the game is kept
        page.press("\ue00c")
        page.wait("ready")

    stride()
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    second = page.browser.current_window_handle
    try:
        page.open()
        assert page.games() == []  # the first page's game is under way
        page.browser.switch_to.window(first)
        leave()
        page.browser.switch_to.window(second)
        stride()
        leave()
    finally:
        page.browser.switch_to.window(second)
        page.browser.close()
        page.browser.switch_to.window(first)
    assert [game["number"] for game in page.games()] == [1, 2]
    page.press("l")
    page.click("[aria-label='discard game 1']")
    assert [game["number"] for game in page.games()] == [2]


FORBIDDEN = "throw new DOMException('forbidden', 'SecurityError');"


STATES = {
    "no storage": "Object.defineProperty(window, 'localStorage', { value: null });",
    "forbidden": f"Object.defineProperty(window, 'localStorage', {{ get() {{ {FORBIDDEN} }} }});"
    f"navigator.locks.request = navigator.locks.query = async () => {{ {FORBIDDEN} }};"
    f"Object.defineProperty(navigator, 'serviceWorker', {{ get() {{ {FORBIDDEN} }} }});",
    "no locks": "Object.defineProperty(navigator, 'locks', { value: undefined });",
    "full": "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };",
    "1969": "Date.now = () => -1e9;",
    "offline": "const { fetch } = window; const gone = async () => { throw new TypeError('offline'); };"
    "window.fetch = (name) => (/champion|board/.test(name) ? gone() : fetch(name));",
    "silent": "delete window.AudioContext;",
    "old": "delete Intl.Segmenter;",
}


@pytest.mark.parametrize("state", STATES)
def test_the_page_plays_and_lists_games_in_every_state_of_a_browser(page: Page, state: str) -> None:
    with page.with_script(f"if (location.protocol === 'http:') {{ {STATES[state]} }}"):
        page.press("m")  # sound
        page.press("r")
        page.wait("playing")
        page.keys().key_down("q").key_down("p").pause(0.3).key_up("q").key_up("p").perform()
        page.press("r")  # leaves the game, which is listed
        page.wait("playing")
        assert ("does not keep games" in page.text("toast")) == (state in ("no storage", "forbidden", "full"))
        page.press("l")
        assert page.value("document.querySelectorAll('#own tr').length") == 1
        assert page.browser.get_log("browser") == []


def test_a_link_opens_as_a_replay_and_a_changed_one_is_refused(page: Page) -> None:
    packed = packed_game(page)
    page.open(f"#game={packed}")
    page.wait("watching")
    assert page.text("ghost").startswith("Ada: ")
    page.scrub("50")
    page.click("#player .next")
    page.wait_until(lambda: page.value("document.querySelector('.scrub').value") == "51", "a frame on")
    game = replay([5] * 20 + [10] * 60 + [9] * 40)
    assert page.text("metres") == f"{game.events[51, 0]:.1f} m"
    page.keys().send_keys("\ue012").perform()  # the left arrow
    page.wait_until(lambda: page.value("document.querySelector('.scrub').value") == "50", "a frame back")
    page.browser.execute_script("document.querySelector('#proof summary').focus()")
    page.press(" ")
    page.wait_until(lambda: len(page.text("digits")) == 64, "opened")
    page.press("\ue00c")
    page.wait("ready")
    assert page.text("ghost") == "Ada"
    page.open(f"#game={packed[:-1]}{'0' if packed[-1] != '0' else '1'}")
    assert page.state == "ready"
    assert "refused" in page.text("toast")


@pytest.mark.parametrize(
    "link", ["#game={}&utm_source=x", "#utm_source=x&game={}", "#game%3D{}%26utm_source%3Dx", "?a=b#game={}."]
)
def test_a_link_opens_with_what_mail_programs_and_messengers_do_to_it(page: Page, link: str) -> None:
    packed = packed_game(page)
    page.open(link.format(packed.replace("-", "%2D")))
    page.wait("watching")
    assert page.value("document.getElementById('toast').className") == ""


def test_opened_as_a_file_the_page_says_what_it_needs(browser: Any, tmp_path: Path) -> None:
    write_site(tmp_path / "site", files())
    browser.get((tmp_path / "site" / "index.html").as_uri())
    page = Page(browser, "")
    page.wait_until(lambda: "web server" in browser.find_element("id", "detail").text, "explained")
    assert page.state == "loading"
    browser.get_log("browser")


def test_all_games_are_saved_in_a_zip(page: Page, tmp_path: Path) -> None:
    game = {"packed": packed_game(page), "outcome": "fell", "metres": 1.0, "seconds": 1.0}
    kept = [{**game, "number": number} for number in range(1, 16)]
    page.browser.execute_script("localStorage.setItem('qwop.games', JSON.stringify(arguments[0]))", kept)
    page.open()
    where = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    page.press("l")
    page.click("#export")
    page.wait_until(lambda: [*tmp_path.glob("qwop-*-15-games.zip")], "saved")
    with zipfile.ZipFile(next(tmp_path.glob("*.zip"))) as archive:
        assert len({*archive.namelist()}) == 15
        (proof,) = {
            one for name in archive.namelist() for one in archive.read(name).decode().splitlines() if "sha256" in one
        }
    assert proof == f"# sha256: {game['packed'][-64:]}"


def test_files_of_keys_and_policies_are_raced_and_others_refused(page: Page, tmp_path: Path) -> None:
    from qwop.policies.champion import keys_path, policy_path

    wrong = tmp_path / "wrong.txt"
    wrong.write_text("hello")
    file = page.browser.find_element("css selector", "#file")
    file.send_keys(str(keys_path("champion")))
    page.wait_until(lambda: "36.97 s" in page.text("toast"), "opened")
    file.send_keys(str(policy_path("champion")))
    page.wait_until(lambda: "a policy" in page.text("toast"), "opened")
    file.send_keys(str(wrong))
    page.wait_until(lambda: "wrong.txt is refused: line 1" in page.text("toast"), "refused")
    assert page.value("document.querySelectorAll('#guests tr').length") == 2
    assert page.text("ghost") == "champion"
    page.press("q")
    page.wait("playing")
    page.keys().key_down("q").pause(0.2).key_up("q").perform()
    page.wait_until(lambda: "champion: you are" in page.text("ghost"), "raced")
    assert len(read_keys(keys_path("champion"))) == 1109


def test_a_game_is_played_by_touch_alone(address: str) -> None:
    browser = open_browser(phone=True)
    try:
        page = Page(browser, address)
        page.open()

        touch(browser, "#choices .main")
        lift(browser)
        page.wait("playing")
        until = time.monotonic() + 100
        while page.state == "playing":
            assert time.monotonic() < until, "the runner never falls"
            for pair in ('[data-key="w"]', '[data-key="o"]'), ('[data-key="q"]', '[data-key="p"]'):
                try:
                    touch(browser, *pair)
                except AssertionError:  # the keys leave the page when the runner falls, which he may just have done
                    if page.state == "playing":
                        raise
                    break
                time.sleep(0.5)
                lift(browser)
        page.wait("over")
        (game,) = page.games()
        exact(page, game["packed"])
        both = page.value("document.documentElement.scrollWidth <= innerWidth")
        assert both, "the page is wider than the phone"
        below = "document.querySelector('footer').getBoundingClientRect().top"
        gap = page.value(f"{below} - document.getElementById('card').getBoundingClientRect().bottom")
        assert 0 <= gap < 60, "the card is not above the buttons"
        touch(browser, '[data-do="restart"]')
        lift(browser)
        page.wait_until(lambda: page.state in ("countdown", "playing"), "begun again")
        assert browser.get_log("browser") == []
    finally:
        browser.quit()

"""The page in a headless browser, from a static host that knows nothing of it, at a path of its own."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ..envs.web.runners import CHROMIUM, FLAGS, program_of

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install 'qwop[browser]'")
BROWSER = program_of(CHROMIUM)
DRIVER = shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip("needs Chromium or Chrome, and chromedriver, on the path", allow_module_level=True)

PHONE = {"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 2.0, "touch": True}, "userAgent": "Mobile"}


def open_browser(phone: bool = False, size: str = "720,540", *flags: str) -> Any:
    """A headless browser that keeps its console's messages, perhaps with a phone's screen and touch."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--window-size={size}", *flags):
        options.add_argument(flag)
    if phone:
        options.add_experimental_option("mobileEmulation", PHONE)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


def touch(browser: Any, *selectors: str) -> None:
    """Put fingers on these elements at once; each has to be in front of everything else there."""
    points = []
    for number, selector in enumerate(selectors):
        place, in_front = browser.execute_script(
            "const shown = document.querySelector(arguments[0]);"
            "const { x, y, width, height } = shown.getBoundingClientRect();"
            "const [across, down] = [x + width / 2, y + height / 2];"
            "return [{ x: across, y: down }, document.elementFromPoint(across, down) === shown];",
            selector,
        )
        assert in_front, f"{selector} is not to be touched"
        points.append({**place, "id": number})
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points})


def lift(browser: Any) -> None:
    """Take all fingers away."""
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


class Page:
    """The page at an address, in a browser."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, fragment: str = "") -> None:
        self.browser.get("about:blank")  # or only the fragment would change
        self.browser.get(self.address + fragment)
        self.wait_until(lambda: self.value("document.body.dataset.loaded") == "true", "loaded")

    def value(self, script: str) -> Any:
        return self.browser.execute_script(f"return {script}")

    @property
    def state(self) -> str:
        return str(self.value("document.body.dataset.state"))

    def wait(self, state: str) -> None:
        self.wait_until(lambda: self.state == state, f"in the state {state}")

    def wait_until(self, true: Callable[[], Any], what: str) -> None:
        until = time.monotonic() + 90
        while not true():
            assert time.monotonic() < until, f"never {what}: {self.state}, {self.browser.get_log('browser')}"
            time.sleep(0.05)

    def text(self, name: str) -> str:
        return str(self.value(f"document.getElementById('{name}').textContent"))

    def click(self, selector: str) -> None:
        self.browser.find_element("css selector", selector).click()

    def keys(self) -> Any:
        return webdriver.ActionChains(self.browser, duration=0)

    def press(self, key: str) -> None:
        self.keys().send_keys(key).perform()

    @contextmanager
    def with_script(self, source: str) -> Iterator[None]:
        """Open the page after a script has changed the browser."""
        command = "ScriptToEvaluateOnNewDocument"
        script = self.browser.execute_cdp_cmd(f"Page.add{command}", {"source": source})
        try:
            self.open()
            yield
        finally:
            self.browser.execute_cdp_cmd(f"Page.remove{command}", script)

    def imported(self, work: str) -> Any:
        """The result of JavaScript that uses the functions of packed.js and the compiled engine as `module`."""
        self.browser.execute_script(
            "window.result = null;"
            "Promise.all(['./packed.js', './engine.js'].map((name) => import(new URL(name, document.baseURI)))).then("
            "async ([{ pack, play, verify }, { loadEngine }]) => {"
            f"const module = await loadEngine(); window.result = {work}; }},"
            "(error) => { window.result = String(error); });"
        )
        self.wait_until(lambda: self.value("window.result"), "calculated")
        return self.value("window.result")

    def scrub(self, frame: str) -> None:
        """Show a frame of a replay."""
        self.browser.execute_script(
            f"const bar = document.querySelector('.scrub'); bar.value = {frame}; bar.dispatchEvent(new Event('input'));"
        )

    def games(self) -> list[dict[str, Any]]:
        """The games that the browser keeps."""
        return list(self.value("JSON.parse(localStorage.getItem('qwop.games') ?? '[]')"))

    def stumble(self) -> None:
        """Hold keys by turns until the runner falls."""
        until = time.monotonic() + 100
        while self.state == "playing":
            assert time.monotonic() < until, "the runner never falls"
            keys = self.keys().key_down("w").key_down("o").pause(0.5).key_up("w").key_up("o")
            keys.key_down("q").pause(0.4).key_up("q").perform()
        self.wait("over")

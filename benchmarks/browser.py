"""A headless browser on the pages of the commands; needs Chromium with its driver."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Any

from selenium import webdriver


def open_browser(width: int = 1280, height: int = 800) -> Any:
    """A headless browser with a window of this size; below 500 pixels, a phone's screen with touch."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium") or shutil.which("google-chrome"))
    size = f"--window-size={width},{height}"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", size):
        options.add_argument(flag)
    if width < 500:
        options.add_experimental_option(
            "mobileEmulation", {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 2.0, "touch": True}}
        )
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def address_of(recorder: "subprocess.Popen[str]", said: list[str]) -> str:
    """The address of a recorder's page. said: gets the lines before it."""
    assert recorder.stdout is not None
    for line in recorder.stdout:
        said.append(line)
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise RuntimeError("".join(said[-1:]).strip())


def begin(browser: Any) -> None:
    """Begin a game on the page by R, the one key that every environment has."""
    press(browser, "r")
    wait(lambda: state(browser) == "playing")


def state(browser: Any) -> str:
    return str(browser.execute_script("return document.body.dataset.state"))


def press(browser: Any, key: str) -> None:
    webdriver.ActionChains(browser, duration=0).send_keys(key).perform()


def wait(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        if time.monotonic() > until:
            raise RuntimeError("the page does not go on")
        time.sleep(0.05)

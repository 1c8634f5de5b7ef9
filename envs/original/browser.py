"""Chrome or Chromium under Selenium."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from ...common.errors import BadInput

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_FLAGS = ("--no-first-run", "--disable-background-networking", "--disable-sync", "--disable-component-update")
_WITHOUT_WINDOW = (
    "--headless=new", "--mute-audio", "--window-size=800,600",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",  # WebGL without a graphics card
)  # fmt: skip
_WITH_WINDOW = (
    "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",  # another window may cover this one
    "--window-size=800,700", "--ignore-gpu-blocklist", "--enable-unsafe-swiftshader",
)  # fmt: skip


@contextmanager
def open_browser(headless: bool = True, binary: str | None = None) -> Iterator[Any]:
    """A Selenium driver of a new browser, with a profile of its own, closed with the context or with this process.
    `binary`: the program; by default the first on the path, else the one that Selenium finds. Raises BadInput that says
    what is missing where there is none.
    """
    try:
        from selenium import webdriver
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        raise BadInput(
            "the original game needs Selenium, which is not installed: pip install 'qwop[browser]'"
        ) from None
    shown = headless or not sys.platform.startswith("linux") or os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY"}
    if not shown:
        raise BadInput("a browser window needs a display, and DISPLAY is not set; run this on a desktop")
    options = webdriver.ChromeOptions()
    if program := binary or next(filter(None, map(shutil.which, BROWSERS)), None):
        options.binary_location = program
    # Chromium's sandbox refuses to run as root.
    own = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    for flag in (*_FLAGS, *(_WITHOUT_WINDOW if headless else _WITH_WINDOW), *own):
        options.add_argument(flag)
    # A session of its own, so that Ctrl-C in the terminal is ours to answer and the browser lives until it is closed.
    service = Service(shutil.which("chromedriver"), popen_kw={"start_new_session": True})
    # The driver is on this machine, so no proxy of the environment is asked for the way to it.
    hosts = filter(None, (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), "localhost", "127.0.0.1"))
    try:
        with patch.dict(os.environ, no_proxy=",".join(hosts)):
            browser = webdriver.Chrome(options=options, service=service)
    except (WebDriverException, OSError) as error:
        raise BadInput(
            f"no Chrome or Chromium could be started ({first_line(error)}); install one (Debian: apt install chromium "
            "chromium-driver), name it by the setting browser, or update a chromedriver of another version"
        ) from None
    with _not_outliving_us(service.process.pid):
        try:
            yield browser
        finally:
            browser.quit()


@contextmanager
def _not_outliving_us(group: int) -> Iterator[None]:
    """Context manager: end a process group if this process dies, which a shell that reads from it notices."""
    if os.name == "nt":
        yield
        return
    command = ["sh", "-c", 'read -r _; kill -TERM -"$1" 2>/dev/null', "sh", str(group)]
    watch = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    assert watch.stdin is not None
    try:
        yield
    finally:
        watch.stdin.close()
        watch.wait()


def first_line(error: Exception) -> str:
    """Return the first line of Selenium's message, without its stack trace and advice."""
    text = getattr(error, "msg", None) or str(error)
    return text.strip().splitlines()[0].rstrip(".") if text.strip() else type(error).__name__

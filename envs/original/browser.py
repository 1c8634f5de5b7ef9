"""Chrome or Chromium under Selenium, and calls into its page over the DevTools protocol, five times as fast."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from ...common.errors import BadInput

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# WebGL without a graphics card.
_FLAGS = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


VERSIONS = re.compile(r"only supports \w+ version", re.IGNORECASE)
"""Words of a driver that is of another version than its browser."""


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
    program = binary or next(filter(None, map(shutil.which, BROWSERS)), None)
    if not headless and _no_display():
        raise BadInput("a browser window needs a display, and DISPLAY is not set; run this on a desktop")
    options = webdriver.ChromeOptions()
    if program:
        options.binary_location = program
    for flag in _flags(headless):
        options.add_argument(flag)
    # A session of its own, so that Ctrl-C in the terminal is ours to answer and the browser lives until it is closed.
    service = Service(shutil.which("chromedriver"), popen_kw={"start_new_session": True})
    try:
        # The driver is on this machine, so no proxy of the environment is asked for the way to it.
        hosts = filter(None, (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), "localhost", "127.0.0.1"))
        with patch.dict(os.environ, no_proxy=",".join(hosts)):
            browser = webdriver.Chrome(options=options, service=service)
    except (WebDriverException, OSError) as error:
        if VERSIONS.search(why := first_line(error)):
            raise BadInput(
                f"the driver is of another version than the browser ({why}); update both, or remove the chromedriver "
                "on the path, so that Selenium fetches the right one"
            ) from None
        raise BadInput(
            f"no Chrome or Chromium could be started ({why}); install one (Debian: apt install chromium "
            "chromium-driver), or name it by the setting browser"
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


def _flags(headless: bool) -> list[str]:
    flags = ["--no-first-run", "--disable-background-networking", "--disable-sync", "--disable-component-update"]
    if headless:
        flags += ["--headless=new", "--mute-audio", "--window-size=800,600", *_FLAGS]
    else:
        # A game goes on while another window covers this one.
        flags += ["--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding"]
        flags += ["--window-size=800,700", "--ignore-gpu-blocklist", "--enable-unsafe-swiftshader"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium's sandbox refuses to run as root
    return flags


def _no_display() -> bool:
    return sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


class PageGone(BadInput):
    """The browser was closed, or has left the page."""


class DirectObject:
    """An object in the page that `driver` (Selenium, Chrome) shows, named by a JavaScript expression.

    BadInput where the page has no such object. Calls raise `PageGone` once the page is not there any more.
    """

    def __init__(self, driver: Any, expression: str) -> None:
        import websocket  # Selenium needs it too

        self._number = 0
        address = driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        url = f"ws://{address}/devtools/page/{driver.current_window_handle}"
        self._failures = (websocket.WebSocketException, OSError)
        # A socket of our own, or a proxy of the environment would be asked for the way to this machine.
        host, _, port = address.rpartition(":")
        plain = socket.create_connection((host.strip("[]"), int(port)), timeout=60)
        self._socket = websocket.create_connection(
            url, socket=plain, timeout=60, suppress_origin=True, skip_utf8_validation=True
        )
        result = self._ask("Runtime.evaluate", {"expression": expression})
        if "objectId" not in result:
            raise BadInput(f"{driver.current_url}: {expression} is not in the page")
        self._id = result["objectId"]

    def call(self, method: str, *arguments: Any, seconds: float = 60) -> Any:
        """Call a method; return its result, or that of its promise, as plain data within `seconds`."""
        function = f"function (...given) {{ return this.{method}(...given); }}"
        parameters = {
            "objectId": self._id,
            "functionDeclaration": function,
            "arguments": [{"value": argument} for argument in arguments],
            "returnByValue": True,
            "awaitPromise": True,
        }
        return self._ask("Runtime.callFunctionOn", parameters, seconds).get("value")

    def close(self) -> None:
        self._socket.close()

    def _ask(self, method: str, parameters: dict[str, Any], seconds: float = 60) -> dict[str, Any]:
        self._number += 1
        try:
            self._socket.settimeout(seconds)
            self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
            while (answer := json.loads(self._socket.recv() or "{}")).get("id") != self._number:
                if not answer or answer.get("method") == "Inspector.detached":
                    raise PageGone("the browser was closed")
        except self._failures as error:
            raise PageGone(f"the browser does not answer any more ({error or type(error).__name__})") from None
        if "error" in answer:
            raise PageGone(f"the page was left ({answer['error']['message']})")
        if exception := answer["result"].get("exceptionDetails"):
            description = exception.get("exception", {}).get("description") or exception["text"]
            raise BadInput(f"the page's game failed: {description.splitlines()[0]}")
        result: dict[str, Any] = answer["result"]["result"]
        return result

"""The original game in a browser: its frames, by hand or at its own pace."""

import base64
import functools
import http.server
import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...common.settings import HomePath, Positive, Settings
from ..names import BODIES, EVENT_COLUMNS, HIDDEN_COLUMNS, OBSERVED_JOINTS
from ..qwop.session import Replay
from .browser import first_line, open_browser


@contextmanager
def address_of(url: str | None, folder: str | None) -> Iterator[str]:
    """Context manager: yield the page's address; serve a `folder` (or an .html file in it) meanwhile."""
    if url:
        yield url if "://" in url else f"http://{url}"
        return
    (page,) = _pages_at(folder)
    handler = functools.partial(_Handler, directory=str(page.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/{page.name}"
        finally:
            server.shutdown()


def _pages_at(folder: str | None) -> list[Path]:
    """Return the .html files of a local copy that may be the game's: those with a known name, or else all."""
    if (place := Path(folder or "")).is_file():
        return [place]
    pages = sorted(path for path in place.glob("*") if path.suffix.lower() in (".html", ".htm"))
    return [page for page in pages if page.stem.lower() in ("athletics", "index")] or pages


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing; the terminal is for what the user asked for."""


_PARTS = np.cumsum([len(BODIES) * 6, len(EVENT_COLUMNS), len(OBSERVED_JOINTS), len(HIDDEN_COLUMNS)])
"""Ends of the parts of a frame's row."""

_OPENING = 60.0
"""Seconds that an address may take to answer with all of its page."""

_PACED = 300
"""Frames of a call at the page's own pace, ten seconds: the driver waits for no call longer than two minutes."""


class PageSettings(Settings):
    """The original game's page in Chrome or Chromium."""

    url: str | None = None
    """Address of the page; or give folder."""
    folder: HomePath | None = None
    """Local copy of the page: its folder, or its .html file."""
    headless: bool = True
    """Run the browser without a window."""
    live: bool = False
    """Play at the page's own pace; else as fast as the browser can."""
    browser: HomePath | None = None
    """Program of the browser. null: look for Chrome and Chromium."""
    timeout: Positive = 60.0
    """Seconds that the page, once open, may take to load its game."""

    def require_possible(self, group: str = "") -> None:
        """Raise BadInput for settings that no page can satisfy; `group` prefixes them ('original.')."""
        url, folder = self.url, self.folder
        if bool(url) == bool(folder):
            which = "both" if url else "neither"
            raise BadInput(
                f"{group}url and {group}folder: {which} given; name the page of the original game by its address "
                f"({group}url=https://…) or by a local copy of it ({group}folder=DIR)"
            )
        if url and "://" in url and not url.startswith(("http://", "https://", "file://")):
            raise BadInput(f"{group}url={url}: expected the address of a page, such as https://…")
        if folder and len(pages := _pages_at(folder)) != 1:
            names = ", ".join(page.name for page in pages) or "no .html file"
            raise BadInput(
                f"{group}folder={folder}: found {names}; expected the folder of the page of the original game, or "
                f"the page itself: {group}folder=DIR/page.html"
            )


class PageGone(BadInput):
    """The browser was closed, or has left the page."""


@dataclass(frozen=True, kw_only=True)
class Frames(Replay):
    """Frames of the page. joints: float64 [n, 11], the angles of `names.OBSERVED_JOINTS`, radians."""

    joints: NDArray[np.float64]
    hidden: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.states)


@dataclass(frozen=True)
class PersonsGame:
    """A game that a person ended or gave up: the keys of each frame, uint8 [n ≥ 1], and its n + 1 frames."""

    keys: NDArray[np.uint8]
    frames: Frames


class OriginalPage:
    """A browser on the page of the original game. Close it, or use it as a context.

    Every game begins in the same state to the bit, that of the first reset after the page has loaded (`reset="a"` of
    `replay`). A later reset by the page itself would give its contacts another order, so from the second game on the
    world of the first reset is restored.

    BadInput without a browser, an answer, or a game on the page.
    """

    def __init__(self, settings: PageSettings) -> None:
        settings.require_possible()
        self.settings = settings
        with ExitStack() as stack:
            self.address = stack.enter_context(address_of(settings.url, settings.folder))
            self._driver = stack.enter_context(open_browser(settings.headless, settings.browser))
            names = json.dumps({"bodies": BODIES, "joints": OBSERVED_JOINTS})
            adapter = files(__package__).joinpath("adapter.js").read_text(encoding="utf-8")
            self._driver.execute_cdp_cmd(
                "Page.addScriptToEvaluateOnNewDocument", {"source": f"({adapter.rstrip().rstrip(';')})({names})"}
            )
            self._load()
            self._close = weakref.finalize(self, stack.pop_all().close)
        self._clicked = False

    def new_game(self) -> Frames:
        """Begin a game; return its frame 0, the state after the reset."""
        if not self._clicked:
            if not self._wait(lambda: bool(self._call("click"))):
                raise BadInput(f"{self.address}: the game does not start when it is clicked")
            live = self.settings.live
            self._call("setMode", "paced" if live else "hand", live or not self.settings.headless)
        self._clicked = True
        return _frames(self._call("newGame"))

    def play(self, keys: Sequence[int] | NDArray[np.uint8]) -> Frames:
        """Play one frame for each entry of `keys` (Q = 1, W = 2, O = 4, P = 8), up to the game's end; return them."""
        pressed = np.asarray(keys).tolist()
        if not self.settings.live:
            return _frames(self._call("play", pressed))
        parts = [pressed[first : first + _PACED] for first in range(0, len(pressed), _PACED)]
        return _frames(*(self._call("playPaced", part) for part in parts))

    def let_a_person_play(self) -> None:
        """Let a person play: keep every frame and its keys from the first click on, for `take`."""
        self._call("setMode", "person", True)

    def take(self) -> list[PersonsGame]:
        """Return the games that ended since the last call, or were given up for another one; oldest first."""
        if (games := self._call("take")) is None:
            raise PageGone("the page was left")
        return [PersonsGame(np.array(game["keys"], np.uint8), _frames(game["rows"])) for game in games]

    def close(self) -> None:
        """Close the browser. Closing it again does nothing."""
        self._close()

    def __enter__(self) -> "OriginalPage":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self) -> None:
        """Open the page and wait until its game is there."""
        from selenium.common.exceptions import WebDriverException

        settings = self.settings
        self._driver.set_page_load_timeout(_OPENING)
        try:
            self._driver.get(self.address)
            if self._driver.execute_script("return location.protocol") == "chrome-error:":
                raise BadInput(f"{self.address}: the page does not open (the browser refuses the address)")
        except WebDriverException as error:
            raise BadInput(f"{self.address}: the page does not open ({first_line(error)})") from None
        if not self._wait(lambda: self._call("find") == []) and (missing := self._call("find")):
            few = ", ".join(missing[:4]) + (" …" if len(missing) > 4 else "")
            raise BadInput(
                f"{self.address}: no game of QWOP found on it within {settings.timeout:g} s (missing: {few}); expected "
                "the page of the HTML5 game, the one with Athletics.html in its address"
            )

    def _call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the page's adapter; return its result, or that of its promise, as plain data.

        PageGone once the browser is not there any more, BadInput for an error of the game.
        """
        from selenium.common.exceptions import WebDriverException
        from urllib3.exceptions import HTTPError  # Selenium's connection

        call = f"window.qwopAdapter?.{method}({', '.join(map(json.dumps, arguments))})"
        words = {"expression": call, "returnByValue": True, "awaitPromise": True}
        try:
            answer = self._driver.execute_cdp_cmd("Runtime.evaluate", words)
        except (WebDriverException, HTTPError, OSError) as error:
            raise PageGone(f"the browser does not answer any more ({first_line(error)})") from None
        if answer is None:  # while its window closes
            raise PageGone("the window was closed")
        if exception := answer.get("exceptionDetails"):
            description = exception.get("exception", {}).get("description") or exception["text"]
            raise BadInput(f"the page's game failed: {description.splitlines()[0]}")
        return answer["result"].get("value")

    def _wait(self, reached: Callable[[], bool]) -> bool:
        """Wait until `reached`; False after the time limit."""
        end = time.monotonic() + self.settings.timeout
        while not (now := reached()) and time.monotonic() < end:
            time.sleep(0.02)
        return now


def _frames(*packed: str) -> Frames:
    rows = np.frombuffer(b"".join(map(base64.b64decode, packed)), dtype="<f8").reshape(-1, _PARTS[-1])
    states, events, joints, hidden = (part.copy() for part in np.split(rows, _PARTS[:-1], axis=1))
    return Frames(states.reshape(-1, len(BODIES), 6), events, joints=joints, hidden=hidden)

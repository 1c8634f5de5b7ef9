"""The original game in a browser: its frames, by hand or at its own pace."""

import base64
import functools
import http.server
import json
import shutil
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
from .browser import DirectObject, PageGone, first_line, open_browser


@contextmanager
def address_of(url: str | None, folder: str | None) -> Iterator[str]:
    """Context manager: yield the page's address; serve a `folder` (or an .html file in it) meanwhile."""
    if url:
        yield url if "://" in url else f"http://{url}"
        return
    assert folder is not None
    page = Path(folder) if Path(folder).is_file() else _pages_in(Path(folder))[0]
    handler = functools.partial(_Handler, directory=str(page.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/{page.name}"
        finally:
            server.shutdown()


def _pages_in(folder: Path) -> list[Path]:
    """Return the .html files of a local copy that may be the game's: those with a known name, or else all."""
    pages = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".html", ".htm"))
    return [page for page in pages if page.stem.lower() in ("athletics", "index")] or pages


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing; the terminal is for what the user asked for."""


__all__ = ["Frames", "OriginalPage", "PageGone", "PageSettings", "PersonsGame"]

_PARTS = np.cumsum([len(BODIES) * 6, len(EVENT_COLUMNS), len(OBSERVED_JOINTS), len(HIDDEN_COLUMNS)])
"""Ends of the parts of a frame's row."""

_OPENING = 60.0
"""Seconds that an address may take to answer with all of its page."""

_PATIENCE = 30.0
"""Largest lag in seconds of the page's own pace."""


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

    def changes(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults, for `EnvironmentSpec.settings`."""
        default = PageSettings()
        return {name: value for name, value in dict(self).items() if value != getattr(default, name)}

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
        if folder and not Path(folder).is_file():
            if not Path(folder).is_dir():
                raise BadInput(
                    f"{group}folder={folder}: no such folder; expected one with the page of the original game"
                )
            if len(pages := _pages_in(Path(folder))) != 1:
                names = ", ".join(page.name for page in pages) or "no .html file"
                raise BadInput(
                    f"{group}folder={folder}: found {names}; name the page itself: {group}folder=DIR/page.html"
                )
        if self.browser and not shutil.which(self.browser):
            raise BadInput(
                f"{group}browser={self.browser}: no such program; expected Chrome or Chromium (null looks for it)"
            )


@dataclass(frozen=True)
class Frames:
    """Frames of the page. states: float64 [n, 14, 6], events: float64 [n, 6] and hidden: float64 [n, 3], as `Replay`
    has them; joints: float64 [n, 11], the angles of `names.OBSERVED_JOINTS`, radians.
    """

    states: NDArray[np.float64]
    events: NDArray[np.float64]
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
            self._click()
            self._adapter.call("setMode", "paced" if self.settings.live else "hand")
            # No drawing without a viewer: it takes longer than playing.
            self._adapter.call("hold", self.settings.headless and not self.settings.live)
        self._clicked = True
        return _frames(self._adapter.call("newGame"))

    def play(self, keys: Sequence[int] | NDArray[np.uint8]) -> Frames:
        """Play one frame for each entry of `keys` (Q = 1, W = 2, O = 4, P = 8), up to the game's end; return them."""
        pressed = np.asarray(keys).tolist()
        if not self.settings.live:
            return _frames(self._adapter.call("play", pressed))
        return _frames(self._adapter.call("playPaced", pressed, seconds=_PATIENCE + len(pressed)))

    def let_a_person_play(self) -> None:
        """Let a person play: keep every frame and its keys from the first click on, for `take`."""
        self._adapter.call("setMode", "person")

    def take(self) -> list[PersonsGame]:
        """Return the games that ended since the last call, or were given up for another one; oldest first."""
        games = self._adapter.call("take")
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
        top = DirectObject(self._driver, "window.qwopAdapter")
        missing = self._wait(lambda: top.call("lacking") == [], lambda: top.call("lacking"))
        top.close()
        if missing:
            few = ", ".join(missing[:4]) + (" …" if len(missing) > 4 else "")
            raise BadInput(
                f"{self.address}: no game of QWOP found on it within {settings.timeout:g} s (missing: {few}); expected "
                "the page of the HTML5 game, the one with Athletics.html in its address"
            )
        self._adapter = DirectObject(self._driver, "window.qwopAdapter.chosen")

    def _click(self) -> None:
        if self._wait(lambda: bool(self._adapter.call("click")), lambda: True):
            raise BadInput(f"{self.address}: the game does not start when it is clicked")

    def _wait(self, reached: Callable[[], bool], otherwise: Callable[[], Any]) -> Any:
        """Wait until `reached`, then return None; after the time limit, return the result of `otherwise`."""
        end = time.monotonic() + self.settings.timeout
        while not reached():
            if time.monotonic() > end:
                return otherwise()
            time.sleep(0.02)
        return None


def _frames(packed: str) -> Frames:
    rows = np.frombuffer(base64.b64decode(packed), dtype="<f8").reshape(-1, _PARTS[-1])
    states, events, joints, hidden = (part.copy() for part in np.split(rows, _PARTS[:-1], axis=1))
    return Frames(states.reshape(-1, len(BODIES), 6), events, joints, hidden)

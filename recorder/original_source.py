"""`source=browser`: games that a person plays on the page of the original."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..datasets.from_keys import episode_from_keys
from ..datasets.origin import Origin
from ..datasets.schema import Episode
from ..envs.original.page import OriginalPage, PageGone, PageSettings, PersonsGame
from ..envs.qwop.session import replay
from .settings import BrowserSettings
from .source import Source, info_for

_POLL_INTERVAL = 0.2
"""Seconds between checks for finished games."""


def open_browser_source(settings: BrowserSettings, folder: Path) -> Source:
    """Open the page; its games are recorded as episodes of `QWOP-v1`, which is the same game.

    Raises BadInput without a browser, a page or a game on it, and for invalid settings.
    """
    shared = {name: getattr(settings, name) for name in ("url", "folder", "browser", "timeout")}
    page = PageSettings(**shared, headless=False)
    page.require_possible("source.")
    info = info_for(settings, folder)
    opened = OriginalPage(page)
    source = f"original page {settings.url or Path(settings.folder or '').name}"

    def episode(game: PersonsGame) -> Episode:
        """The episode of the page's frames; its origin records whether the simulator plays these keys differently."""
        differs = not np.array_equal(replay(game.keys).states, game.frames.states)
        return episode_from_keys(
            game.keys, info, player=settings.player, source=source, epsilon=settings.epsilon, game=game.frames,
            origin=Origin(differs=True if differs else None),
        )  # fmt: skip

    def episodes() -> Iterator[Episode]:
        """The games as they end, until the page is closed."""
        with opened, suppress(PageGone):  # the person closed the window
            opened.let_a_person_play()
            while True:
                yield from map(episode, opened.take())
                time.sleep(_POLL_INTERVAL)

    return Source(
        info=info,
        episodes=episodes(),
        notes=[
            f"play in the window that has opened ({opened.address}): click to start, R or space to restart",
            "close it, or press Ctrl-C here, when you are done; every game is saved as it ends",
        ],
    )

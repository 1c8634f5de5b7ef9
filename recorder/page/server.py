"""The page of `qwop-play` with a recorder behind it, which writes the games that are played on it."""

import html
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from websockets.sync.server import ServerConnection

from ...common.errors import BadInput
from ...common.page import forwarding, open_page
from ...common.progress import plain_console
from ...datasets.schema import DatasetInfo
from ...play.server import LocalServer
from ...play.site import files
from ..game_writer import GameWriter
from ..source import Source
from .library import Library
from .messages import Discard, Message, RefusedGame, encode, parse

STATIC = Path(__file__).parent / "static"

USUAL_PORT = 8767
"""The browser keeps games that it could not send, by the page's address, so the port should be the same every day."""

MOST_PAGES = 64
"""Pages that may play QWOP at a time."""

_TO_LEAVE = 1.0
"""Seconds that a page that has just closed may still hold its place."""

Send = Callable[[str | bytes], None]


class Session(Protocol):
    """The games of one page, from its connection to the end of that."""

    def receive(self, message: Message) -> None:
        """Handle a message; ValueError for one that no page sends, RefusedGame for a game that cannot be recorded."""

    def leave(self) -> None:
        """Record the games under way, as far as they were played."""


class RecorderServer(LocalServer):
    """Serves the page, and writes its games.

    open_session: the session of a page, which sends by the first argument and writes into the second. settings: made
    for each page that is opened. more: files besides those of `qwop-play`. environment: serves the page of an
    environment, of which there is one, so that one page at a time plays.
    """

    def __init__(
        self, library: Library, open_session: Callable[[Send, GameWriter], Session],
        settings: Callable[[], Mapping[str, Any]], port: int, more: Mapping[str, bytes], environment: bool = False,
    ) -> None:  # fmt: skip
        self._library, self._open_session, self._settings = library, open_session, settings
        self._files = {**files(), **{file.name: file.read_bytes() for file in STATIC.iterdir()}, **more}
        self._environment = environment
        self._places = threading.Semaphore(1 if environment else MOST_PAGES)
        self._games: GameWriter | None = None
        usual = 0 if environment else USUAL_PORT
        super().__init__(self._file, port, usual, session=self._play_on, private=True, setting="source.port")

    def source(self, info: DatasetInfo, open_browser: bool, close: Callable[[], object] = lambda: None) -> Source:
        """The page as a source. close: called once the server has stopped."""
        pa.array(np.zeros(0))  # pyarrow imports pandas with its first array: now, not while a game is written

        def play(games: GameWriter) -> None:
            self._games = games
            self.start()
            if open_browser:
                open_page(self.address)
            games.wait()

        def finish() -> None:
            try:
                self.stop()
            finally:
                close()

        notes = [
            f"play at {self.address}",
            *filter(None, [forwarding(self.address)]),
            "press Ctrl-C here when you are done; every game is saved as it ends, and so is one that is under way then",
        ]
        return Source(info, play=play, notes=notes, finish=finish)

    def _file(self, path: str) -> bytes | None:
        match path.split("/"):
            case ["index.html"]:
                return self._page()
            case ["games.json"]:
                return encode(games=self._library.entries()).encode()
            case ["games", collection, name]:
                try:
                    return encode(keys=self._library.keys(collection, name)).encode()
                except (KeyError, BadInput, OSError):
                    return None
        return self._files.get(path)

    def _page(self) -> bytes:
        """The page of `qwop-play`, with its recorder's settings."""
        settings = json.dumps({"folder": str(self._library.folder), **self._settings()})
        head, page = f'<meta name="recorder" content="{html.escape(settings)}">', self._files["index.html"]
        if self._environment:
            head += '<link rel="stylesheet" href="coach.css"><link rel="stylesheet" href="environment.css">'
            page = page.replace(b'src="main.js"', b'src="environment.js"')
        return page.replace(b"</head>", f"{head}\n</head>".encode(), 1)

    def _play_on(self, connection: ServerConnection) -> None:
        """Serve one page's connection."""
        games = self._games
        assert games is not None
        if not self._places.acquire(timeout=_TO_LEAVE):
            connection.close(1013, "another page plays already")
            return
        session = self._open_session(connection.send, games)
        try:
            try:
                for message in connection:
                    self._handle(connection, message, session)
            finally:
                session.leave()
        except BadInput:
            if not games.over:  # else the command reports it
                raise
        finally:
            self._places.release()

    def _handle(self, connection: ServerConnection, message: str | bytes, session: Session) -> None:
        try:
            match parse(message):
                case Discard(name=name):
                    connection.send(encode(**self._library.discard(name)))
                case other:
                    session.receive(other)
        except RefusedGame as refused:
            words = f"a game of the page is refused ({refused}); it stays in the browser, in the page's list"
            plain_console().print(words)
            connection.send(encode(type="refused", game=refused.game, reason=str(refused)))

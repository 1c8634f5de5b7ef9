"""A page's server: reachable from this machine only, protected by a token, one session per open page."""

import http
import logging
import secrets
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from ...common.content_types import TYPES
from ...common.errors import BadInput
from ...common.progress import plain_console
from ...common.show_page import forwarding, open_page
from ...datasets.schema import DatasetInfo, Episode
from ...play.server import LOOPBACK
from ..game_writer import GameWriter
from ..source import Source
from .messages import MAX_MESSAGE_BYTES, encode

HOST = "127.0.0.1"

MAX_PAGES = 8
"""Largest number of pages that play at the same time."""

PING_SECONDS, SEND_SECONDS = 10.0, 5.0
"""Times after which a page that does not answer a ping, and one that takes nothing, loses its connection."""

_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "
    "connect-src 'self' ws://{host}; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_TO_LEAVE = 1.0
"""Seconds that a page that has just closed may still hold its place."""

_LONGEST_REASON = 123
"""Bytes of the reason with which a WebSocket is closed, at most."""


@dataclass(frozen=True)
class Answer:
    """Body and content type of a response."""

    content: bytes
    kind: str

    @classmethod
    def of_json(cls, document: Mapping[str, object]) -> "Answer":
        return cls(encode(**document).encode(), TYPES[".json"])


class NotWritten(Exception):
    """A game could not be written, which ends the recording."""


class LocalServer(ABC):
    """Serves a page, and records its games.

    Binds on construction; BadInput if that fails. `address` opens the page. It contains a token that no web site knows.
    A request must also name this machine as its host, with any port, and come from the page itself. So neither a site
    that points its name at this machine (DNS rebinding) nor a cross-site request gets an answer.

    max_pages: pages that can play at the same time. usual_port: what port 0 tries first.
    """

    def __init__(self, port: int, *, max_pages: int = MAX_PAGES, usual_port: int = 0) -> None:
        self._max_pages = max_pages
        self._token = secrets.token_urlsafe(16)
        self._pages = threading.BoundedSemaphore(max_pages)
        listener = _listener(port, usual_port)
        self._server: Server = serve(
            self._play,
            sock=listener,
            process_request=self._respond,
            create_connection=_Connection,
            compression=None,
            server_header=None,
            open_timeout=SEND_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=SEND_SECONDS,
            max_size=MAX_MESSAGE_BYTES,
            logger=_logger(),
        )
        self.address = f"http://{HOST}:{listener.getsockname()[1]}/{self._token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="page", daemon=True)
        self.games: GameWriter
        """The writer of games; there once the server is started."""

    @abstractmethod
    def answer(self, path: str) -> Answer | None:
        """Find the answer to a path relative to the page's address; None for an unknown one."""

    @abstractmethod
    def session(self, connection: ServerConnection) -> None:
        """Serve one page's connection until it ends; ValueError closes it for a message that no page sends."""

    def source(self, info: DatasetInfo, open_browser: bool, close: Callable[[], None] = lambda: None) -> Source:
        """The page as a source. close: called once the server has stopped."""
        pa.array(np.zeros(0))  # pyarrow imports pandas with its first array: now, not while a game is written

        def play(games: GameWriter) -> None:
            self.start(games)
            if open_browser:
                open_page(self.address)
            games.wait()

        def finish() -> list[Episode]:
            try:
                self.stop()
            finally:
                close()
            return []

        notes = [
            f"play at {self.address}",
            *filter(None, [forwarding(self.address)]),
            "press Ctrl-C here when you are done; every game is saved as it ends, and so is one that is under way then",
        ]
        return Source(info, play=play, notes=notes, finish=finish)

    def start(self, games: GameWriter) -> None:
        """Serve in threads, and write the games there."""
        self.games = games
        self._thread.start()

    def stop(self) -> None:
        """Close all connections, once their games under way are written as far as they were played."""
        if self._thread.ident is None:  # never started
            self._server.socket.close()
        else:
            self._server.shutdown()

    def write(self, episode: Episode, game: object) -> Path:
        """Write an episode; its path. game: as it was noted before."""
        try:
            return self.games.write(episode, game)
        except BadInput as error:
            raise NotWritten from error

    def _respond(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None accepts the page's WebSocket connection."""
        path = request.path.split("?")[0]
        own = f"/{self._token}/"
        host = _loopback_host(request.headers)
        if host is None or not secrets.compare_digest(path[: len(own)], own):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "open the address that qwop-record printed\n")
        path = path.removeprefix(own)
        if not _from_the_page(request.headers, host, path):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "only the page itself may ask for this\n")
        if request.method != "GET":
            return connection.respond(http.HTTPStatus.METHOD_NOT_ALLOWED, "only GET is answered\n")
        if path == "play":
            return None
        answer = self.answer(path)
        return _response(answer, host) if answer else connection.respond(http.HTTPStatus.NOT_FOUND, "not found\n")

    def _play(self, connection: ServerConnection) -> None:
        """Serve one page's connection, within the limit of pages."""
        if not self._pages.acquire(timeout=_TO_LEAVE):
            connection.close(1013, f"as many pages as can play ({self._max_pages}) are open already")
            return
        try:
            self.session(connection)
        except ValueError as error:
            if isinstance(error, BadInput):  # an environment failed; the page shows only that the connection is lost
                plain_console().print(str(error))
            connection.close(1008, str(error).encode()[:_LONGEST_REASON].decode(errors="ignore"))
        except (ConnectionClosed, NotWritten):
            pass
        finally:
            self._pages.release()


class _Connection(ServerConnection):
    """A connection that fails when its client takes nothing, instead of waiting for it."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        sock.settimeout(SEND_SECONDS)
        super().__init__(sock, *args, **kwargs)


def _loopback_host(headers: Headers) -> str | None:
    """The host that a request names, if it is this machine."""
    hosts = headers.get_all("Host")
    return hosts[0] if len(hosts) == 1 and LOOPBACK.fullmatch(hosts[0]) else None


def _from_the_page(headers: Headers, host: str, path: str) -> bool:
    """True if the page made the request, by headers that no page can forge; programs leave them out."""
    origins = headers.get_all("Origin")
    if origins != [f"http://{host}"] and (origins or path == "play"):
        return False
    # A link to the page may be anywhere; everything on it is fetched by the page.
    return path in ("", "play") or headers.get_all("Sec-Fetch-Site") in ([], ["same-origin"], ["none"])


def _response(answer: Answer, host: str) -> Response:
    headers: dict[str, Any] = {"Content-Type": answer.kind, "Content-Length": str(len(answer.content))}
    security = {name: value.format(host=host) for name, value in _SECURITY.items()}
    return Response(200, "OK", Headers({**headers, "Connection": "close", **security}), answer.content)


def _logger() -> logging.Logger:
    """The server's log, without pages that have left: a laptop that sleeps, or a browser that is killed."""
    log = logging.getLogger("qwop.page")
    log.addFilter(_page_is_there)
    return log


def _page_is_there(record: logging.LogRecord) -> bool:
    return record.msg != "keepalive ping failed"


def _listener(port: int, usual: int) -> socket.socket:
    """Listens on a port; for 0 on the usual one, or any free one."""
    if port == 0 and usual:
        with suppress(OSError):
            return socket.create_server((HOST, usual))
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise BadInput(f"source.port={port}: cannot be opened ({error.strerror}); 0 chooses a free one") from None

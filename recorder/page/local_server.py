"""A page's server: reachable from this machine only, protected by a token, one session per open page."""

import http
import logging
import queue
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from ...common.content_types import TYPES
from ...common.errors import BadInput
from ...common.progress import plain_console
from ...datasets.schema import Episode
from ...play.server import LOOPBACK
from . import connections
from .connections import Listener, PageConnection
from .messages import encode

HOST = "127.0.0.1"

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


class LocalServer(ABC):
    """Serves a page, and yields its games as episodes; the caller writes them.

    Binds on construction; BadInput if that fails. `address` opens the page. It contains a token that no web site knows.
    A request must also name this machine as its host, with any port, and come from the page itself. So neither a site
    that points its name at this machine (DNS rebinding) nor a cross-site request gets an answer.

    max_pages: pages that can play at the same time. max_message: bytes of a message from the page. usual_port: what
    port 0 tries first.
    """

    def __init__(
        self, port: int, *, max_pages: int = connections.MAX_PAGES, max_message: int = connections.MAX_MESSAGE_BYTES,
        usual_port: int = 0,
    ) -> None:  # fmt: skip
        self._max_pages = max_pages
        self._token = secrets.token_urlsafe(16)
        # Each with the file that it is written to, for which its page waits.
        self._pending: queue.Queue[tuple[Episode, Future[Path]]] = queue.Queue()
        self._writing: Future[Path] | None = None
        self._stopped = threading.Event()
        self._pages = threading.BoundedSemaphore(max_pages)
        listener = _listener(port, usual_port)
        self._server: Server = serve(
            self._play,
            sock=listener,
            process_request=self._respond,
            create_connection=PageConnection,
            compression=None,
            server_header=None,
            open_timeout=connections.OPEN_SECONDS,
            ping_interval=connections.PING_SECONDS,
            ping_timeout=connections.PING_SECONDS,
            close_timeout=connections.CLOSE_SECONDS,
            max_size=max_message,
            logger=_logger(),
        )
        listener.count_by(lambda: len(self._server.handler_threads))
        self.address = f"http://{HOST}:{listener.getsockname()[1]}/{self._token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="page", daemon=True)

    @abstractmethod
    def answer(self, path: str) -> Answer | None:
        """Find the answer to a path relative to the page's address; None for an unknown one."""

    @abstractmethod
    def session(self, connection: ServerConnection) -> None:
        """Serve one page's connection until it ends; ValueError closes it for a message that no page sends."""

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread.start()

    def episodes(self) -> Iterator[Episode]:
        """Yield the games as they end, until the server is stopped."""
        while not self._stopped.is_set():
            # Without a timeout, Ctrl-C would not interrupt the wait on every platform.
            with suppress(queue.Empty):
                episode, self._writing = self._pending.get(timeout=0.5)
                yield episode

    def written(self, path: Path) -> None:
        """Report that the episode yielded last was written to `path`."""
        assert self._writing is not None
        self._writing.set_result(path)

    def stop(self) -> list[Episode]:
        """Close all connections and return the games that were under way or not yet yielded, as far as played."""
        self._stopped.set()
        if self._thread.ident is None:  # never started
            self._server.socket.close()
            return []
        self._server.shutdown()
        left = []
        with suppress(queue.Empty):
            while True:
                left.append(self._pending.get_nowait()[0])
        return left

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
        except ConnectionClosed:
            pass
        finally:
            self._pages.release()

    def write(self, episode: Episode) -> Path | None:
        """Hand an episode over, wait until it is written, and return its path; None if it was not, or not yet."""
        written: Future[Path] = Future()
        self._pending.put((episode, written))
        while not self._stopped.is_set():
            with suppress(TimeoutError):
                return written.result(timeout=0.5)
        return written.result() if written.done() else None


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


def _listener(port: int, usual: int) -> Listener:
    """Listens on a port; for 0 on the usual one, or any free one."""
    if port == 0 and usual:
        with suppress(OSError):
            return Listener(HOST, usual)
    try:
        return Listener(HOST, port)
    except OSError as error:
        raise BadInput(f"source.port={port}: cannot be opened ({error.strerror}); 0 chooses a free one") from None

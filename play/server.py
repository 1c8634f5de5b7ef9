"""The server of a page, for this machine alone: its files, other answers, and a connection for each page that plays."""

import http
import logging
import re
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from mimetypes import MimeTypes
from typing import Any
from urllib.parse import unquote

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from ..common.errors import BadInput
from ..common.progress import plain_console

HOST = "127.0.0.1"

USUAL_PORT = 8766
"""Of `qwop-play`. A browser keeps games by the page's address, so the port should be the same every day."""

LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
"""Names of this machine for itself, with any port, as a forwarded one is another. A site that points a name of its own
here (DNS rebinding) cannot have one of these."""

MAX_MESSAGE_BYTES = 2**17

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

_LONGEST_REASON = 123
"""Bytes of the reason with which a WebSocket is closed, at most."""


class LocalServer:
    """Serves a page at `address`. Binds on construction; BadInput if that fails.

    A request has to name this machine as its host, with any port, and to come from the page itself. So neither a site
    that points its name at this machine (DNS rebinding) nor a cross-site request gets an answer.

    answer: the content of a file by its path relative to the page's address, None for an unknown one. port: 0 for the
    `usual` one, or any free one. session: serves a page's connection until it ends; ValueError closes it, for a message
    that no page sends. private: the address contains a token that no web site knows. setting: the name of `port` in
    errors.
    """

    def __init__(
        self, answer: Callable[[str], bytes | None], port: int, usual: int = USUAL_PORT, *,
        session: Callable[[ServerConnection], None] | None = None, private: bool = False, setting: str = "port",
    ) -> None:  # fmt: skip
        self._answer, self._session = answer, session
        self._root = f"/{secrets.token_urlsafe(16)}/" if private else "/"
        listener = _listener(port, usual, setting)
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
        self.port: int = listener.getsockname()[1]
        self.address = f"http://{HOST}:{self.port}{self._root}"
        self._thread = threading.Thread(target=self.serve, name="page", daemon=True)

    def serve(self) -> None:
        """Serve until `stop`, each connection in a thread of its own."""
        self._server.serve_forever()

    def start(self) -> None:
        """Serve in another thread."""
        self._thread.start()

    def stop(self) -> None:
        """Close all connections, once their sessions have ended."""
        if self._thread.ident is None:
            self._server.socket.close()
        else:
            self._server.shutdown()

    def _respond(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None accepts the page's WebSocket connection."""
        path, host = request.path.split("?")[0], _loopback_host(request.headers)
        if host is None or not secrets.compare_digest(path[: len(self._root)].encode(), self._root.encode()):
            own = "the one that its command printed" if len(self._root) > 1 else self.address
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"for its own machine alone: open {own}\n")
        path = unquote(path.removeprefix(self._root))
        if not _from_the_page(request.headers, host, path):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "only the page itself may ask for this\n")
        if request.method != "GET":
            return connection.respond(http.HTTPStatus.METHOD_NOT_ALLOWED, "only GET is answered\n")
        if path == "play" and self._session is not None:
            return None
        name = path or "index.html"
        if (content := self._answer(name)) is None:
            return connection.respond(http.HTTPStatus.NOT_FOUND, "not found\n")
        return _response(name, content, host)

    def _play(self, connection: ServerConnection) -> None:
        assert self._session is not None
        try:
            self._session(connection)
        except ConnectionClosed:
            pass
        except ValueError as error:
            if isinstance(error, BadInput):  # the page shows only that the connection is lost
                plain_console().print(str(error))
            connection.close(1008, str(error).encode()[:_LONGEST_REASON].decode(errors="ignore"))


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


def _response(name: str, content: bytes, host: str) -> Response:
    kind = MimeTypes().guess_type(name)[0] or "application/octet-stream"  # without the system's own table
    headers: dict[str, Any] = {"Content-Type": kind, "Content-Length": str(len(content))}
    security = {name: value.format(host=host) for name, value in _SECURITY.items()}
    return Response(200, "OK", Headers({**headers, "Connection": "close", **security}), content)


def _logger() -> logging.Logger:
    """The server's log, without pages that have left: a laptop that sleeps, or a browser that is killed."""
    log = logging.getLogger("qwop.page")
    log.addFilter(lambda record: record.msg != "keepalive ping failed")
    return log


def _listener(port: int, usual: int, setting: str) -> socket.socket:
    """Listens on a port; for 0 on the usual one, or any free one."""
    if port == 0:
        with suppress(OSError):
            return socket.create_server((HOST, usual))
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise BadInput(f"{setting}={port}: cannot be opened ({error.strerror}); 0 chooses a free one") from None

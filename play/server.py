"""Serves the page's files to this machine."""

import errno
import re
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from ..common.content_types import content_type
from ..common.errors import BadInput

HOST = "127.0.0.1"

USUAL_PORT = 8766
"""A browser keeps games by the page's address, so the port should be the same every day."""

LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
"""Names of this machine for itself, with any port, as a forwarded one is another. A site that points a name of its own
here (DNS rebinding) cannot have one of these."""

_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def page_server(files: Mapping[str, bytes], port: int) -> ThreadingHTTPServer:
    """A server of these files, by their paths, for this machine alone. Port 0: the usual one, or any free one.

    Raises BadInput for a port that cannot be opened.
    """
    handler = _handler(files)
    try:
        return ThreadingHTTPServer((HOST, port or USUAL_PORT), handler)
    except OSError as error:
        if port == 0 and error.errno == errno.EADDRINUSE:
            return ThreadingHTTPServer((HOST, 0), handler)
        raise BadInput(f"port={port}: cannot be opened ({error.strerror}); 0 chooses a free one") from None


def _handler(files: Mapping[str, bytes]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = unquote(urlsplit(self.path).path).lstrip("/") or "index.html"
            hosts = self.headers.get_all("Host") or []
            if len(hosts) != 1 or LOOPBACK.fullmatch(hosts[0]) is None:
                address = f"http://{HOST}:{self.connection.getsockname()[1]}/"
                self.send_error(403, explain=f"the page is for its own machine alone: open {address}")
                return
            if name not in files:
                self.send_error(404)
                return
            self.send_response(200)
            own = {"Content-Type": content_type(name), "Content-Length": str(len(files[name]))}
            for header, value in {**own, **_SECURITY}.items():
                self.send_header(header, value)
            self.end_headers()
            self.wfile.write(files[name])

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    return Handler

"""Connections of the page's server: limited in number, and unable to block the server."""

import errno
import socket
import time
from collections.abc import Callable
from typing import Any

from websockets.sync.server import ServerConnection

MAX_CONNECTIONS = 64
"""Largest number of connections, including those without a request yet. A page opens about ten."""

MAX_PAGES = 8
"""Largest number of pages that play at the same time."""

OPEN_SECONDS = 2.0
"""Time for a new connection to send its whole request."""

SEND_SECONDS = 5.0
"""Time for a client to take what it is sent, before it is cut off."""

CLOSE_SECONDS = 2.0
"""Time for a client to close a connection that is over."""

PING_SECONDS = 10.0
"""Time between two pings of an open page, and for the answer to each."""

MAX_MESSAGE_BYTES = 4096
"""Size of a message from the page; its longest are a few hundred bytes."""

_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_POLL = 0.2


class Listener(socket.socket):
    """Listens on one address; a connection beyond the limit is closed before anything is read from it.

    port 0: any free one. Raises OSError if the port cannot be opened.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        try:
            if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows lets others share the port otherwise
                self.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            else:
                self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.bind((host, port))
            self.listen(MAX_CONNECTIONS)
        except OSError:
            self.close()
            raise
        # The accepting thread must notice that the socket was closed.
        self.settimeout(_POLL)
        self._open: Callable[[], int] = lambda: 0

    def count_by(self, connections: Callable[[], int]) -> None:
        """Limit the number that this function returns."""
        self._open = connections

    def accept(self) -> tuple[socket.socket, Any]:
        """Wait for a connection within the limit; OSError once this socket is closed."""
        while True:
            try:
                accepted, address = super().accept()
            except TimeoutError:
                continue
            except OSError as error:
                if error.errno not in (*_NO_DESCRIPTORS, errno.ECONNABORTED):
                    raise
                time.sleep(_POLL)
                continue
            if self._open() < MAX_CONNECTIONS:
                return accepted, address
            accepted.close()


class PageConnection(ServerConnection):
    """A connection that fails when its client takes nothing, instead of waiting for it."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        sock.settimeout(SEND_SECONDS)
        super().__init__(sock, *args, **kwargs)

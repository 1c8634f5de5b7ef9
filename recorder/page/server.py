"""The page's server: reachable from this machine only, protected by a token, one live game per open page."""

import http
import json
import queue
import secrets
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from ...common.errors import BadInput
from ...datasets.from_keys import episode_from_keys
from ...datasets.schema import DatasetInfo, Episode
from ..live_game import LiveGame
from .library import Library
from .rows import advanced, row_of
from .site import Answer, Site

HOST = "127.0.0.1"

MAX_FRAMES_PER_MESSAGE = 60
"""Limit on the keys in one message: the page sends a few frames at a time, so over two seconds' worth is an error."""

_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; connect-src 'self' ws:; img-src 'self' data:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _PendingEpisode:
    """An episode waiting to be written.

    done: set once it was written or never will be. path: its file; None if it was not written.
    """

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.path: Path | None = None
        self.done = threading.Event()


class PageServer:
    """Serves the page, and yields every game as an episode once it has ended; the caller writes it.

    Binds on construction; BadInput if that fails. `address` opens the page: it contains a token that other users of
    this machine and other web sites do not know.
    """

    def __init__(self, library: Library, info: DatasetInfo, player: str, epsilon: float, ghost: str, port: int) -> None:
        self._library, self._info, self._player, self._epsilon = library, info, player, epsilon
        self._site = Site(library, {"player": player, "ghost": ghost, "folder": str(library.folder)})
        self._token = secrets.token_urlsafe(16)
        self._pending: queue.Queue[_PendingEpisode] = queue.Queue()
        self._writing: _PendingEpisode | None = None
        self._stopped = threading.Event()
        try:
            self._server: Server = serve(
                self._play, HOST, port, process_request=self._respond, compression=None, open_timeout=2
            )
        except OSError as error:
            raise BadInput(f"source.port={port}: cannot be opened ({error.strerror}); 0 chooses a free one") from None
        self._host = f"{HOST}:{self._server.socket.getsockname()[1]}"
        self.address = f"http://{self._host}/{self._token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="page", daemon=True)

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread.start()

    def episodes(self) -> Iterator[Episode]:
        """Yield the games as they end, until the server is stopped; closing the iterator stops it."""
        try:
            while not self._stopped.is_set():
                # Without a timeout, Ctrl-C would not interrupt the wait on every platform.
                with suppress(queue.Empty):
                    self._writing = self._pending.get(timeout=0.5)
                    yield self._writing.episode
        finally:
            self.stop()

    def written(self, path: Path) -> None:
        """Report that the episode yielded last was written to `path`."""
        assert self._writing is not None
        self._writing.path = path
        self._writing.done.set()

    def stop(self) -> None:
        """Close all connections; pages whose game is still waiting are told that it will not be written."""
        self._stopped.set()
        with suppress(queue.Empty):
            while True:
                self._pending.get_nowait().done.set()
        if self._writing is not None:
            self._writing.done.set()
        self._server.shutdown()

    def _respond(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a GET request; None accepts the page's WebSocket connection."""
        path = request.path.split("?")[0]
        own = f"/{self._token}/"
        # Any other Host comes from a web site whose name was pointed at this machine (DNS rebinding).
        if request.headers.get("Host") != self._host or not secrets.compare_digest(path[: len(own)], own):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "open the address that qwop-record printed\n")
        path = path.removeprefix(own)
        if path == "play":
            if request.headers.get("Origin") == f"http://{self._host}":
                return None
            return connection.respond(http.HTTPStatus.FORBIDDEN, "only the page itself may connect\n")
        answer = self._site.answer(path)
        return _response(answer) if answer else connection.respond(http.HTTPStatus.NOT_FOUND, "not found\n")

    def _play(self, connection: ServerConnection) -> None:
        """Play one page's games. Its messages are JSON; the answers are frames as rows of float32 after a header."""
        game, number = LiveGame(), -1
        try:
            for message in connection:
                request = json.loads(message)
                match request["type"]:
                    case "start":
                        self._abandon(game)
                        game, number = LiveGame(), int(request["game"])
                        connection.send(_frames(number, 0, row_of(game)[None]))
                    case "keys" if int(request["game"]) == number and not game.over:
                        first = len(game.keys) + 1
                        connection.send(_frames(number, first, advanced(game, _checked(request["keys"]))))
                        if game.over:
                            connection.send(json.dumps(self._end(game, number)))
                    case "discard":
                        self._library.discard(str(request["name"]))
                        connection.send(json.dumps({"type": "discarded", "name": request["name"]}))
        except (ValueError, KeyError, TypeError) as error:
            connection.close(1008, f"invalid message: {type(error).__name__}"[:100])
        except ConnectionClosed:
            pass
        finally:
            self._abandon(game)

    def _abandon(self, game: LiveGame) -> None:
        """Keep the part that was played of a game that the player left before its end."""
        if not game.over and game.played:
            self._keep(game)

    def _end(self, game: LiveGame, number: int) -> dict[str, Any]:
        path = self._keep(game)
        return {
            "type": "ended",
            "game": number,
            "name": path.stem if path else None,
            "outcome": game.outcome,
            "metres": game.metres,
            "seconds": game.seconds,
        }

    def _keep(self, game: LiveGame) -> Path | None:
        """Hand the game over, wait until it is written, and return its path; None if it was not written."""
        if not game.played:
            return None
        episode = episode_from_keys(
            game.keys,
            self._info,
            player=self._player,
            source="page",
            epsilon=self._epsilon,
        )
        pending = _PendingEpisode(episode)
        if self._stopped.is_set():
            return None
        self._pending.put(pending)
        while not pending.done.wait(timeout=0.5):
            if self._stopped.is_set():
                break
        return pending.path


def _checked(keys: Any) -> list[int]:
    held = [int(key) for key in keys]
    if len(held) > MAX_FRAMES_PER_MESSAGE or any(not 0 <= key <= 15 for key in held):
        raise ValueError("keys")
    return held


def _frames(number: int, first: int, rows: NDArray[np.float32]) -> bytes:
    """Encode frames of a game: its number and the index of the first frame, both float32, then the rows."""
    return np.array([number, first], dtype="<f4").tobytes() + rows.tobytes()


def _response(answer: Answer) -> Response:
    headers = {"Content-Type": answer.kind, "Content-Length": str(len(answer.content)), "Connection": "close"}
    return Response(200, "OK", Headers({**headers, **_SECURITY}), answer.content)

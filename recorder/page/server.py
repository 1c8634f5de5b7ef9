"""The page's server: on this machine only, behind a token, one live game for each page that is open."""

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
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from ...common.errors import BadInput
from ...datasets.schema import DatasetInfo, Episode
from ..person import episode_of
from .library import Library
from .live import LiveGame
from .site import Answer, Site

HOST = "127.0.0.1"

FRAMES_A_MESSAGE = 60
"""The page sends the keys of a few frames at a time; more than two seconds' worth is a mistake."""

_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; connect-src 'self' ws:; img-src 'self' data:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _Ended:
    """A game on its way to the disk. `path` is set when it is there; None stays where the recorder stopped before."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.path: Path | None = None
        self.settled = threading.Event()


class PageServer:
    """Serves the page and gives every game that ends as an episode, to be written by whoever asks for them.

    Binds on construction; BadInput where it cannot. `address` opens the page: it holds a token that other users and
    other sites on this machine do not know.
    """

    def __init__(self, library: Library, info: DatasetInfo, player: str, epsilon: float, ghost: str, port: int) -> None:
        self._library, self._info, self._player, self._epsilon = library, info, player, epsilon
        self._site = Site(library, {"player": player, "ghost": ghost, "folder": str(library.folder)})
        self._token = secrets.token_urlsafe(16)
        self._ended: queue.Queue[_Ended] = queue.Queue()
        self._writing: _Ended | None = None
        self._stopped = threading.Event()
        try:
            self._server: Server = serve(
                self._play, HOST, port, process_request=self._respond, compression=None, open_timeout=2
            )
        except OSError as error:
            raise BadInput(f"source.port={port}: cannot be opened ({error.strerror}); 0 takes a free one") from None
        self._host = f"{HOST}:{self._server.socket.getsockname()[1]}"
        self.address = f"http://{self._host}/{self._token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="page", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def episodes(self) -> Iterator[Episode]:
        """The games as they end, until the server is stopped, which closing the iterator does."""
        try:
            while not self._stopped.is_set():
                # Waiting without an end would not hear Ctrl-C everywhere.
                with suppress(queue.Empty):
                    self._writing = self._ended.get(timeout=0.5)
                    yield self._writing.episode
        finally:
            self.stop()

    def written(self, path: Path) -> None:
        """The episode that was asked for last is in the dataset."""
        assert self._writing is not None
        self._writing.path = path
        self._writing.settled.set()

    def stop(self) -> None:
        """Close the page's connections; games that wait to be written learn that they will not be."""
        self._stopped.set()
        with suppress(queue.Empty):
            while True:
                self._ended.get_nowait().settled.set()
        if self._writing is not None:
            self._writing.settled.set()
        self._server.shutdown()

    def _respond(self, connection: ServerConnection, request: Request) -> Response | None:
        """The answer to a GET, or None to let the page's live connection through."""
        path = request.path.split("?")[0]
        own = f"/{self._token}/"
        # Another Host is another site that was pointed at this machine.
        if request.headers.get("Host") != self._host or not secrets.compare_digest(path[: len(own)], own):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "open the address that qwop-record printed\n")
        path = path.removeprefix(own)
        if path == "play":
            if request.headers.get("Origin") == f"http://{self._host}":
                return None
            return connection.respond(http.HTTPStatus.FORBIDDEN, "not from here\n")
        answer = self._site.answer(path)
        return _response(answer) if answer else connection.respond(http.HTTPStatus.NOT_FOUND, "nothing of that name\n")

    def _play(self, connection: ServerConnection) -> None:
        """One page's games. Its messages are JSON; moments of a game go back as rows of float32 after a header."""
        game, number = LiveGame(), -1
        try:
            for message in connection:
                said = json.loads(message)
                match said["type"]:
                    case "start":
                        self._left(game)
                        game, number = LiveGame(), int(said["game"])
                        connection.send(_moments(number, 0, game.row()[None]))
                    case "keys" if int(said["game"]) == number and not game.over:
                        first = len(game.keys) + 1
                        connection.send(_moments(number, first, game.advance(_checked(said["keys"]))))
                        if game.over:
                            connection.send(json.dumps(self._end(game, number)))
                    case "discard":
                        self._library.discard(str(said["name"]))
                        connection.send(json.dumps({"type": "discarded", "name": said["name"]}))
        except (ValueError, KeyError, TypeError) as error:
            connection.close(1008, f"not understood: {type(error).__name__}"[:100])
        except ConnectionClosed:
            pass
        finally:
            self._left(game)

    def _left(self, game: LiveGame) -> None:
        """The player has left a game that had not ended: what was played is kept."""
        if not game.over and game.played:
            self._keep(game)

    def _end(self, game: LiveGame, number: int) -> dict[str, Any]:
        path = self._keep(game)
        return {"type": "ended", "game": number, "name": path.stem if path else None, **game.summary()}

    def _keep(self, game: LiveGame) -> Path | None:
        """Hand the game over to be written, and wait for that; its path, None where it was not."""
        if not game.played:
            return None
        episode = episode_of(
            game.keys,
            self._info,
            player=self._player,
            source="page",
            epsilon=self._epsilon,
            stopped_by_limit=game.stopped_by_limit,
        )
        ended = _Ended(episode)
        if self._stopped.is_set():
            return None
        self._ended.put(ended)
        while not ended.settled.wait(timeout=0.5):
            if self._stopped.is_set():
                break
        return ended.path


def _checked(keys: Any) -> list[int]:
    pressed = [int(key) for key in keys]
    if len(pressed) > FRAMES_A_MESSAGE or any(not 0 <= key <= 15 for key in pressed):
        raise ValueError("keys")
    return pressed


def _moments(number: int, first: int, rows: np.ndarray[Any, np.dtype[np.float32]]) -> bytes:
    """The game's number and the number of the first frame, two float32, then the rows."""
    return np.array([number, first], dtype="<f4").tobytes() + rows.tobytes()


def _response(answer: Answer) -> Response:
    headers = {"Content-Type": answer.kind, "Content-Length": str(len(answer.content)), "Connection": "close"}
    return Response(200, "OK", Headers({**headers, **_SECURITY}), answer.content)

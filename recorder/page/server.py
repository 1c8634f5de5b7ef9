"""The page's server: reachable from this machine only, protected by a token, one live game per open page."""

import http
import queue
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from ...common.errors import BadInput
from ...datasets.schema import Episode
from ..coaching.page_game import CoachedPageGame
from . import connections, messages
from .connections import Listener, PageConnection
from .game import PageGame
from .library import Library
from .messages import Back, Discard, HandOver, Keys, Start
from .site import Answer, Site

HOST = "127.0.0.1"

QWOP_KEYS = 4

_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; connect-src 'self' ws://{host}; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _PendingEpisode:
    """An episode waiting to be written.

    done: set once it was written or the page need not wait for it. path: its file; None if it was not written.
    """

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.path: Path | None = None
        self.done = threading.Event()


class PageServer:
    """Serves the page, and yields every game as an episode once it has ended; the caller writes it.

    Binds on construction; BadInput if that fails. `address` opens the page. It contains a token that no web site knows.
    A request must also name this server as its host and come from the page itself, so that neither a site that points
    its name at this machine (DNS rebinding) nor a cross-site request gets an answer.

    When a page disconnects, its unfinished game is yielded as far as it got.

    new_game: starts a game. settings: sent to the page. num_keys: keys of the game. max_pages: pages that can play
    at the same time.
    """

    def __init__(
        self,
        library: Library,
        new_game: Callable[[], PageGame],
        settings: dict[str, Any],
        port: int,
        *,
        num_keys: int = QWOP_KEYS,
        max_pages: int = connections.MAX_PAGES,
    ) -> None:
        self._library, self._new_game, self._num_keys, self._max_pages = library, new_game, num_keys, max_pages
        self._site = Site(library, {**settings, "folder": str(library.folder)})
        self._token = secrets.token_urlsafe(16)
        self._pending: queue.Queue[_PendingEpisode] = queue.Queue()
        self._writing: _PendingEpisode | None = None
        self._stopped = threading.Event()
        self._pages = threading.BoundedSemaphore(max_pages)
        try:
            listener = Listener(HOST, port)
        except OSError as error:
            raise BadInput(f"source.port={port}: cannot be opened ({error.strerror}); 0 chooses a free one") from None
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
            max_size=connections.MAX_MESSAGE_BYTES,
        )
        listener.count_by(lambda: len(self._server.handler_threads))
        self._host = f"{HOST}:{listener.getsockname()[1]}"
        self._security = {name: value.format(host=self._host) for name, value in _SECURITY.items()}
        self.address = f"http://{self._host}/{self._token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="page", daemon=True)

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread.start()

    def episodes(self) -> Iterator[Episode]:
        """Yield the games as they end, until the server is stopped."""
        while not self._stopped.is_set():
            # Without a timeout, Ctrl-C would not interrupt the wait on every platform.
            with suppress(queue.Empty):
                self._writing = self._pending.get(timeout=0.5)
                yield self._writing.episode

    def written(self, path: Path) -> None:
        """Report that the episode yielded last was written to `path`."""
        assert self._writing is not None
        self._writing.path = path
        self._writing.done.set()

    def stop(self) -> list[Episode]:
        """Close all connections and return the games that were under way or not yet yielded, as far as played."""
        self._stopped.set()
        if self._writing is not None:
            self._writing.done.set()
        if self._thread.ident is None:  # never started
            self._server.socket.close()
            return []
        self._server.shutdown()
        left = []
        with suppress(queue.Empty):
            while True:
                left.append(self._pending.get_nowait().episode)
        return left

    def _respond(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None accepts the page's WebSocket connection."""
        path = request.path.split("?")[0]
        own = f"/{self._token}/"
        if request.headers.get_all("Host") != [self._host] or not secrets.compare_digest(path[: len(own)], own):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "open the address that qwop-record printed\n")
        path = path.removeprefix(own)
        if not self._from_the_page(request.headers, path):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "only the page itself may ask for this\n")
        if request.method != "GET":
            return connection.respond(http.HTTPStatus.METHOD_NOT_ALLOWED, "only GET is answered\n")
        if path == "play":
            return None
        answer = self._site.answer(path)
        return self._response(answer) if answer else connection.respond(http.HTTPStatus.NOT_FOUND, "not found\n")

    def _from_the_page(self, headers: Headers, path: str) -> bool:
        """Tell whether the page made the request, by the headers that no page can forge; programs leave them out."""
        origins = headers.get_all("Origin")
        own = [f"http://{self._host}"]
        if origins != own and (origins or path == "play"):
            return False
        # A link to the page may be anywhere; everything on it is fetched by the page.
        return path in ("", "play") or headers.get_all("Sec-Fetch-Site") in ([], ["same-origin"], ["none"])

    def _play(self, connection: ServerConnection) -> None:
        """Play one page's games."""
        if not self._pages.acquire(blocking=False):
            connection.close(1013, f"as many pages as can play ({self._max_pages}) are open already")
            return
        game: PageGame | None = None
        coached: PageGame | None = None  # also once it has ended, for one can go back from its end
        number = -1
        try:
            for message in connection:
                match messages.parse(message, self._num_keys):
                    case Start(new):
                        left, game, number = game, self._new_game(), new
                        self._keep(left)
                        self._leave(coached)
                        coached = game
                        connection.send(game.first(number))
                        self._tell(connection, game, number)
                    case Back(new) if isinstance(coached, CoachedPageGame):
                        game, number = coached, new
                        self._keep_episode(game.go_back())
                        connection.send(game.first(number))
                        self._tell(connection, game, number)
                    case HandOver(of) if isinstance(game, CoachedPageGame) and of == number:
                        game.hand_over()
                        self._tell(connection, game, number)
                    case Keys(of, keys) if game is not None and of == number:
                        connection.send(game.advance(number, keys))
                        self._tell(connection, game, number)
                        if game.over:
                            ended, game, number = game, None, -1
                            connection.send(self._end(ended, of))
                    case Discard(name):
                        connection.send(self._discard(name))
        except ValueError as error:
            connection.close(1008, str(error)[:100])
        except ConnectionClosed:
            pass
        finally:
            self._pages.release()
            if self._keep(game) is not None or game is None:
                self._leave(coached)

    def _discard(self, name: str) -> str:
        try:
            self._library.discard(name)
        except KeyError:
            raise ValueError("no such game") from None
        except OSError as error:
            return messages.encode(type="not discarded", name=name, reason=(error.strerror or "unknown").lower())
        return messages.encode(type="discarded", name=name)

    def _end(self, game: PageGame, number: int) -> str:
        path = self._keep(game)
        return messages.encode(type="ended", game=number, name=path.stem if path else None, **game.result())

    def _tell(self, connection: ServerConnection, game: PageGame, number: int) -> None:
        """Tell the page who has control, if that has changed."""
        if isinstance(game, CoachedPageGame) and (news := game.news(number)) is not None:
            connection.send(news)

    def _leave(self, game: PageGame | None) -> None:
        """Leave a coached game for good."""
        if isinstance(game, CoachedPageGame):
            game.leave()

    def _keep(self, game: PageGame | None) -> Path | None:
        """Hand a game over as far as it was played, wait until it is written, and return its path.

        None if no key was pressed, or if it was not written, or not yet.
        """
        return self._keep_episode(None if game is None or not game.played else game.episode())

    def _keep_episode(self, episode: Episode | None) -> Path | None:
        if episode is None:
            return None
        pending = _PendingEpisode(episode)
        self._pending.put(pending)
        while not pending.done.wait(timeout=0.5):
            if self._stopped.is_set():
                break
        return pending.path

    def _response(self, answer: Answer) -> Response:
        headers: dict[str, Any] = {"Content-Type": answer.kind, "Content-Length": str(len(answer.content))}
        return Response(200, "OK", Headers({**headers, "Connection": "close", **self._security}), answer.content)

"""The server of the page on which an environment in this process is played: one live game per open page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.sync.server import ServerConnection

from ..coaching.page_game import CoachedPageGame
from . import connections, messages
from .game import PageGame
from .library import Library
from .local_server import Answer, LocalServer
from .messages import Back, Discard, HandOver, Keys, Start
from .site import Site

QWOP_KEYS = 4


class PageServer(LocalServer):
    """Serves the page, and yields every game as an episode once it has ended.

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
        self._library, self._new_game, self._num_keys = library, new_game, num_keys
        self._site = Site(library, {**settings, "folder": str(library.folder)})
        super().__init__(port, max_pages=max_pages)

    def answer(self, path: str) -> Answer | None:
        return self._site.answer(path)

    def session(self, connection: ServerConnection) -> None:
        """Play one page's games."""
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
                        if (line := game.go_back()) is not None:
                            self.write(line)
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
                        connection.send(self._library.answer_discard(name))
        finally:
            if self._keep(game) is not None or game is None:
                self._leave(coached)

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
        return None if game is None or not game.played else self.write(game.episode())

"""The server of an environment's page: its answers to GET requests, and the game that is played on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.sync.server import ServerConnection

from ...common.content_types import TYPES, content_type
from ...envs.pictures.scene import SCRIPTS
from ...play.site import SCRIPTS as PLAY
from ..next_command import NextCommand
from . import messages
from .environment_game import EnvironmentGame
from .library import Library
from .local_server import Answer, LocalServer
from .messages import Back, Discard, HandOver, Keys, Start

STATIC = Path(__file__).parent / "static"

STYLES = PLAY / "page.css", Path(__file__).parent.parent / "play" / "static" / "coach.css"
"""Looks of the page of `qwop-play`, and of a coached game there, which this one shares."""


class EnvironmentServer(LocalServer):
    """Serves the page of an environment, and records every game once it has ended.

    When the page disconnects, its unfinished game is recorded as far as it got. One page plays, because there is one
    environment: many cannot be drawn on several threads.

    new_game: starts a game. settings: sent to the page. num_keys: keys of the game. next_command: named once there are
    enough games.
    """

    def __init__(
        self,
        library: Library,
        new_game: Callable[[], EnvironmentGame],
        settings: dict[str, Any],
        port: int,
        *,
        num_keys: int,
        next_command: NextCommand | None = None,
    ) -> None:
        self._library, self._new_game, self._num_keys = library, new_game, num_keys
        self._next = next_command
        self._settings = {**settings, "folder": str(library.folder)}
        super().__init__(port, max_pages=1)

    def answer(self, path: str) -> Answer | None:
        match path.split("/"):
            case [""]:
                return self._static("index.html")
            case ["settings.json"]:
                return Answer.of_json(self._settings)
            case ["games.json"]:
                return Answer.of_json(self._library.to_json())
            case [name]:
                return self._static(name)
        return None

    def _static(self, name: str) -> Answer | None:
        # Looked up among the files that there are, so that no name leads out of the folder.
        own = [file for folder in (STATIC, SCRIPTS) for file in folder.iterdir() if file.suffix in TYPES]
        file = {file.name: file for file in (*own, *STYLES)}.get(name)
        return None if file is None else Answer(file.read_bytes(), content_type(name))

    def session(self, connection: ServerConnection) -> None:
        """Receive the keys of one page's games, and send their pictures."""
        game: EnvironmentGame | None = None  # also after its end, from which the person can go back
        kept: Path | None = None  # of the game that has ended
        number = -1
        try:
            for message in connection:
                match messages.parse(message, self._num_keys):
                    case Start(new):
                        left, game, number, kept = game, self._new_game(), new, None
                        self._leave(left)
                        self._show(connection, game, number)
                    case Back(new) if game is not None and (kept is None or kept.exists()):
                        number, kept = new, None
                        line = game.go_back()
                        self._show(connection, game, number)
                        if line is not None:
                            self.write(line, game)
                    case HandOver(of) if game is not None and of == number:
                        game.hand_over()
                        self._tell(connection, game, number)
                    case Keys(of, keys) if game is not None and of == number:
                        connection.send(game.advance(number, keys))
                        self.games.note(game, game.so_far)
                        self._tell(connection, game, number)
                        if game.over:
                            number, kept = -1, self._leave(game)
                            connection.send(self._end(game, kept, of))
                    case Discard(name):
                        connection.send(self._library.answer_discard(name))
        finally:
            self._leave(game)

    def _end(self, game: EnvironmentGame, path: Path | None, number: int) -> str:
        return messages.encode(type="ended", game=number, name=path.stem if path else None, **game.result())

    def _show(self, connection: ServerConnection, game: EnvironmentGame, number: int) -> None:
        connection.send(game.first(number))
        self._tell(connection, game, number)

    def _tell(self, connection: ServerConnection, game: EnvironmentGame, number: int) -> None:
        """Tell the page who has control, if that has changed."""
        if (news := game.news(number)) is not None:
            connection.send(news)

    def _leave(self, game: EnvironmentGame | None) -> Path | None:
        """Write a game as far as it was played; its path, None if there is nothing to record."""
        if game is None:
            return None
        if not game.played:
            self.games.forget(game)
            return None
        path = self.write(game.episode(), game)
        if self._next is not None:
            self._next.after_game()
        return path

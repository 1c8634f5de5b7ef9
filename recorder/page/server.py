"""The server of the page on which a person plays: its answers to GET requests, and one live game per open page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from websockets.sync.server import ServerConnection

from ...common.content_types import TYPES, content_type
from ...datasets.schema import Episode
from ...envs.pictures.scene import SCENE_FILE, SCRIPTS, TILES
from ...play.site import SCRIPTS as PLAY
from ..coaching.page_game import CoachedPageGame
from ..next_command import NextCommand
from . import messages
from .library import Library
from .local_server import MAX_PAGES, Answer, LocalServer
from .messages import Back, Discard, HandOver, Keys, Start

STATIC = Path(__file__).parent / "static"

STYLES = PLAY / "page.css"
"""Looks of the page of `qwop-play`, which this one shares."""


class PageGame(Protocol):
    """One game that a person plays on the page, a frame at a time.

    over: true once it has ended by itself. played: true once a key was pressed; other games are not recorded.
    """

    @property
    def over(self) -> bool: ...

    @property
    def played(self) -> bool: ...

    def first(self, number: int) -> bytes:
        """Encode the start of this game, which the page numbers, as a message to the page."""
        ...

    def advance(self, number: int, keys: Sequence[int]) -> bytes:
        """Play a frame with each of these sets of keys until the game is over; encode the frames."""
        ...

    def result(self) -> dict[str, Any]:
        """The end of the game, as the page shows it."""
        ...

    def episode(self) -> Episode:
        """The game as far as it was played."""
        ...

    def so_far(self) -> Episode | None:
        """The same for a copy, None if it was not played; called in another thread."""
        ...


QWOP_KEYS = 4


class PageServer(LocalServer):
    """Serves the page, and records every game once it has ended.

    When a page disconnects, its unfinished game is recorded as far as it got.

    new_game: starts a game. settings: sent to the page. num_keys: keys of the game. max_pages: pages that can play
    at the same time. next_command: named once there are enough games.
    """

    def __init__(
        self,
        library: Library,
        new_game: Callable[[], PageGame],
        settings: dict[str, Any],
        port: int,
        *,
        num_keys: int = QWOP_KEYS,
        max_pages: int = MAX_PAGES,
        next_command: NextCommand | None = None,
    ) -> None:
        self._library, self._new_game, self._num_keys = library, new_game, num_keys
        self._next = next_command
        self._settings = {**settings, "folder": str(library.folder)}
        super().__init__(port, max_pages=max_pages)

    def answer(self, path: str) -> Answer | None:
        match path.split("/"):
            case [""]:
                return self._static("index.html")
            case ["settings.json"]:
                return Answer.of_json(self._settings)
            case ["scene.json"]:
                return Answer(SCENE_FILE.read_bytes(), TYPES[".json"])
            case ["games.json"]:
                return Answer.of_json(self._library.to_json())
            case ["tiles", name]:
                file = {tile.name: tile for tile in TILES.glob("*.png")}.get(name)
                return None if file is None else Answer(file.read_bytes(), TYPES[".png"])
            case [name]:
                return self._static(name)
        return None

    def _static(self, name: str) -> Answer | None:
        # Looked up among the files that there are, so that no name leads out of the folder.
        own = [file for folder in (STATIC, SCRIPTS) for file in folder.iterdir() if file.suffix in TYPES]
        file = {file.name: file for file in (*own, STYLES)}.get(name)
        return None if file is None else Answer(file.read_bytes(), content_type(name))

    def session(self, connection: ServerConnection) -> None:
        """Play one page's games."""
        game: PageGame | None = None
        coached: PageGame | None = None  # also after its end, from which the person can go back
        kept: Path | None = None  # of the game that has ended
        number = -1
        try:
            for message in connection:
                match messages.parse(message, self._num_keys):
                    case Start(new):
                        left, game, number = game, self._new_game(), new
                        self._leave(left)
                        coached = game
                        connection.send(game.first(number))
                        self._tell(connection, game, number)
                    case Back(new) if isinstance(coached, CoachedPageGame):
                        game, number = coached, new
                        line = game.go_back()
                        connection.send(game.first(number))
                        self._tell(connection, game, number)
                        if line is not None:
                            self.write(line, game)
                    case HandOver(of) if isinstance(game, CoachedPageGame) and of == number:
                        game.hand_over()
                        self._tell(connection, game, number)
                    case Keys(of, keys) if game is not None and of == number:
                        connection.send(game.advance(number, keys))
                        self.games.note(game, game.so_far)
                        self._tell(connection, game, number)
                        if game.over:
                            ended, game, number = game, None, -1
                            kept = self._leave(ended)
                            connection.send(self._end(ended, kept, of))
                    case Discard(name):
                        answer = self._library.answer_discard(name)
                        if game is None and kept is not None and not kept.exists():
                            coached = None  # one does not go back in a game that was discarded
                        connection.send(answer)
        finally:
            self._leave(game)

    def _end(self, game: PageGame, path: Path | None, number: int) -> str:
        return messages.encode(type="ended", game=number, name=path.stem if path else None, **game.result())

    def _tell(self, connection: ServerConnection, game: PageGame, number: int) -> None:
        """Tell the page who has control, if that has changed."""
        if isinstance(game, CoachedPageGame) and (news := game.news(number)) is not None:
            connection.send(news)

    def _leave(self, game: PageGame | None) -> Path | None:
        """Write a game as far as it was played; its path, None if no key was pressed."""
        if game is None:
            return None
        if not game.played:
            self.games.forget(game)
            return None
        path = self.write(game.episode(), game)
        if self._next is not None:
            self._next.after_game()
        return path

"""The recorder behind the page of `qwop-play`: the browser plays, and its games are recorded here."""

import html
import itertools
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websockets.sync.server import ServerConnection

from ...common.content_types import content_type
from ...common.errors import BadInput
from ...common.progress import plain_console
from ...datasets.folder import read_info
from ...datasets.from_keys import replay_episode
from ...datasets.schema import DatasetInfo
from ...envs.pictures.frame_rows import rows_of_replay
from ...envs.qwop.session import GameStart
from ...play.site import acting_part, files
from ..next_command import NextCommand
from ..page import messages
from ..page.library import Library
from ..page.local_server import Answer, LocalServer, NotWritten
from ..page.messages import Begin, Discard, End, Frames, RefusedGame, encode
from ..settings import RecorderPageSettings
from ..source import Source, info_for
from .received import ReceivedGame, Receiver

if TYPE_CHECKING:
    from .coached import Lines

STATIC = Path(__file__).parent / "static"

USUAL_PORT = 8767
"""The browser keeps games that it could not send, by the page's address, so the port should be the same every day."""

MOST_GAMES = 64
"""Games of one page that may be under way; it has one, and those that it could not send before."""


def open_page(settings: RecorderPageSettings, folder: Path, news: str = "") -> Source:
    """`source=page`: a person plays QWOP in the browser, on the page of `qwop-play`, or corrects a policy there; the
    games are recorded as they end.

    news: a line that the page of a policy shows. BadInput for invalid settings.
    """
    if settings.policy is not None:
        from .coached import open_coached  # only here, because a person's recording starts sooner without PyTorch

        return open_coached(settings, folder, news)
    info = info_for(settings, folder)
    others: dict[str, Path] = {}
    ghost = settings.ghost
    if ghost not in ("embedded", "best", "none"):
        read_info(Path(ghost))
        others["other"], ghost = Path(ghost), "other"
    GameStart().session().play([0])  # loads the engine now, rather than after the first game
    page = {"player": settings.player, "ghost": ghost}
    server = PlayServer(Library(folder, others), info, settings.epsilon, page, settings.port, plain_console().print)
    return server.source(info, settings.open)


class PlayServer(LocalServer):
    """Serves the page, and records its games once they have ended.

    When a page disconnects, its unfinished game is recorded as far as it got. The page sends it again if it comes back.

    settings: sent to the page. report: prints a line for the user. lines, policy: of the policy that is corrected, and
    its file.
    """

    def __init__(
        self, library: Library, info: DatasetInfo, epsilon: float, settings: dict[str, Any], port: int,
        report: Callable[[str], None], lines: "Lines | None" = None, policy: Path | None = None,
    ) -> None:  # fmt: skip
        self._library, self._settings, self._report = library, settings, report
        self._lines, self._policy = lines, policy
        self._visits = itertools.count(0 if lines is None else lines.first)
        self._next = None if lines else NextCommand(library.folder, report)
        self._receiver = Receiver(info, epsilon, library, self.write, report, lines)
        self._making = threading.Lock()
        super().__init__(port, usual_port=USUAL_PORT)

    def answer(self, path: str) -> Answer | None:
        match path.split("/"):
            case [""]:
                return Answer(self._page(), content_type("index.html"))
            case ["policy.safetensors"] if self._policy is not None:
                return Answer(acting_part(self._policy), content_type(path))
            case ["games.json"]:
                return Answer.of_json(self._library.to_json())
            case ["games", collection, name] if name.endswith((".json", ".bin")):
                return self._game(collection, name)
        own = {file.name: file for file in STATIC.iterdir()}
        content = own[path].read_bytes() if path in own else self._site().get(path)
        return None if content is None else Answer(content, content_type(path))

    def session(self, connection: ServerConnection) -> None:
        """Receive one page's games."""
        games: dict[str, ReceivedGame] = {}
        try:
            for message in connection:
                try:
                    self._receive(connection, message, games)
                except RefusedGame as refused:
                    games.pop(refused.game, None)
                    self.games.forget(refused.game)
                    self._report(
                        f"a game of the page is refused ({refused}); it stays in the browser, in the page's list"
                    )
                    connection.send(encode(type="refused", game=refused.game, reason=str(refused)))
        finally:
            for left in games.values():
                with suppress(NotWritten, BadInput):  # of one game, which the browser keeps if it is refused
                    self._receiver.record(left)
                    self.games.forget(left.game)

    def _receive(self, connection: ServerConnection, message: str | bytes, games: dict[str, ReceivedGame]) -> None:
        """Handle a message. games: those under way. Messages about others, which were refused, are passed over."""
        match messages.parse(message):
            case Begin(game, player, tempo, file, line):
                games.setdefault(game, ReceivedGame(game, player, tempo, file, line))
                if len(games) > MOST_GAMES:
                    raise ValueError(f"more than {MOST_GAMES} games at a time")
            case Frames(game, at, frames, decisions) if game in games:
                if games[game].add(at, frames, decisions):
                    self.games.note(game, partial(self._receiver.so_far, games[game]))
            case End(game, frames, sha256) if game in games:
                if (received := len(games[game].frames)) != frames:
                    raise RefusedGame(game, f"{received} of its {frames} frames have come")
                self._record(connection, games.pop(game), sha256)
            case Discard(name):
                connection.send(self._library.answer_discard(name))

    def _record(self, connection: ServerConnection, game: ReceivedGame, sha256: str) -> None:
        try:
            found = self._receiver.record(game, sha256)
        except BadInput as error:
            raise RefusedGame(game.game, str(error)) from None
        self.games.forget(game.game)
        connection.send(encode(type="recorded", game=game.game, name=found.name, problem=found.problem))
        if self._next is not None and (command := self._next.after_game()) is not None:
            connection.send(encode(type="next", command=command))

    def _site(self) -> dict[str, bytes]:
        with self._making:  # a page asks for ten files at once, and the first call takes a second
            return files()

    def _page(self) -> bytes:
        """The page, with its recorder's settings."""
        folder = self._library.folder
        dataset = str(folder.resolve())
        own: dict[str, Any] = {"folder": str(folder), "dataset": dataset, "next": self._next and self._next.command}
        if self._lines is not None:  # what the browser keeps is for a recorder with the same policy and settings
            own["dataset"] += f" with {self._lines.games}"
            own["coach"] = self._settings["coach"] | {"key": [self._lines.seed, next(self._visits)]}
        settings = json.dumps({**self._settings, **own})
        meta = f'<meta name="recorder" content="{html.escape(settings)}">'
        return self._site()["index.html"].replace(b"<title>", f"{meta}\n  <title>".encode(), 1)

    def _game(self, collection: str, name: str) -> Answer | None:
        """A game's keys, or the rows of its frames."""
        stem, kind = name.rsplit(".", 1)
        try:
            game = self._library.game(collection, stem)
            if kind == "bin":
                rows = rows_of_replay(replay_episode(game), game.keys_of_frames)
                return Answer(rows.tobytes(), content_type(name))
        except (KeyError, BadInput, OSError):
            return None
        # Unless the game began on a page that had just been loaded, its keys alone are not the game.
        return Answer.of_json({"keys": game.keys_of_frames.tolist() if game.start is None else None})

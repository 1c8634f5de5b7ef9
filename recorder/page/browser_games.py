"""`source=page`: games that the browser's own engine plays, on the page of `qwop-play`, sent here as they are played.

Each is played again by the simulator before it is written, and recorded once however often it is sent.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...common.progress import plain_console
from ...datasets.folder import ASIDE, read_info
from ...datasets.from_keys import episode_from_keys
from ...datasets.origin import Origin
from ...datasets.reader import read_episode
from ...datasets.schema import DatasetInfo, Episode
from ...envs.names import ACTIONS
from ...envs.qwop.keys_file import write_keys
from ...envs.qwop.session import GameStart, Replay
from ..game_writer import GameWriter, write_longest
from ..settings import EnvironmentPageSettings, PageSettings, RecorderPageSettings
from ..source import Source, info_for, recorded_games
from .environment_source import open_environment
from .library import Library
from .messages import Begin, Decision, End, Frames, Message, RefusedGame, encode
from .server import RecorderServer, Send, learning_command

if TYPE_CHECKING:
    from .coached_lines import Lines  # which loads PyTorch


def open_page(settings: RecorderPageSettings, folder: Path, news: str = "") -> Source:
    """A person plays QWOP on the page, or corrects a policy there; the games are recorded as they end.

    news: a line that the page of a policy shows. BadInput for invalid settings.
    """
    lines, others, ghost = None, dict[str, Path](), settings.ghost
    if settings.policy is not None:
        from .coached_lines import lines_of  # only here: a person's recording starts sooner without PyTorch

        lines, ghost = lines_of(settings, folder), "none"
        if lines is None:
            shared = {name: getattr(settings, name) for name in (*PageSettings.model_fields, "player", "epsilon")}
            page = EnvironmentPageSettings(**shared, id="QWOP-v1", default_action=ACTIONS.index("none"))
            return open_environment(page, folder, news, settings.max_idle_frames)
    elif ghost not in ("embedded", "best", "none"):
        if not read_info(Path(ghost)).environment.capabilities.keys:
            raise BadInput(f"source.ghost={ghost}: holds no games of QWOP")
        others["other"], ghost = Path(ghost), "other"
    info = info_for(settings, folder) if lines is None else lines.info
    GameStart().session().play([0])  # loads the engine now, rather than after the first game
    report = plain_console().print
    games = BrowserGames(info, settings.epsilon, folder, report, lines)

    def page_settings() -> dict[str, object]:
        page = {"player": settings.player, "ghost": ghost, "dataset": str(folder.resolve())}
        if lines is None:
            return {**page, "next": games.next_command}
        # What the browser keeps is for a recorder with the same policy and settings.
        return {**page, "dataset": f"{page['dataset']} with {lines.games}", "coach": lines.for_page(news)}

    session = partial(BrowserSession, games)
    more = {"policy.safetensors": lines.file} if lines else {}
    server = RecorderServer(Library(folder, others), session, page_settings, settings.port, report, more=more)
    return server.source(info, settings.open)


@dataclass
class ReceivedGame:
    """A game as far as the page has sent it. decisions: of a coached game."""

    begin: Begin
    frames: bytearray = field(default_factory=bytearray)
    decisions: list[Decision] = field(default_factory=list)

    def add(self, at: int, frames: bytes, decisions: Sequence[Decision] = ()) -> bool:
        """Append frames that begin at number `at`, without those that are there; False if some before are missing.
        decisions: that begin in these frames."""
        if at > len(self.frames):
            return False
        self.decisions += [one for one in decisions if one.frame >= len(self.frames)]
        self.frames += frames[len(self.frames) - at :]
        return True

    @property
    def keys(self) -> NDArray[np.uint8]:
        """uint8 [n]."""
        return np.frombuffer(bytes(self.frames), np.uint8)

    @property
    def source(self) -> str:
        tempo = self.begin.tempo
        return self.begin.file or ("page" if tempo == 1 else f"page at {tempo:g} times the pace")

    def replay(self) -> Replay | None:
        """The simulator's replay; None if it ends before the keys do."""
        replay = GameStart().session().play(self.keys)
        return replay if len(replay.states) > len(self.frames) else None


class BrowserGames:
    """Makes episodes of the games of all pages, and writes each once.

    A game whose states are not the browser's to the last bit is kept apart, as a file of keys. Where more of a game was
    played since it was recorded, the longer one takes its place.

    report: prints a line for the user. lines: of a policy that is corrected on the page.
    """

    def __init__(
        self, info: DatasetInfo, epsilon: float, folder: Path, report: Callable[[str], None],
        lines: "Lines | None" = None,
    ) -> None:  # fmt: skip
        self._info, self._epsilon, self._folder, self._report, self._lines = info, epsilon, folder, report, lines
        self._lock = threading.Lock()
        self._paths: dict[str | None, Path] = {}
        with suppress(BadInput):  # one is damaged
            games = recorded_games(folder).items()
            self._paths = {game.origin.page_game or game.origin.sha256: path for path, game in games}

    @property
    def next_command(self) -> str | None:
        """The command that learns from the games of a person who plays alone, once there are enough."""
        return learning_command(self._folder) if self._lines is None else None

    def record(self, game: ReceivedGame, writer: GameWriter, sha256: str | None = None) -> dict[str, str]:
        """Record a game as far as it was received; the `name` of its episode, or the `problem` for which it is kept
        apart, as the page expects them. sha256: of all its states, if the page knows. RefusedGame for a coached game
        whose decisions are not its policy's."""
        name = game.begin.game
        if not game.keys.any():
            return {}
        with self._lock:
            replay = game.replay()
            if replay is None or (sha256 is not None and replay.sha256 != sha256):
                return self._keep_apart(game)
            try:
                episode = self._episode(game, replay)
            except BadInput as error:
                raise RefusedGame(name, str(error)) from None
            path = write_longest(episode, self._recorded(name), partial(writer.write, game=name))
            self._paths[name] = path
            return {"name": path.stem}

    def so_far(self, game: ReceivedGame) -> Episode | None:
        """A game under way, None if it has no key, or keys after its end; called in another thread."""
        game = replace(game, frames=bytearray(game.frames), decisions=[*game.decisions])
        replay = game.replay()
        return None if replay is None or not game.keys.any() else self._episode(game, replay)

    def _episode(self, game: ReceivedGame, replay: Replay) -> Episode:
        begin = game.begin
        facts: dict[str, Any] = {"player": begin.player, "epsilon": self._epsilon}
        if begin.place is not None:
            if self._lines is None:
                raise BadInput("a policy plays in it; record it with the same source.policy")
            return self._lines.episode(begin.game, begin.place, game.decisions, game.keys, replay, **facts)
        origin = Origin(page_game=begin.game) if begin.file is None else Origin(sha256=begin.game)
        return episode_from_keys(game.keys, self._info, source=game.source, game=replay, origin=origin, **facts)

    def _recorded(self, game: str) -> list[tuple[Path, Episode]]:
        """The episode of a game that was sent before, if it is in the dataset."""
        path = self._paths.get(game)
        if path is None or not path.exists():  # discarded
            return []
        with suppress(BadInput):  # damaged
            return [(path, read_episode(path, read_info(self._folder)))]
        return []

    def _keep_apart(self, game: ReceivedGame) -> dict[str, str]:
        problem = "the browser played it otherwise than the simulator does"
        path = self._folder / ASIDE / f"differing-{game.begin.game}.txt"
        write_keys(path, game.keys, f"{game.begin.player}: {problem}")
        self._report(f"a game is not in the dataset: {problem}; its keys are in {path}")
        return {"problem": problem}


class BrowserSession:
    """The games of one page. When it disconnects, its unfinished game is recorded as far as it got, and the page sends
    it again if it comes back."""

    def __init__(self, games: BrowserGames, send: Send, writer: GameWriter) -> None:
        self._games, self._send, self._writer = games, send, writer
        self._under_way: dict[str, ReceivedGame] = {}

    def receive(self, message: Message) -> None:
        """Handle a message. Those about games that were refused are passed over."""
        match message:
            case Begin(game=game):
                self._under_way.setdefault(game, ReceivedGame(message))
            case Frames(game=game, at=at, frames=frames, decisions=decisions):
                received = self._under_way.get(game)
                if received is not None and received.add(at, bytes(frames), decisions):
                    self._writer.note(game, partial(self._games.so_far, received))
            case End(game=game, frames=count, sha256=sha256):
                if (received := self._under_way.get(game)) is None:
                    return
                if len(received.frames) != count:
                    raise RefusedGame(game, f"{len(received.frames)} of its {count} frames have come")
                result = self._games.record(received, self._writer, sha256)
                self.refuse(game)
                self._send(encode(type="recorded", game=game, next=self._games.next_command, **result))
            case _:
                raise ValueError("not a message of this page")

    def refuse(self, game: str) -> None:
        """Forget a game."""
        self._under_way.pop(game, None)
        self._writer.forget(game)

    def leave(self) -> None:
        """Record the games under way. One that is refused stays in the browser."""
        for game in [*self._under_way.values()]:
            with suppress(BadInput, RefusedGame):
                self._games.record(game, self._writer)
                self._writer.forget(game.begin.game)

"""`source=page`: games that the browser's own engine plays, on the page of `qwop-play`, sent here as they are played.

Each is played again by the simulator before it is written, and recorded once however often it is sent.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.errors import BadInput
from ...datasets.folder import read_info
from ...datasets.from_keys import episode_from_keys
from ...datasets.origin import Origin
from ...datasets.schema import DatasetInfo, Episode
from ...envs.qwop.session import GameStart
from ..game_writer import GameWriter
from ..settings import EnvironmentPageSettings, PageSettings, RecorderPageSettings
from ..source import Source, info_for
from .environment_game import open_environment
from .library import Library
from .messages import Decision, Frames, Message, RefusedGame, encode
from .server import RecorderServer, Send

if TYPE_CHECKING:
    from .coached_lines import Lines  # which loads PyTorch


def open_page(settings: RecorderPageSettings, folder: Path) -> Source:
    """A person plays QWOP on the page, or corrects a policy there; the games are recorded as they end. BadInput for
    invalid settings."""
    lines, others, ghost = None, dict[str, Path](), settings.ghost
    if settings.policy is not None:
        from .coached_lines import lines_of  # only here: a person's recording starts sooner without PyTorch

        lines, ghost = lines_of(settings, folder), "none"
        if lines is None:
            shared = {name: getattr(settings, name) for name in (*PageSettings.model_fields, "player", "epsilon")}
            page = EnvironmentPageSettings(**shared, id="QWOP-v1")
            return open_environment(page, folder, settings.max_idle_frames)
    elif ghost not in ("embedded", "best", "none"):
        if not read_info(Path(ghost)).environment.capabilities.keys:
            raise BadInput(f"source.ghost={ghost}: holds no games of QWOP")
        others["other"], ghost = Path(ghost), "other"
    info = info_for(settings, folder) if lines is None else lines.info
    GameStart().session().play([0])  # loads the engine now, rather than after the first game

    def page_settings() -> dict[str, object]:
        page: dict[str, object] = {"player": settings.player, "ghost": ghost, "dataset": str(folder.resolve())}
        if lines is None:
            return page
        # What the browser keeps is for a recorder with the same policy and settings.
        return {**page, "dataset": f"{page['dataset']} with {lines.games}", "coach": lines.for_page()}

    session = partial(BrowserSession, info, settings.epsilon, lines)
    more = {"policy.safetensors": lines.file} if lines else {}
    server = RecorderServer(Library(folder, others), session, page_settings, settings.port, more)
    return server.source(info, settings.open)


@dataclass
class ReceivedGame:
    """A game as far as the page has sent it. first: its first frames. decisions: of a coached game."""

    first: Frames
    frames: bytearray = field(default_factory=bytearray)
    decisions: list[Decision] = field(default_factory=list)

    def add(self, more: Frames) -> None:
        """Append those frames that are not there yet; BadInput if some before them are missing."""
        if more.at > len(self.frames):
            raise BadInput(f"its frames from {len(self.frames)} on are missing")
        self.decisions += [one for one in more.decisions if one.frame >= len(self.frames)]
        self.frames += bytes(more.frames)[len(self.frames) - more.at :]


class BrowserSession:
    """The games of one page. When it disconnects, its unfinished game is recorded as far as it got, and the page sends
    it again if it comes back.

    lines: of a policy that is corrected on the page.
    """

    def __init__(
        self, info: DatasetInfo, epsilon: float, lines: "Lines | None", send: Send, writer: GameWriter
    ) -> None:
        self._info, self._epsilon, self._lines, self._send, self._writer = info, epsilon, lines, send, writer
        self._under_way: dict[str, ReceivedGame] = {}

    def receive(self, message: Message) -> None:
        """Handle a message. Those about games that were refused are passed over."""
        if not isinstance(message, Frames):
            raise ValueError("not a message of this page")
        name = message.game
        if message.at == 0:
            self._under_way.setdefault(name, ReceivedGame(message))
        if (game := self._under_way.get(name)) is None:
            return
        try:
            game.add(message)
            episode = None if message.sha256 is None else self._episode(game, message.sha256)
        except BadInput as error:
            self._under_way.pop(name)
            self._writer.forget(name)
            raise RefusedGame(name, str(error)) from None
        if episode is None:
            self._writer.note(name, partial(self._so_far, game))
        else:
            path = self._writer.write(episode)
            self._under_way.pop(name)
            self._send(encode(type="recorded", game=name, name=path.stem))

    def leave(self) -> None:
        """Record the games under way. One that is refused stays in the browser."""
        for game in [*self._under_way.values()]:
            with suppress(BadInput):
                self._writer.write(self._episode(game))

    def _so_far(self, game: ReceivedGame) -> Episode | None:
        """A game under way, None if it is refused; called in another thread."""
        with suppress(BadInput):
            return self._episode(replace(game, frames=bytearray(game.frames), decisions=[*game.decisions]))
        return None

    def _episode(self, game: ReceivedGame, sha256: str | None = None) -> Episode:
        """The episode of a game as far as it was received. sha256: of all its states, if the page knows. BadInput for a
        game that the simulator plays otherwise, and a coached one whose decisions are not its policy's."""
        first, keys = game.first, np.frombuffer(bytes(game.frames), np.uint8)
        if not keys.any():
            raise BadInput("no key is pressed in it")
        replay = GameStart().session().play(keys)
        if len(replay.states) <= len(keys) or sha256 not in (None, replay.sha256):
            raise BadInput("the browser played it otherwise than the simulator does")
        facts: dict[str, Any] = {"player": first.player, "epsilon": self._epsilon}
        if first.place is not None:
            if self._lines is None:
                raise BadInput("a policy plays in it; record it with the same source.policy")
            return self._lines.episode(first.game, first.place, game.decisions, keys, replay, **facts)
        source = "page" if first.tempo == 1 else f"page at {first.tempo:g} times the pace"
        origin = Origin(page_game=first.game)
        return episode_from_keys(keys, self._info, source=source, game=replay, origin=origin, **facts)

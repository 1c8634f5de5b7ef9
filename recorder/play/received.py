"""Games that the page has played, on their way into the dataset: played again, and each recorded once."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.folder import ASIDE
from ...datasets.from_keys import episode_from_keys
from ...datasets.origin import Origin
from ...datasets.reader import open_dataset
from ...datasets.schema import DatasetInfo, Episode
from ...envs.qwop.keys_file import write_keys
from ...envs.qwop.session import GameStart, Replay
from ..page.library import Library
from ..page.messages import Decision, Line

if TYPE_CHECKING:
    from .coached import Lines  # which loads PyTorch


@dataclass
class ReceivedGame:
    """A game as far as the page has sent it. game: its twelve digits. file: where it comes from, if not played here.
    line, decisions: of a coached game."""

    game: str
    player: str
    tempo: float = 1.0
    file: str | None = None
    line: Line | None = None
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
        if self.file is not None:
            return self.file
        return "page" if self.tempo == 1 else f"page at {self.tempo:g} times the pace"


@dataclass(frozen=True)
class Recorded:
    """name: of the episode; None if there is none. problem: why the game is kept apart."""

    name: str | None = None
    problem: str | None = None


class Receiver:
    """Records games that the page has played.

    Each is played again by the simulator. One whose states are not the browser's to the last bit is kept apart, as a
    file of keys. A game that was recorded before is not recorded twice; where more of it was played since, the longer
    one takes its place.

    write: writes an episode of a game, and returns its path. report: prints a line for the user. lines: of a policy
    that is corrected on the page.
    """

    def __init__(
        self, info: DatasetInfo, epsilon: float, library: Library, write: Callable[[Episode, object], Path],
        report: Callable[[str], None], lines: "Lines | None" = None,
    ) -> None:  # fmt: skip
        self._lines = lines
        self._info, self._epsilon, self._library, self._write, self._report = info, epsilon, library, write, report
        self._lock = threading.Lock()
        self._names = _recorded_names(library.folder)

    def record(self, game: ReceivedGame, sha256: str | None = None) -> Recorded:
        """Record a game as far as it was received. sha256: of all its states, if the page knows. BadInput for a coached
        game whose decisions are not its policy's."""
        keys = game.keys
        if not keys.any():
            return Recorded()
        with self._lock:
            before = self._recorded(game.game)
            if before is not None and _begins_with(before.keys_of_frames, keys):
                return Recorded(self._names[game.game])
            played = _replayed(game)
            if played is None or (sha256 is not None and played.sha256 != sha256):
                return self._keep_apart(game)
            path = self._write(self._episode(game, played), game.game)
            if before is not None and _begins_with(keys, before.keys_of_frames):
                self._library.discard(self._names[game.game])
            self._names[game.game] = path.stem
            return Recorded(path.stem)

    def so_far(self, game: ReceivedGame) -> Episode | None:
        """A game under way, None if it has no key, or keys after its end; called in another thread."""
        game = replace(game, frames=bytearray(game.frames), decisions=[*game.decisions])
        played = _replayed(game)
        return None if played is None or not game.keys.any() else self._episode(game, played)

    def _episode(self, game: ReceivedGame, played: Replay) -> Episode:
        if game.line is not None:
            if self._lines is None:
                raise BadInput("a policy plays in it; record it with the same source.policy")
            return self._lines.episode(
                game.game, game.line, game.decisions, game.keys, played, player=game.player, epsilon=self._epsilon
            )
        origin = Origin(page_game=game.game) if game.file is None else Origin(sha256=game.game)
        return episode_from_keys(
            game.keys, self._info, player=game.player, source=game.source, epsilon=self._epsilon, game=played,
            origin=origin,
        )  # fmt: skip

    def _recorded(self, game: str) -> Episode | None:
        """The episode of a game; None if it is not in the dataset."""
        try:
            return self._library.game("own", self._names[game]) if game in self._names else None
        except (KeyError, BadInput, OSError):  # discarded, or damaged
            return None

    def _keep_apart(self, game: ReceivedGame) -> Recorded:
        problem = "the browser played it otherwise than the simulator does"
        path = self._library.folder / ASIDE / f"differing-{game.game}.txt"
        write_keys(path, game.keys, f"{game.player}: {problem}")
        self._report(f"a game is not in the dataset: {problem}; its keys are in {path}")
        return Recorded(problem=problem)


def _replayed(game: ReceivedGame) -> Replay | None:
    """The simulator's replay of a game; None if it ends before its keys do."""
    played = GameStart().session().play(game.keys)
    return played if len(played.states) > len(game.frames) else None


def _recorded_names(folder: Path) -> dict[str, str]:
    """Names of the episodes whose game the page may send again, by the game."""
    try:
        dataset = open_dataset(folder)
    except (BadInput, OSError):  # none recorded yet
        return {}
    found = {}
    for index, path in enumerate(dataset.files):
        origin = dataset.metadata(index)["origin"]
        game = origin.get("page_game") or origin.get("sha256")
        if game is not None:
            found[game] = path.stem
    return found


def _begins_with(whole: NDArray[np.uint8], start: NDArray[np.uint8]) -> bool:
    return len(start) <= len(whole) and np.array_equal(whole[: len(start)], start)

"""The play of a round: a person corrects a policy for some minutes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from ..datasets.control import corrected
from ..datasets.describe import describe
from ..datasets.folder import next_number
from ..datasets.reader import open_dataset
from ..datasets.schema import Episode
from ..datasets.writer import DatasetWriter
from ..policies.files import load_policy
from ..recorder.game_writer import GameWriter, record_interrupted
from ..recorder.main import open_source, record
from ..recorder.page.environment_source import decisions_a_second
from ..recorder.settings import EnvironmentPageSettings, RecorderPageSettings
from ..recorder.source import Source
from .settings import CoachSettings


def record_round(settings: CoachSettings, policy: Path, folder: Path, number: int, news: str, console: Console) -> bool:
    """Record the games of a round into a dataset.

    The minutes that an interrupted round recorded count, unless nobody corrected anything in them.

    news: a line that the page shows. Returns false if there is no game.
    """
    env = load_policy(policy).environment.make()
    fps = decisions_a_second(env)
    env.close()
    for note in record_interrupted(folder):
        console.print(note)
    seconds = settings.minutes * 60
    if is_corrected(folder):
        seconds -= sum(seconds_of(episode, fps) for episode in _episodes(folder))
    if seconds > 0:
        source = _open(settings, policy, folder, settings.seed + number, news)
        writer = DatasetWriter(folder, source.info)
        console.print(
            f"correct the policy for {seconds / 60:.3g} minutes of play: press a key where it goes wrong; "
            "it learns afterwards. Ctrl-C ends the play early"
        )
        for note in source.notes:
            console.print(note)
        record(source, GameWriter(writer, TimeLimit(seconds, fps).is_over), console)
    if not _episodes(folder):
        return False
    console.print(describe(folder).table(f"{folder}"))
    return True


class TimeLimit:
    """Counts seconds of play. fps: see `seconds_of`."""

    def __init__(self, seconds: float, fps: float) -> None:
        self._seconds, self._fps = seconds, fps

    def is_over(self, episode: Episode) -> bool:
        """Count the next episode; true if all seconds are played."""
        self._seconds -= seconds_of(episode, self._fps)
        return self._seconds <= 0


def seconds_of(episode: Episode, fps: float) -> float:
    """Seconds of play that no other episode has. fps: decisions a second where the game has no clock."""
    if episode.keys is None:
        return (len(episode) - episode.first_own) / fps
    times = episode.times
    return 0.0 if times is None else float(times[-1] - times[episode.first_own])


def is_corrected(folder: Path) -> bool:
    """True if a person acted in any decision of a dataset, which may not be there yet."""
    return any(corrected(episode).any() for episode in _episodes(folder))


def _episodes(folder: Path) -> Sequence[Episode]:
    """The episodes of a dataset; none before its first is there."""
    return open_dataset(folder) if folder.is_dir() and next_number(folder) else ()


def _open(settings: CoachSettings, policy: Path, folder: Path, seed: int, news: str) -> Source:
    shared: dict[str, Any] = {"policy": str(policy), "player": settings.player, "seed": seed, "open": settings.open}
    if not (environment := load_policy(policy).environment).capabilities.keys:
        return open_source(EnvironmentPageSettings(**shared, id=environment.id), folder, news=news)
    return open_source(RecorderPageSettings(**shared), folder, news=news)

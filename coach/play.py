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
from ..recorder.page.environment_game import decisions_a_second
from ..recorder.settings import EnvironmentPageSettings, RecorderPageSettings
from .settings import CoachSettings


def record_round(settings: CoachSettings, policy: Path, folder: Path, number: int, console: Console) -> None:
    """Record the games of a round into a dataset. The minutes that an interrupted round recorded count, unless nobody
    corrected anything in them."""
    spec = load_policy(policy).environment
    env = spec.make()
    fps = decisions_a_second(env)
    env.close()
    for note in record_interrupted(folder):
        console.print(note)
    seconds = settings.minutes * 60

    def is_over(episode: Episode) -> bool:
        """Count an episode; true once all seconds are played."""
        nonlocal seconds
        seconds -= seconds_of(episode, fps)
        return seconds <= 0

    if is_corrected(folder):
        for episode in _episodes(folder):
            is_over(episode)
    if seconds > 0:
        seed = settings.seed + number
        page: dict[str, Any] = {"policy": str(policy), "player": settings.player, "seed": seed, "open": settings.open}
        qwop = spec.capabilities.keys
        own = RecorderPageSettings(**page) if qwop else EnvironmentPageSettings(**page, id=spec.id)
        source = open_source(own, folder)
        writer = DatasetWriter(folder, source.info)
        console.print(
            f"correct the policy for {seconds / 60:.3g} minutes of play: press a key where it goes wrong; "
            "it learns afterwards. Ctrl-C ends the play early"
        )
        record(source, GameWriter(writer, is_over), console)
    if _episodes(folder):
        console.print(describe(folder).table(f"{folder}"))


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

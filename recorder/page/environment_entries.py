"""Games of an environment in the page's list."""

from dataclasses import dataclass
from pathlib import Path

from ...datasets.reader import read_episode
from ...datasets.schema import DatasetInfo


@dataclass(frozen=True)
class EnvironmentEntry:
    """One game of the list, identified by its collection and name. total: its return. steps: its decisions."""

    collection: str
    name: str
    player: str
    created: str
    outcome: str
    total: float
    steps: int

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key, greater is better."""
        return (self.total,)


def read_environment_entry(collection: str, path: Path, info: DatasetInfo) -> EnvironmentEntry:
    """Read the entry of an episode's file; BadInput if it is damaged."""
    episode = read_episode(path, info)
    return EnvironmentEntry(
        collection=collection,
        name=path.stem,
        player=episode.player,
        created=episode.created or "",
        outcome=episode.outcome,
        total=float(episode.rewards.sum(dtype="float64")),
        steps=len(episode),
    )

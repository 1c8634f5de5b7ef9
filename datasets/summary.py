"""Statistics of a dataset, computed from its episodes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from ..common.checks import printable
from .schema import OUTCOMES, DatasetInfo, Episode


@dataclass(frozen=True)
class Summary:
    """Statistics of a dataset of E episodes.

    steps: int64 [E], decisions. returns: float64 [E], undiscounted. seconds: float64 [E], on the game's clock.
    metres: float64 [E], NaN if unknown. action_counts: int64 [A].
    outcomes, players, probabilities_from: number of episodes of each kind. replayable: number of episodes with keys.
    """

    info: DatasetInfo
    steps: NDArray[np.int64]
    returns: NDArray[np.float64]
    seconds: NDArray[np.float64]
    metres: NDArray[np.float64]
    action_counts: NDArray[np.int64]
    outcomes: dict[str, int]
    players: dict[str, int]
    probabilities_from: dict[str, int]
    replayable: int

    @property
    def episodes(self) -> int:
        return len(self.steps)

    def table(self, title: str = "") -> Table:
        """Summary as a table to print with rich."""
        capabilities = self.info.environment.capabilities
        table = Table(title=title or None, title_justify="left", show_header=False)
        table.add_column("what", style="bold", no_wrap=True)
        table.add_column("found")
        table.add_row("environment", str(self.info.environment))
        table.add_row("observations", str(self.info.observation))
        table.add_row("episodes", f"{self.episodes}")
        table.add_row("outcomes", _counts(self.outcomes))
        table.add_row("decisions", f"{self.steps.sum():,}; {_spread(self.steps, '.0f')} per episode")
        table.add_row("return", _spread(self.returns, ".1f"))
        known = self.metres[np.isfinite(self.metres)]
        if len(known):
            table.add_row("metres", _spread(known, ".1f"))
        if capabilities.decisions_per_second:
            table.add_row(
                "game time", f"{self.seconds.sum() / 60:.1f} min; {_spread(self.seconds, '.1f')} s per episode"
            )
        table.add_row("actions", self._actions(capabilities.action_names))
        table.add_row("players", _counts(self.players))
        table.add_row("probabilities", _counts(self.probabilities_from))
        if capabilities.keys:
            table.add_row("keys for exact replay", f"{self.replayable} of {self.episodes}")
        return table

    def _actions(self, names: tuple[str, ...] | None) -> str:
        names = names or tuple(str(action) for action in range(len(self.action_counts)))
        share = self.action_counts / self.action_counts.sum()
        common = np.argsort(-share, kind="stable")
        return ", ".join(f"{names[action]} {share[action]:.1%}" for action in common if share[action] > 0)


def summarise(episodes: Iterable[Episode], info: DatasetInfo) -> Summary:
    """Compute the statistics of at least one episode; iterates over `episodes` once."""
    rows, metres = [], []
    action_counts = np.zeros(info.actions, dtype=np.int64)
    outcomes, players, sources = Counter[str](), Counter[str](), Counter[str]()
    replayable = 0
    for episode in episodes:
        rows.append((len(episode), episode.rewards.sum(dtype=np.float64), episode.times[-1] - episode.times[0]))
        metres.append(np.nan if episode.metres is None else episode.metres)
        action_counts += np.bincount(episode.actions, minlength=info.actions)
        outcomes[episode.outcome] += 1
        players[episode.player] += 1
        sources[episode.probabilities_from] += 1
        replayable += episode.keys is not None
    steps, returns, seconds = np.array(rows).T
    return Summary(
        info=info,
        steps=steps.astype(np.int64),
        returns=returns,
        seconds=seconds,
        metres=np.array(metres, dtype=np.float64),
        action_counts=action_counts,
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES if outcome in outcomes},
        players=dict(players),
        probabilities_from=dict(sources),
        replayable=replayable,
    )


def _spread(values: NDArray[np.int64] | NDArray[np.float64], number: str) -> str:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"median {middle:{number}} ({low:{number}} … {high:{number}})"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{printable(name)} {count}" for name, count in counts.items())

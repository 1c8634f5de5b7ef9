"""Statistics of a dataset, computed from its episodes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.table import Table

from ..common.errors import BadInput, quoted
from .parquet import FACTS, facts_in, has
from .schema import OUTCOMES, DatasetInfo, mu_in_words

STATS_COLUMNS = (*FACTS, "action", "reward", "keys", "timestamp", "final_timestamp")
"""Columns that a summary reads."""


class Summary:
    """Statistics of a dataset of E ≥ 1 episodes.

    steps: int64 [E], decisions. returns: float64 [E], undiscounted. seconds: float64 [E], on the game's clock, NaN
    without one. metres: float64 [E], NaN if unknown. ends: outcomes [E]. action_counts: int64 [A]. outcomes, players,
    mu: number of episodes of each kind. replayable: number of episodes with keys.
    """

    def __init__(self, stats: Iterable[Mapping[str, Any]], info: DatasetInfo) -> None:
        """stats: of each episode, see `stats_of`."""
        self.info = info
        rows = [*stats]
        self.episodes = len(rows)
        self.steps = np.array([one["steps"] for one in rows], np.int64)
        self.returns, self.seconds, self.metres = (
            np.array([one[name] for one in rows], np.float64) for name in ("total", "seconds", "metres")
        )
        self.ends = np.array([one["outcome"] for one in rows], np.str_)
        self.action_counts: NDArray[np.int64] = np.sum([one["actions"] for one in rows], axis=0, dtype=np.int64)
        ends, self.players, self.mu = (dict(Counter(one[name] for one in rows)) for name in ("outcome", "player", "mu"))
        self.outcomes = {outcome: ends[outcome] for outcome in OUTCOMES if outcome in ends}
        self.replayable = sum(one["keys"] for one in rows)

    def rows(self) -> list[tuple[str, str]]:
        """The statistics in words, each with its name."""
        capabilities = self.info.environment.capabilities
        rows = [
            ("environment", str(self.info.environment)),
            ("observations", str(self.info.observation)),
            ("episodes", f"{self.episodes}"),
            ("outcomes", _counts(self.outcomes)),
            ("decisions", f"{self.steps.sum():,}; {_spread(self.steps, '.0f')} per episode"),
            ("return", _spread(self.returns, ".1f")),
        ]
        metres = self.metres[np.isfinite(self.metres)]
        if len(metres):
            rows.append(("metres", _spread(metres, ".1f")))
        if np.isfinite(self.seconds).all():
            in_all = f"{self.seconds.sum() / 60:.1f} min"
            rows.append(("game time", f"{in_all}; {_spread(self.seconds, '.1f')} s per episode"))
        rows.append(("actions", self._actions(self.info.names)))
        rows.append(("players", _counts(self.players)))
        rows.append(("probabilities", _counts(self.mu)))
        if capabilities.keys:
            rows.append(("keys for exact replay", f"{self.replayable} of {self.episodes}"))
        return rows

    def table(self, title: str = "") -> Table:
        """Summary as a table to print with rich."""
        table = Table(title=title or None, title_justify="left", show_header=False)
        table.add_column("what", style="bold", no_wrap=True)
        table.add_column("found")
        for name, text in self.rows():
            table.add_row(name, text)
        return table

    def _actions(self, names: tuple[str, ...] | None) -> str:
        names = names or tuple(str(action) for action in range(len(self.action_counts)))
        share = self.action_counts / self.action_counts.sum()
        common = np.argsort(-share, kind="stable")
        return ", ".join(f"{names[action]} {share[action]:.1%}" for action in common if share[action] > 0)


def stats_of(table: pa.Table, info: DatasetInfo) -> dict[str, Any]:
    """Figures of one episode for a summary, from its `STATS_COLUMNS`; BadInput for impossible ones.

    steps. total: its return. seconds: on the game's clock, NaN without one. metres: NaN if unknown. actions: int64 [A],
    how often each was taken. outcome, player. mu: the origin of its behaviour probabilities. keys: true if it can be
    played again.
    """
    facts, actions = facts_in(table), table.column("action").to_numpy()
    if actions.min() < 0 or actions.max() >= info.actions:
        raise BadInput(f"column action holds a number outside 0 … {info.actions - 1}")
    if facts["outcome"] not in OUTCOMES:
        raise BadInput(f"outcome {quoted(facts['outcome'])}, expected one of {', '.join(OUTCOMES)}")
    first, last = table.column("timestamp")[0].as_py(), table.column("final_timestamp")[-1].as_py()
    return {
        "steps": len(table),
        "total": float(table.column("reward").to_numpy().sum(dtype=np.float64)),
        "seconds": np.nan if first is None or last is None else last - first,
        "metres": np.nan if facts["metres"] is None else facts["metres"],
        "actions": np.bincount(actions, minlength=info.actions),
        "outcome": facts["outcome"],
        "player": facts["player"],
        "mu": mu_in_words(facts["mu_kind"], facts["mu_epsilon"]),
        "keys": has(table, "keys"),
    }


def _spread(values: NDArray[np.int64] | NDArray[np.float64], number: str) -> str:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"median {middle:{number}} ({low:{number}} … {high:{number}})"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())

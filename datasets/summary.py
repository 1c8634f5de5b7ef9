"""Statistics of a dataset, computed from its episodes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.table import Table

from ..common.checks import quoted
from ..common.errors import BadInput
from .control import PERSON, Branch, takeovers
from .schema import OUTCOMES, DatasetInfo


def fact_columns(info: DatasetInfo) -> tuple[str, ...]:
    """Columns that a summary reads."""
    return ("action", "reward", "keys", "time", *(("actor",) if info.shares_control else ()))


@dataclass(frozen=True)
class Facts:
    """Facts of one episode for a summary; total is its return."""

    steps: int
    total: float
    seconds: float
    metres: float | None
    action_counts: NDArray[np.int64]
    outcome: str
    player: str
    probabilities_from: str
    replayable: bool
    shared: "Shared | None" = None


@dataclass(frozen=True)
class Shared:
    """An episode of shared control: decisions of the policy and of the person that no other episode has, the number of
    times that the person took over in them, and true for a branch."""

    policy: int
    person: int
    takeovers: int
    branch: bool

    @classmethod
    def of(cls, actors: NDArray[np.int8], branch: Branch | None) -> "Shared":
        """Count them. actors: int8 [T]."""
        first = 0 if branch is None else branch.step
        person = int(np.count_nonzero(actors[first:] == PERSON))
        return cls(
            len(actors) - first - person, person, int((takeovers(actors) >= first).sum()), branch=branch is not None
        )


@dataclass(frozen=True)
class Summary:
    """Statistics of a dataset of E episodes.

    steps: int64 [E], decisions. returns: float64 [E], undiscounted. seconds: float64 [E], on the game's clock.
    metres: float64 [E], NaN if unknown. finished: bool [E]. action_counts: int64 [A].
    outcomes, players, probabilities_from: number of episodes of each kind. replayable: number of episodes with keys.
    shared: those of shared control.
    """

    info: DatasetInfo
    steps: NDArray[np.int64]
    returns: NDArray[np.float64]
    seconds: NDArray[np.float64]
    metres: NDArray[np.float64]
    finished: NDArray[np.bool_]
    action_counts: NDArray[np.int64]
    outcomes: dict[str, int]
    players: dict[str, int]
    probabilities_from: dict[str, int]
    replayable: int
    shared: tuple[Shared, ...] = ()

    @property
    def episodes(self) -> int:
        return len(self.steps)

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
        known = self.metres[np.isfinite(self.metres)]
        if len(known):
            rows.append(("metres", _spread(known, ".1f")))
        if capabilities.decisions_per_second:
            in_all = f"{self.seconds.sum() / 60:.1f} min"
            rows.append(("game time", f"{in_all}; {_spread(self.seconds, '.1f')} s per episode"))
        rows.append(("actions", self._actions(self.info.names)))
        rows.append(("players", _counts(self.players)))
        if self.shared:
            rows.append(("who acted", self._actors()))
        rows.append(("probabilities", _counts(self.probabilities_from)))
        if capabilities.keys:
            rows.append(("keys for exact replay", f"{self.replayable} of {self.episodes}"))
        return rows

    def table(self, title: str = "") -> Table:
        """Summary as a table to print with rich."""
        table = Table(title=title or None, title_justify="left", show_header=False)
        table.add_column("what", style="bold", no_wrap=True)
        table.add_column("found")
        for name, found in self.rows():
            table.add_row(name, found)
        return table

    def _actors(self) -> str:
        person = sum(one.person for one in self.shared)
        decisions = max(person + sum(one.policy for one in self.shared), 1)
        said = f"a person in {person:,} of {decisions:,} decisions ({person / decisions:.0%})"
        branches = sum(one.branch for one in self.shared)
        return f"{said}; takeovers {sum(one.takeovers for one in self.shared):,}, branches {branches}"

    def _actions(self, names: tuple[str, ...] | None) -> str:
        names = names or tuple(str(action) for action in range(len(self.action_counts)))
        share = self.action_counts / self.action_counts.sum()
        common = np.argsort(-share, kind="stable")
        return ", ".join(f"{names[action]} {share[action]:.1%}" for action in common if share[action] > 0)


def facts_in(table: pa.Table, info: DatasetInfo, metadata: Mapping[str, Any]) -> Facts:
    """Facts of one episode from its file's table, of which it reads `fact_columns`, and metadata; BadInput for
    impossible ones."""
    actions = table.column("action").drop_null().to_numpy()
    if len(actions) and (actions.min() < 0 or actions.max() >= info.actions):
        raise BadInput(f"column action holds a number outside 0 … {info.actions - 1}")
    times = table.column("time").drop_null().to_numpy()
    if len(times) < 2 or not len(actions):
        raise BadInput("it has no decision")
    outcome, metres = metadata["outcome"], metadata["metres"]
    if outcome not in OUTCOMES:
        raise BadInput(f"outcome {quoted(outcome)}, expected one of {', '.join(OUTCOMES)}")
    return Facts(
        steps=len(actions),
        total=float(table.column("reward").drop_null().to_numpy().sum(dtype=np.float64)),
        seconds=float(times[-1] - times[0]),
        metres=float(metres) if isinstance(metres, int | float) else None,
        action_counts=np.bincount(actions, minlength=info.actions),
        outcome=outcome,
        player=str(metadata["player"]),
        probabilities_from=str(metadata["probabilities_from"]),
        replayable=table.column("keys").null_count < len(table),
        shared=_shared(table, info, metadata),
    )


def _shared(table: pa.Table, info: DatasetInfo, metadata: Mapping[str, Any]) -> Shared | None:
    if not info.shares_control or table.column("actor").null_count == len(table):
        return None
    return Shared.of(table.column("actor").drop_null().to_numpy(), Branch.from_json(metadata.get("branch")))


def summarise(episodes: Iterable[Facts], info: DatasetInfo) -> Summary:
    """Combine the facts of at least one episode; iterates over them once."""
    found = list(episodes)
    outcomes = Counter(one.outcome for one in found)
    return Summary(
        info=info,
        steps=np.array([one.steps for one in found], dtype=np.int64),
        returns=np.array([one.total for one in found], dtype=np.float64),
        seconds=np.array([one.seconds for one in found], dtype=np.float64),
        metres=np.array([np.nan if one.metres is None else one.metres for one in found], dtype=np.float64),
        finished=np.array([one.outcome == "finished" for one in found], dtype=np.bool_),
        action_counts=np.sum([one.action_counts for one in found], axis=0, dtype=np.int64),
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES if outcome in outcomes},
        players=dict(Counter(one.player for one in found)),
        probabilities_from=dict(Counter(one.probabilities_from for one in found)),
        replayable=sum(one.replayable for one in found),
        shared=tuple(one.shared for one in found if one.shared is not None),
    )


def _spread(values: NDArray[np.int64] | NDArray[np.float64], number: str) -> str:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"median {middle:{number}} ({low:{number}} … {high:{number}})"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())

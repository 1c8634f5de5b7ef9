"""Inherited values that changed, and the agents that carry these changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

INHERITED = ("rewards", "genes")


@dataclass(frozen=True)
class Change:
    """A value that changed when agent `child` copied agent `parent`.

    kind, name: the value, in an agent's entry of the history. carriers: the agents that descend from this copy now.
    """

    round: int
    child: int
    parent: int
    kind: str
    name: str
    before: float
    after: float
    carriers: int


def carried_changes(rows: Sequence[Mapping[str, Any]]) -> list[Change]:
    """Return the changes that an agent of the last row carries, from the rows of a history: the most common first, and
    of equally common ones the earlier first."""
    if not rows:
        return []
    agents = list(rows[0]["agents"])
    ancestry: list[tuple[int, ...]] = [()] * len(agents)
    copies: list[tuple[int, int, int, Mapping[str, Any], Mapping[str, Any]]] = []
    for row in rows:
        now = row["agents"]
        # Within a round, agents copy one after the other: a parent may itself have become a copy.
        for child, parent in row["copies"]:
            ancestry[child] = (*ancestry[parent], len(copies))
            copies.append((row["round"], child, parent, agents[parent], now[child]))
            agents[child] = now[child]
        agents = list(now)
    found = []
    for number, (round_, child, parent, before, after) in enumerate(copies):
        carriers = sum(number in copied for copied in ancestry)
        for kind in INHERITED:
            for name, value in after[kind].items():
                if carriers and value != before[kind][name]:
                    found.append(Change(round_, child, parent, kind, name, before[kind][name], value, carriers))
    return sorted(found, key=lambda change: (-change.carriers, change.round))

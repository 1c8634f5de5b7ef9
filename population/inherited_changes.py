"""Changes of inherited values, and the agents that carry them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

INHERITED = ("rewards", "genes")


@dataclass(frozen=True)
class Change:
    """A value that changed when agent `child` copied agent `parent`.

    kind, name: locate the value in an agent's history entry. carriers: the agents now descended from this copy.
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
    """Return the changes carried by agents of the last row of a history: the most common first, and of equally common
    ones the earlier first."""
    agents = list(rows[0]["agents"])
    ancestry: list[tuple[int, ...]] = [()] * len(agents)
    copies: list[tuple[int, int, int, Mapping[str, Any], Mapping[str, Any]]] = []
    for row in rows:
        now = row["agents"]
        # Within a round, agents copy in turn, so a parent may itself just have become a copy.
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

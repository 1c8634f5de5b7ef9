"""Exploit and explore: agents copy better ones, and change a little of what they inherit (Jaderberg et al. 2019)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .ratings import win_probability

BETTER = 0.7
"""Probability of losing against another agent above which it is copied."""

CHANCE, CHANGE = 0.05, 0.2
"""Probability that an inherited value changes, and the relative size of the change."""


@dataclass(frozen=True)
class Range:
    """Initial values of a gene: uniform, log-uniform, or whole numbers up to and including `high`."""

    low: float
    high: float
    logarithmic: bool = False
    whole: bool = False

    def draw(self, generator: np.random.Generator) -> float:
        if self.low == self.high:
            return float(self.low)
        if self.whole:
            return float(generator.integers(int(self.low), int(self.high), endpoint=True))
        if self.logarithmic:
            return math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
        return float(generator.uniform(self.low, self.high))


REWARD = Range(-1.0, 1.0)
"""Initial weights w of the events in an agent's own reward."""


@dataclass(frozen=True)
class Member:
    """An agent of a population. id: fixed for its place in the population. genes: hyper-parameters by name. rewards:
    weights w by event. decisions: that it has learned from since its last copy. parent: id of the agent last copied.
    generation: number of copies in its ancestry. founder: id of the initial agent that its weights descend from.
    """

    id: int
    rating: float
    genes: Mapping[str, float]
    rewards: Mapping[str, float] = field(default_factory=dict)
    decisions: int = 0
    parent: int | None = None
    generation: int = 0
    founder: int = 0


def should_copy(member: Member, other: Member, burn_in: int, *, better: float = BETTER) -> bool:
    """True if the member copies the other: it has learned from `burn_in` decisions, and the other is better.

    Better means that it beats the member with a probability above `better`.
    """
    if member.decisions < burn_in or member.id == other.id:
        return False
    return 1.0 - float(win_probability(member.rating - other.rating)) > better


def exploit(member: Member, parent: Member) -> Member:
    """Return the member with its parent's genes, rewards and rating. The caller copies the weights."""
    return replace(
        member,
        rating=parent.rating,
        genes=dict(parent.genes),
        rewards=dict(parent.rewards),
        decisions=0,
        parent=parent.id,
        generation=parent.generation + 1,
        founder=parent.founder,
    )


def explore(
    member: Member,
    generator: np.random.Generator,
    genes: Mapping[str, Range],
    *,
    chance: float = CHANCE,
    change: float = CHANGE,
    redraw: float = 0.0,
    rewards: bool = True,
) -> Member:
    """Return the member with each gene and, if `rewards`, each reward times 1 ± `change` with probability `chance`.

    Whole numbers are redrawn instead. Such a change never flips the sign of a reward, so each reward is
    also redrawn with probability `redraw`.
    """

    def changed(value: float, gene: Range) -> float:
        if generator.random() >= chance:
            return value
        if gene.whole or gene.low == gene.high:
            return gene.draw(generator)
        return value * (1 + change * float(generator.choice([-1.0, 1.0])))

    def rewarded(value: float) -> float:
        value = changed(value, REWARD)
        return REWARD.draw(generator) if redraw and generator.random() < redraw else value

    return replace(
        member,
        genes={name: changed(value, genes[name]) for name, value in member.genes.items()},
        rewards={name: rewarded(value) for name, value in member.rewards.items()} if rewards else member.rewards,
    )

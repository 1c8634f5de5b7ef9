"""Exploit and explore: agents copy better ones, and change a little of what they inherit (Jaderberg et al. 2019)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .ratings import win_probability

BETTER = 0.7
"""Probability of losing against another agent above which it is copied."""

BURN_IN = 1000
"""Games that an agent plays after a copy before it copies again."""

CHANCE, CHANGE = 0.05, 0.2
"""Probability that an inherited value changes, and the share by which it does."""


@dataclass(frozen=True)
class Range:
    """The initial values of a gene: uniform, or uniform in their logarithm, or whole numbers up to `high` itself."""

    low: float
    high: float
    logarithmic: bool = False
    whole: bool = False

    def draw(self, generator: np.random.Generator) -> float:
        if self.whole:
            return float(generator.integers(int(self.low), int(self.high), endpoint=True))
        if self.logarithmic:
            return math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
        return float(generator.uniform(self.low, self.high))


GENES: Mapping[str, Range] = {
    "learning_rate": Range(1e-5, 5e-3, logarithmic=True),
    "entropy": Range(5e-4, 1e-2, logarithmic=True),
    "reward_prediction": Range(0.1, 1.0, logarithmic=True),
    "feature_control": Range(0.01, 0.1, logarithmic=True),
    "posterior_kl": Range(1e-3, 1.0, logarithmic=True),
    "prior_kl": Range(1e-4, 0.1, logarithmic=True),
    "slow_gradient": Range(0.1, 1.0, logarithmic=True),
    "period": Range(5, 20, whole=True),
}
"""Hyper-parameters of a two-timescale agent and their initial ranges."""

REWARD = Range(-1.0, 1.0)
"""Initial weights w of the events in an agent's own reward."""


@dataclass(frozen=True)
class Member:
    """An agent of a population.

    id: stays with its place. genes: hyper-parameters by name. rewards: weights w by event. games: played since the last
    copy. parent: the id that it copied last; generation: copies between it and the beginning.
    """

    id: int
    rating: float
    genes: Mapping[str, float]
    rewards: Mapping[str, float]
    games: int = 0
    parent: int | None = None
    generation: int = 0


def should_copy(member: Member, other: Member, *, literal: bool = False) -> bool:
    """True if the member copies the other: it has played `BURN_IN` games, and the other is better.

    Better means that it beats the member with a probability above `BETTER`. literal: the rule as some articles tell it,
    that the member wins with a probability below `BETTER`, which holds between equals, too.
    """
    if member.games < BURN_IN or member.id == other.id:
        return False
    wins = float(win_probability(member.rating - other.rating))
    return wins < BETTER if literal else 1.0 - wins > BETTER


def exploit(member: Member, parent: Member) -> Member:
    """The member with everything that it inherits: genes, rewards and rating. Weights are for the caller to copy."""
    return replace(
        member,
        rating=parent.rating,
        genes=dict(parent.genes),
        rewards=dict(parent.rewards),
        games=0,
        parent=parent.id,
        generation=parent.generation + 1,
    )


def explore(member: Member, generator: np.random.Generator, genes: Mapping[str, Range] = GENES) -> Member:
    """The member with each gene and reward changed with probability `CHANCE`: times 1 ± `CHANGE`.

    Whole numbers are drawn anew from their range. No change turns the sign of a reward: only the first draw decides it.
    """

    def changed(value: float, range: Range) -> float:
        if generator.random() >= CHANCE:
            return value
        return range.draw(generator) if range.whole else value * (1 + CHANGE * generator.choice([-1.0, 1.0]))

    return replace(
        member,
        genes={name: changed(value, genes[name]) for name, value in member.genes.items()},
        rewards={name: changed(value, REWARD) for name, value in member.rewards.items()},
    )

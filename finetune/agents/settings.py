"""Settings that several algorithms share."""

from typing import Annotated, Literal

from pydantic import Field

from ...common.settings import Count, NotNegative, Positive, Settings, Several, Share, Width


class LiveSettings(Settings):
    """Settings of live play."""

    num_envs: Width = 32
    """Episodes played side by side."""
    steps: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Decisions of each episode in an iteration."""
    log_every: Count = 20_000
    """Decisions between rows of the log; fewer in short runs."""
    checkpoint_every: Count = 200_000
    """Decisions between checkpoints."""
    overlap: bool = True
    """Play the next iteration while learning from this one. Its behaviour probabilities are recorded, so the delay adds
    no bias."""

    @property
    def decisions(self) -> int:
        """Decisions per iteration."""
        return self.num_envs * self.steps


class Discounted(Settings):
    """Settings with a discount."""

    gamma: Share = 0.99
    """Discount at gamma_rate decisions a second; at another rate the horizon in seconds stays the same."""
    gamma_rate: Positive = 9.0
    """Decisions a second at which gamma applies."""

    def gamma_at(self, decisions_per_second: float | None) -> float:
        """γ^(gamma_rate/rate): the discount with the same horizon in seconds at this rate; γ itself at an unknown one.

        0.99 at 9 decisions a second is 0.9964 at 25.
        """
        if decisions_per_second is None:
            return self.gamma
        return float(self.gamma ** (self.gamma_rate / decisions_per_second))


class QSettings(Discounted):
    """Settings of an algorithm that learns Q from transitions and acts ε-greedily."""

    n_steps: Annotated[int, Field(ge=1, le=1000)] = 1
    """Decisions of a transition (DQN and RLPD: 1, Rainbow: 3)."""
    adam_epsilon: Positive = 1e-8
    """Adam's ε, which keeps its divisor from 0."""
    reward_scale: Positive = 1.0
    """Factor of every reward, so that Q (about 35 for a runner) stays in a range that a network learns quickly
    (published: 1)."""
    margin: NotNegative = 0.8
    """Margin m of DQfD's loss on demonstrations, in units of scaled reward; its weight is the phase's imitation."""
    hidden: Several[Width] = (512,)
    """Widths of a new network's layers, for images those after the convolutions."""
    epsilon_start: Share = 1.0
    """Fraction of random actions at the start."""
    epsilon_end: Share = 0.1
    """Fraction of random actions in the end."""
    epsilon_share: Positive = 0.02
    """Fraction of the schedule over which the fraction of random actions falls linearly."""


Precision = Annotated[
    Literal["float32", "bfloat16"],
    Field(
        description="Precision of the hidden layers while learning; heads, losses and weights are always float32. "
        "bfloat16 is about twice as fast on hardware that supports it, and slower elsewhere."
    ),
]

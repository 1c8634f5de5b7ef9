"""Settings that several algorithms share."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.settings import Settings, setting
from ...common.shared_settings import num_envs

if TYPE_CHECKING:
    from ..experience.sequences import Sequences


@dataclass(frozen=True)
class LiveSettings(Settings):
    """Settings of live play."""

    num_envs: int = num_envs(32, "Episodes played side by side.")
    steps: int = setting(20, "Decisions of each episode in an iteration.", at_least=1, at_most=100_000)
    log_every: int = setting(20_000, "Decisions between rows of the log; fewer in short runs.", at_least=1)
    checkpoint_every: int = setting(200_000, "Decisions between checkpoints.", at_least=1)
    overlap: bool = setting(
        True,
        "Play the next iteration while learning from this one. Its behaviour probabilities are recorded, so the delay "
        "adds no bias.",
    )

    @property
    def decisions(self) -> int:
        """Decisions per iteration."""
        return self.num_envs * self.steps

    @property
    def before_learning(self) -> int:
        """Decisions of the schedule before the first update, to fill the memory."""
        return 0


@dataclass(frozen=True)
class Discounted(Settings):
    """Settings with a discount."""

    gamma: float = setting(
        0.99,
        "Discount at gamma_rate decisions a second; at another rate the horizon in seconds stays the same.",
        at_least=0,
        at_most=1,
    )
    gamma_rate: float = setting(9.0, "Decisions a second at which gamma applies.", above=0)

    def gamma_at(self, decisions_per_second: float | None) -> float:
        """γ^(gamma_rate/rate): the discount with the same horizon in seconds at this rate; γ itself at an unknown one.

        0.99 at 9 decisions a second is 0.9964 at 25.
        """
        if decisions_per_second is None:
            return self.gamma
        return float(self.gamma ** (self.gamma_rate / decisions_per_second))


@dataclass(frozen=True)
class ClipsRewards(Settings):
    """Settings of an algorithm that may clip rewards before it learns from them, as for Atari (Mnih et al. 2015).

    The log and evaluations always have the environment's own.
    """

    clip_rewards: bool = setting(
        False, "Clip the reward of each decision to between -1 and 1 before learning (published, for Atari: true)."
    )

    def with_clipped_rewards(self, played: "Sequences") -> "Sequences":
        """Return the sequences, with clipped rewards if `clip_rewards` is set."""
        return replace(played, rewards=np.clip(played.rewards, -1.0, 1.0)) if self.clip_rewards else played


@dataclass(frozen=True)
class QSettings(Discounted):
    """Settings of an algorithm that learns Q from transitions and acts ε-greedily."""

    n_steps: int = setting(1, "Decisions of a transition (DQN and RLPD: 1, Rainbow: 3).", at_least=1, at_most=1000)
    adam_epsilon: float = setting(1e-8, "Adam's ε, which keeps its divisor from 0.", above=0)
    reward_scale: float = setting(
        1.0,
        "Factor of every reward, so that Q (about 35 for a runner) stays in a range that a network learns quickly "
        "(published: 1).",
        above=0,
    )
    margin: float = setting(
        0.8,
        "Margin m of DQfD's loss on demonstrations, in units of scaled reward; its weight is the phase's imitation.",
        at_least=0,
    )
    hidden: tuple[int, ...] = setting(
        (512,), "Widths of a new network's layers, for images those after the convolutions.", at_least=1, at_most=65_536
    )
    epsilon_start: float = setting(1.0, "Fraction of random actions at the start.", at_least=0, at_most=1)
    epsilon_end: float = setting(0.1, "Fraction of random actions in the end.", at_least=0, at_most=1)
    epsilon_share: float = setting(
        0.02, "Fraction of the schedule over which the fraction of random actions falls linearly.", above=0
    )


def precision() -> Any:
    """Declare the precision of the hidden layers while learning; heads, losses and weights are always float32."""
    return setting(
        "float32",
        "Precision of the hidden layers while learning. bfloat16 is about twice as fast on hardware that supports it, "
        "and slower elsewhere.",
        choices=("float32", "bfloat16"),
    )

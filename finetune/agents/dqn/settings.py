"""Settings of prioritised double DQN and of its loop."""

from dataclasses import dataclass

from ....common.errors import BadInput
from ...settings import LiveSettings
from ..discounting import Discounted


@dataclass(frozen=True)
class DdqnSettings(Discounted):
    """Settings of prioritised double DQN. Defaults are those of the published runner unless noted.

    gamma: discount at gamma_rate decisions a second.
    n_steps: of a transition (3, as in Rainbow; published: 1).
    learning_rate, adam_epsilon: of Adam. max_gradient_norm: of each parameter by itself.
    reward_scale: multiplies every reward, so that Q (about 35 for a runner at 0.1) stays in a range that a network
        learns quickly (published: 1).
    margin: m of DQfD's loss on demonstrations, in units of scaled reward; its weight is the phase's `imitation`.
    quantiles: 0 learns expected values; N learns N quantiles of the return (Dabney et al. 2018).
    hidden: widths of a new network.
    epsilon_start, epsilon_end: share of random actions, linear over the first epsilon_share of the schedule.
    alpha, priority_epsilon, demonstration_bonus: of the priorities, see `PrioritySettings`.
    beta_start: exponent of the importance weights, linear to 1 at the end of the schedule.
    """

    n_steps: int = 3
    learning_rate: float = 1e-4
    adam_epsilon: float = 1e-8
    max_gradient_norm: float = 10.0
    reward_scale: float = 0.1
    margin: float = 0.8
    quantiles: int = 0
    hidden: tuple[int, ...] = (256, 128)
    epsilon_start: float = 0.01
    epsilon_end: float = 0.001
    epsilon_share: float = 0.1
    alpha: float = 0.6
    priority_epsilon: float = 1e-6
    demonstration_bonus: float = 0.0
    beta_start: float = 0.4

    def __post_init__(self) -> None:
        for name, least in (("n_steps", 1), ("quantiles", 0), ("margin", 0), ("demonstration_bonus", 0), ("alpha", 0)):
            if getattr(self, name) < least:
                raise BadInput(f"algorithm.{name}={getattr(self, name)}: expected at least {least}")
        for name in ("gamma_rate", "learning_rate", "max_gradient_norm", "epsilon_share", "priority_epsilon"):
            if not getattr(self, name) > 0:
                raise BadInput(f"algorithm.{name}={getattr(self, name)}: expected more than 0")
        for name in ("gamma", "epsilon_start", "epsilon_end", "beta_start"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadInput(f"algorithm.{name}={getattr(self, name)}: expected a number from 0 to 1")


@dataclass(frozen=True)
class DdqnLoopSettings(LiveSettings):
    """Settings of the DQN loop, besides those of `LiveSettings`.

    capacity: transitions in memory. start: transitions that memory must hold before it is sampled.
    batch_size: transitions of an update. train_every: decisions for each update. target_every: decisions between copies
        of the network into its target.
    """

    capacity: int = 300_000
    start: int = 3_000
    batch_size: int = 64
    train_every: float = 4.0
    target_every: int = 500

    def __post_init__(self) -> None:
        for name in ("num_envs", "steps", "capacity", "start", "batch_size", "train_every", "target_every"):
            if not getattr(self, name) > 0:
                raise BadInput(f"loop.{name}={getattr(self, name)}: expected more than 0")

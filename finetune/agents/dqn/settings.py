"""Settings of prioritised double DQN and of its loop."""

from dataclasses import dataclass

from ....common.settings import setting
from ...settings import LiveSettings
from ..discounting import Discounted


@dataclass(frozen=True)
class DdqnSettings(Discounted):
    """Prioritised double DQN: dueling, layer norm, n steps. Defaults are the published runner's unless noted."""

    n_steps: int = setting(3, "Decisions of a transition (3, as in Rainbow; published: 1).", at_least=1, at_most=1000)
    learning_rate: float = setting(1e-4, "Adam's learning rate, times the phase's factor.", above=0)
    adam_epsilon: float = setting(1e-8, "Adam's ε, which keeps its divisor from 0.", above=0)
    max_gradient_norm: float = setting(
        10.0, "Gradients of a parameter longer than this are scaled down, each parameter by itself.", above=0
    )
    reward_scale: float = setting(
        0.1,
        "Factor of every reward, so that Q (about 35 for a runner) stays in a range that a network learns quickly "
        "(published: 1).",
        above=0,
    )
    margin: float = setting(
        0.8,
        "Margin m of DQfD's loss on demonstrations, in units of scaled reward; its weight is the phase's imitation.",
        at_least=0,
    )
    quantiles: int = setting(
        0,
        "Quantiles of the return to learn (Dabney et al. 2018). 0: expected values.",
        at_least=0,
        at_most=1000,
    )
    hidden: tuple[int, ...] = setting((256, 128), "Widths of a new network's layers.", at_least=1, at_most=65_536)
    epsilon_start: float = setting(0.01, "Fraction of random actions at the start.", at_least=0, at_most=1)
    epsilon_end: float = setting(0.001, "Fraction of random actions in the end.", at_least=0, at_most=1)
    epsilon_share: float = setting(
        0.1, "Fraction of the schedule over which the fraction of random actions falls linearly.", above=0
    )
    alpha: float = setting(0.6, "Exponent of the priorities, (|error| + priority_epsilon)^alpha.", at_least=0)
    priority_epsilon: float = setting(1e-6, "Added to the |error| of every priority.", above=0)
    demonstration_bonus: float = setting(
        0.0, "Added to the |error| of demonstrations (DQfD: 1, with the rewards used there).", at_least=0
    )
    beta_start: float = setting(
        0.4, "Exponent of the importance weights at the start; it rises linearly to 1.", at_least=0, at_most=1
    )


@dataclass(frozen=True)
class DdqnLoopSettings(LiveSettings):
    """Settings of the DQN loop."""

    capacity: int = setting(300_000, "Transitions in memory.", at_least=1, at_most=1_000_000_000)
    start: int = setting(3_000, "Transitions that memory must hold before it is sampled.", at_least=1)
    batch_size: int = setting(64, "Transitions of an update.", at_least=1)
    train_every: float = setting(4.0, "Decisions per update.", above=0)
    target_every: int = setting(500, "Decisions between copies of the network into its target.", at_least=1)

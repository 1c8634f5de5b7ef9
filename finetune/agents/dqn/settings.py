"""Settings of deep Q-learning and of its loop, with the defaults of plain DQN and of prioritised double DQN."""

from dataclasses import dataclass

from ....common.settings import setting
from ....policies.sizes import convolutions
from ..settings import ClipsRewards, LiveSettings, QSettings

ADAM, RMSPROP = "adam", "rmsprop"


@dataclass(frozen=True)
class DqnSettings(ClipsRewards, QSettings):
    """Deep Q-learning (Mnih et al. 2015) and its extensions. Defaults are the published ones unless noted."""

    double: bool = setting(
        False, "Let the learned network choose the action that the target network values (van Hasselt et al. 2016)."
    )
    dueling: bool = setting(False, "Give a new network separate layers for V(s) and the advantages (Wang et al. 2016).")
    prioritised: bool = setting(
        False, "Sample transitions in proportion to their error (Schaul et al. 2016) instead of uniformly."
    )
    layer_norm: bool = setting(False, "Give a new network layer normalisation after each hidden linear layer.")
    quantiles: int = setting(
        0,
        "Quantiles of the return to learn (Dabney et al. 2018). 0 or 1: expected values.",
        at_least=0,
        at_most=1000,
    )
    optimiser: str = setting(RMSPROP, "Optimiser: rmsprop, centred, as published, or adam.", choices=(RMSPROP, ADAM))
    learning_rate: float = setting(2.5e-4, "The optimiser's learning rate, times the phase's factor.", above=0)
    max_gradient_norm: float = setting(
        10.0, "Gradients of a parameter longer than this are scaled down, each parameter by itself.", above=0
    )
    convolutions: str = convolutions()
    alpha: float = setting(
        0.6, "Exponent of the priorities, (|error| + priority_epsilon)^alpha, if prioritised.", at_least=0
    )
    priority_epsilon: float = setting(1e-6, "Added to the |error| of every priority.", above=0)
    demonstration_bonus: float = setting(
        0.0, "Added to the |error| of demonstrations (DQfD: 1, with the rewards used there).", at_least=0
    )
    beta_start: float = setting(
        0.4,
        "Exponent of the importance weights at the start, if prioritised; it rises linearly to 1.",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True)
class DdqnSettings(DqnSettings):
    """Prioritised double DQN: dueling, layer norm, n steps. Defaults are the published runner's, except for n_steps
    and reward_scale (published: 1 and 1)."""

    double: bool = True
    dueling: bool = True
    prioritised: bool = True
    layer_norm: bool = True
    n_steps: int = 3
    optimiser: str = ADAM
    learning_rate: float = 1e-4
    reward_scale: float = 0.1
    hidden: tuple[int, ...] = (256, 128)
    epsilon_start: float = 0.01
    epsilon_end: float = 0.001
    epsilon_share: float = 0.1


@dataclass(frozen=True)
class DqnLoopSettings(LiveSettings):
    """Settings of the DQN loop. Defaults of memory and updates are those of Mnih et al. 2015."""

    num_envs: int = 8
    steps: int = 8
    capacity: int = setting(1_000_000, "Transitions in memory.", at_least=1, at_most=1_000_000_000)
    start: int = setting(50_000, "Transitions that memory must hold before it is sampled.", at_least=1)
    batch_size: int = setting(32, "Transitions of an update.", at_least=1)
    train_every: float = setting(4.0, "Decisions per update.", above=0)
    target_every: int = setting(
        40_000,
        "Decisions between copies of the network into its target: train_every times the updates between them.",
        at_least=1,
    )

    @property
    def before_learning(self) -> int:
        return self.start


@dataclass(frozen=True)
class DdqnLoopSettings(DqnLoopSettings):
    """The loop of prioritised double DQN; defaults are the published runner's."""

    num_envs: int = 32
    steps: int = 20
    capacity: int = 300_000
    start: int = 3_000
    batch_size: int = 64
    target_every: int = 500

"""Settings of deep Q-learning and of its loop, with the defaults of plain DQN and of prioritised double DQN."""

from typing import Annotated, Literal

from pydantic import Field

from ....common.settings import Count, NotNegative, Positive, Several, Share, Width
from ....policies.sizes import Convolutions
from ..settings import LiveSettings, QSettings


class DqnSettings(QSettings):
    """Deep Q-learning (Mnih et al. 2015) and its extensions. Defaults are the published ones unless noted. With
    n_steps, the n-step term stands in place of DQfD's sum of both; prioritised samples are drawn without strata."""

    name: Literal["dqn"] = "dqn"

    clip_rewards: bool = False
    """Clip the reward of each decision to between -1 and 1 before learning (published, for Atari: true). The log and
    evaluations have the environment's own."""
    double: bool = False
    """Let the learned network choose the action that the target network values (van Hasselt et al. 2016)."""
    dueling: bool = False
    """Give a new network separate layers for V(s) and the advantages (Wang et al. 2016)."""
    prioritised: bool = False
    """Sample transitions in proportion to their error (Schaul et al. 2016) instead of uniformly."""
    layer_norm: bool = False
    """Give a new network layer normalisation after each hidden linear layer."""
    optimiser: Literal["rmsprop", "adam"] = "rmsprop"
    """Optimiser: rmsprop, centred, as published, or adam."""
    learning_rate: Positive = 2.5e-4
    """The optimiser's learning rate, times the phase's factor."""
    max_gradient_norm: Positive = 10.0
    """Gradients of a parameter longer than this are scaled down, each parameter by itself."""
    convolutions: Convolutions = "nature"
    alpha: NotNegative = 0.6
    """Exponent of the priorities, (|error| + 1e-6)^alpha, if prioritised."""
    beta_start: Share = 0.4
    """Exponent of the importance weights at the start, if prioritised; it rises linearly to 1."""


class DdqnSettings(DqnSettings):
    """Prioritised double DQN: dueling, layer norm, n steps. Defaults are the published runner's, except for n_steps
    and reward_scale (published: 1 and 1)."""

    name: Literal["ddqn"] = "ddqn"  # type: ignore[assignment]

    double: bool = True
    dueling: bool = True
    prioritised: bool = True
    layer_norm: bool = True
    n_steps: Annotated[int, Field(ge=1, le=1000)] = 3
    optimiser: Literal["rmsprop", "adam"] = "adam"
    learning_rate: Positive = 1e-4
    reward_scale: Positive = 0.1
    hidden: Several[Width] = (256, 128)
    epsilon_start: Share = 0.01
    epsilon_end: Share = 0.001
    epsilon_share: Positive = 0.1


class DqnLoopSettings(LiveSettings):
    """Settings of the DQN loop. Defaults of memory and updates are those of Mnih et al. 2015."""

    name: Literal["dqn"] = Field(default="dqn", exclude=True, repr=False)

    num_envs: Width = 8
    steps: Annotated[int, Field(ge=1, le=100_000)] = 8
    capacity: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1_000_000
    """Transitions in memory."""
    start: Count = 50_000
    """Transitions that memory must hold before it is sampled."""
    batch_size: Count = 32
    """Transitions of an update."""
    train_every: Positive = 4.0
    """Decisions per update."""
    target_every: Count = 40_000
    """Decisions between copies of the network into its target: train_every times the updates between them."""


class DdqnLoopSettings(DqnLoopSettings):
    """The loop of prioritised double DQN; defaults are the published runner's."""

    name: Literal["ddqn"] = Field(default="ddqn", exclude=True, repr=False)  # type: ignore[assignment]

    num_envs: Width = 32
    steps: Annotated[int, Field(ge=1, le=100_000)] = 20
    capacity: Annotated[int, Field(ge=1, le=1_000_000_000)] = 300_000
    start: Count = 3_000
    batch_size: Count = 64
    target_every: Count = 500

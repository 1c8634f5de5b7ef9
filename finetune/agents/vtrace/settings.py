"""Settings of V-trace and of its loop."""

from typing import Annotated, Literal

from pydantic import Field

from ....common.settings import Count, NotNegative, Positive, Several, Share, Width
from ....policies.sizes import HIDDEN, MEMORY
from ..settings import Discounted, LiveSettings


class VtraceSettings(Discounted):
    """The actor-critic of IMPALA (Espeholt et al. 2018) with a recurrent policy. The bounds of the importance weights
    and the weights of the losses are the paper's. The paper's RMSProp suits losses summed over a batch; here they are
    means, minimised by Adam as in PPO."""

    name: Literal["vtrace"] = "vtrace"

    gamma: Share = 0.985
    gamma_rate: Positive = 10.0
    rho_bar: Positive = 1.0
    """Importance weights of the errors are cut off at this."""
    c_bar: Positive = 1.0
    """Importance weights of the traces are cut off at this."""
    value_coefficient: NotNegative = 0.5
    """Weight of the critic's loss."""
    entropy_coefficient: NotNegative = 0.01
    """Weight of the entropy, times the phase's factor."""
    passes: Annotated[int, Field(ge=1, le=100)] = 1
    """Steps of learning on each batch; importance weights allow more than one."""
    learning_rate: Positive = 1e-3
    """Adam's learning rate, times the phase's factor."""
    epsilon: Positive = 1e-5
    """Adam's ε, which keeps its divisor from 0."""
    max_gradient_norm: Positive = 0.5
    """Gradients longer than this are scaled down."""
    hidden: Several[Width] = HIDDEN
    """Widths of a new policy's layers before its memory."""
    memory: Width = MEMORY
    """Units of a new policy's LSTM."""


class VtraceLoopSettings(LiveSettings):
    """Settings of V-trace's loop, with unrolls as long as the policy should remember."""

    name: Literal["vtrace", "ftw"] = Field(default="vtrace", exclude=True, repr=False)

    num_envs: Width = 64
    steps: Annotated[int, Field(ge=1, le=100_000)] = 50
    log_every: Count = 100_000
    checkpoint_every: Count = 1_000_000

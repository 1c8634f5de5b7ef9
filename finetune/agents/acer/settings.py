"""Settings of ACER and of its loop."""

from typing import Annotated, Literal

from pydantic import Field

from ....common.settings import Count, NotNegative, Positive, Several, Share, Whole, Width
from ....policies.sizes import HIDDEN
from ..settings import Discounted, LiveSettings, Precision


class AcerSettings(Discounted):
    """ACER (Wang et al. 2017), with demonstrations in replay. Defaults are stable-baselines', which the published
    system used, unless noted. The statistics that scale observations are no part of the average network's average: they
    stay fixed."""

    name: Literal["acer"] = "acer"

    delta: Positive = 1.0
    """Size δ of the trust region (published: 1, which rarely limits a step; 0.001 keeps a cloned runner running)."""
    alpha: Share = 0.99
    """Decay of the average network, per update."""
    entropy_coefficient: NotNegative = 1e-4
    """Weight of the entropy, times the phase's factor (stable-baselines: 0.01, where it has no effect)."""
    learning_rate: Positive = 2e-3
    """RMSProp's learning rate, times the phase's factor (published: 7e-4 or less for batches of 20 decisions; here
    640)."""
    decay: Annotated[float, Field(ge=0, lt=1)] = 0.99
    """RMSProp's decay."""
    epsilon: Positive = 1e-5
    """RMSProp's ε, which keeps its divisor from 0."""
    max_gradient_norm: Positive = 10.0
    """Gradients longer than this are scaled down."""
    reward_scale: Positive = 0.1
    """Factor of every reward, so that Q stays in a range that a network learns quickly (published: 1)."""
    achieved_returns: bool = False
    """Learn demonstrated decisions by what their player achieved: the discounted return of the rest of the game is the
    target of Q and, where V exceeds it by more than its spread, ends the imitation. Demonstrations then need no
    importance weights, and imitation alone follows them (published: importance weights and Retrace)."""
    hidden: Several[Width] = HIDDEN
    """Widths of a new network's hidden layers."""
    precision: Precision = "float32"


class AcerLoopSettings(LiveSettings):
    """Settings of ACER's loop."""

    name: Literal["acer"] = Field(default="acer", exclude=True, repr=False)

    replay_ratio: Annotated[float, Field(ge=0, le=1000)] = 4.0
    """Updates from memory for each update from live play, on average (Poisson)."""
    capacity: Annotated[int, Field(ge=1, le=100_000_000)] = 6400
    """Sequences in memory."""
    start: Count = 256
    """Sequences that memory must hold before it is sampled."""
    value_decisions: Whole = 20_000
    """Decisions played before the schedule begins, to fit Q to the initial policy; they do not count. 0: none; Q starts
    as in the policy's file."""

"""Settings of RLPD and of its loop."""

from typing import Annotated, Literal

from pydantic import Field

from ....common.errors import BadInput
from ....common.settings import Count, Positive, Several, Share, Width
from ..settings import LiveSettings, QSettings


class RlpdSettings(QSettings):
    """Reinforcement learning with prior data (RLPD, Ball et al. 2023): an ensemble of Q networks with layer norm, and
    demonstrations in every batch. Defaults are the paper's unless noted (layers: 256, 256; no margin loss); its policy
    network is not needed: with discrete actions the best one follows from the Q values. Live transitions and
    demonstrations are sampled uniformly, each from a memory of their own."""

    name: Literal["rlpd"] = "rlpd"

    n_steps: Annotated[int, Field(ge=1, le=1000)] = 3
    members: Annotated[int, Field(ge=1, le=1000)] = 5
    """Q networks in the ensemble of a new policy (paper: 10)."""
    subset: Count = 2
    """Members, drawn anew for each update, whose smallest value is the target (paper: 1 or 2)."""
    learning_rate: Positive = 3e-4
    """Adam's learning rate, times the phase's factor."""
    max_gradient_norm: Positive = 10.0
    """Gradients longer than this, over all members, are scaled down (paper: never)."""
    tau: Annotated[float, Field(gt=0, le=1)] = 0.005
    """Step of the target networks towards the learned ones, per update."""
    reward_scale: Positive = 0.1
    hidden: Several[Width] = (256, 128)
    epsilon_start: Share = 0.1
    epsilon_end: Share = 0.01
    epsilon_share: Positive = 0.2

    def check(self) -> None:
        super().check()
        if self.subset > self.members:
            raise BadInput(f"subset={self.subset}: more than members={self.members}")


class RlpdLoopSettings(LiveSettings):
    """Settings of RLPD's loop."""

    name: Literal["rlpd"] = Field(default="rlpd", exclude=True, repr=False)

    num_envs: Width = 8
    steps: Annotated[int, Field(ge=1, le=100_000)] = 8
    overlap: bool = False
    capacity: Annotated[int, Field(ge=1, le=1_000_000_000)] = 300_000
    """Live transitions in memory."""
    start: Count = 500
    """Live transitions that memory must hold before it is sampled."""
    batch_size: Annotated[int, Field(ge=2)] = 128
    """Transitions of an update, live and demonstrated (paper: 256)."""
    updates_per_decision: Annotated[float, Field(gt=0, le=1000)] = 1.0
    """Updates for each decision (paper: 20; each costs about a millisecond here)."""

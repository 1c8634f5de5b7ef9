"""Settings of RLPD and of its loop."""

from dataclasses import dataclass

from ....common.errors import BadInput
from ....common.settings import setting
from ..settings import LiveSettings, QSettings


@dataclass(frozen=True)
class RlpdSettings(QSettings):
    """Reinforcement learning with prior data (RLPD, Ball et al. 2023): an ensemble of Q networks with layer norm, and
    demonstrations in every batch. Defaults are the paper's unless noted (layers: 256, 256; no margin loss); its policy
    network is not needed: with discrete actions the best one follows from the Q values."""

    n_steps: int = 3
    members: int = setting(5, "Q networks in the ensemble of a new policy (paper: 10).", at_least=1, at_most=1000)
    subset: int = setting(
        2, "Members, drawn anew for each update, whose smallest value is the target (paper: 1 or 2).", at_least=1
    )
    learning_rate: float = setting(3e-4, "Adam's learning rate, times the phase's factor.", above=0)
    max_gradient_norm: float = setting(
        10.0, "Gradients longer than this, over all members, are scaled down (paper: never).", above=0
    )
    tau: float = setting(0.005, "Step of the target networks towards the learned ones, per update.", above=0, at_most=1)
    reward_scale: float = 0.1
    hidden: tuple[int, ...] = (256, 128)
    epsilon_start: float = 0.1
    epsilon_end: float = 0.01
    epsilon_share: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.subset > self.members:
            raise BadInput(f"subset={self.subset}: more than members={self.members}")


@dataclass(frozen=True)
class RlpdLoopSettings(LiveSettings):
    """Settings of RLPD's loop."""

    num_envs: int = 8
    steps: int = 8
    overlap: bool = False
    capacity: int = setting(300_000, "Live transitions in memory.", at_least=1, at_most=1_000_000_000)
    start: int = setting(500, "Live transitions that memory must hold before it is sampled.", at_least=1)
    batch_size: int = setting(128, "Transitions of an update, live and demonstrated (paper: 256).", at_least=2)
    updates_per_decision: float = setting(
        1.0, "Updates for each decision (paper: 20; each costs about a millisecond here).", above=0, at_most=1000
    )

    @property
    def before_learning(self) -> int:
        return self.start

"""Settings of V-trace and of its loop."""

from dataclasses import dataclass

from ....common.settings import setting
from ....policies.sizes import HIDDEN, MEMORY
from ..settings import Discounted, LiveSettings


@dataclass(frozen=True)
class VtraceSettings(Discounted):
    """The actor-critic of IMPALA (Espeholt et al. 2018) with a recurrent policy. The bounds of the importance weights
    and the weights of the losses are the paper's. The paper's RMSProp suits losses summed over a batch; here they are
    means, minimised by Adam as in PPO."""

    gamma: float = 0.985
    gamma_rate: float = 10.0
    rho_bar: float = setting(1.0, "Importance weights of the errors are cut off at this.", above=0)
    c_bar: float = setting(1.0, "Importance weights of the traces are cut off at this.", above=0)
    value_coefficient: float = setting(0.5, "Weight of the critic's loss.", at_least=0)
    entropy_coefficient: float = setting(0.01, "Weight of the entropy, times the phase's factor.", at_least=0)
    passes: int = setting(
        1, "Steps of learning on each batch; importance weights allow more than one.", at_least=1, at_most=100
    )
    learning_rate: float = setting(1e-3, "Adam's learning rate, times the phase's factor.", above=0)
    epsilon: float = setting(1e-5, "Adam's ε, which keeps its divisor from 0.", above=0)
    max_gradient_norm: float = setting(0.5, "Gradients longer than this are scaled down.", above=0)
    hidden: tuple[int, ...] = setting(
        HIDDEN, "Widths of a new policy's layers before its memory.", at_least=1, at_most=65_536
    )
    memory: int = setting(MEMORY, "Units of a new policy's LSTM.", at_least=1, at_most=65_536)


@dataclass(frozen=True)
class VtraceLoopSettings(LiveSettings):
    """Settings of V-trace's loop, with unrolls as long as the policy should remember."""

    num_envs: int = 64
    steps: int = 50
    log_every: int = 100_000
    checkpoint_every: int = 1_000_000

"""Settings of ACER and of its loop."""

from dataclasses import dataclass

from ....common.errors import BadInput
from ...settings import LiveSettings
from ..discounting import Discounted
from ..precision import require_precision

TRUST_REGIONS = ("probabilities", "logits")


@dataclass(frozen=True)
class AcerSettings(Discounted):
    """Settings of ACER. Defaults follow stable-baselines, which the published system used, unless noted.

    gamma: discount at gamma_rate decisions a second, the rate of the published recordings.
    truncation: c, where importance weights are truncated.
    delta: δ, the size of the trust region.
    trust_region: the space of the trust region. stable-baselines uses probabilities, in which a demonstrated action
        that the policy considers all but impossible has a gradient a thousand times too large; logits avoid that.
    alpha: decay of the average network.
    q_coefficient: weight of the critic's loss.
    entropy_coefficient: weight of the entropy (stable-baselines: 0.01, where it has no effect).
    learning_rate, decay, epsilon: of RMSProp (published: a rate of 7e-4 or less for batches of 20 decisions; here 640).
    reward_scale: multiplies every reward, so that Q stays in a range that a network learns quickly (published: 1).
    precision: of the hidden layers while learning. bfloat16 is about twice as fast on hardware that supports it, and
        slower elsewhere.
    """

    truncation: float = 10.0
    delta: float = 1.0
    trust_region: str = "logits"
    alpha: float = 0.99
    q_coefficient: float = 0.5
    entropy_coefficient: float = 1e-4
    learning_rate: float = 2e-3
    decay: float = 0.99
    epsilon: float = 1e-5
    max_gradient_norm: float = 10.0
    reward_scale: float = 0.1
    precision: str = "float32"

    def __post_init__(self) -> None:
        if self.trust_region not in TRUST_REGIONS:
            raise BadInput(f"algorithm.trust_region={self.trust_region}: expected {' or '.join(TRUST_REGIONS)}")
        require_precision(self.precision)


@dataclass(frozen=True)
class AcerLoopSettings(LiveSettings):
    """Settings of ACER's loop, besides those of `LiveSettings`.

    replay_ratio: mean number of updates from memory for each update from live play (Poisson).
    capacity: sequences in memory. start: sequences that memory must hold before it is sampled.
    value_decisions: decisions played before the schedule begins, from which Q is fitted to the initial policy; they do
        not count. 0: none, and Q starts as the policy's file has it.
    """

    replay_ratio: float = 4.0
    capacity: int = 6400
    start: int = 256
    value_decisions: int = 20_000

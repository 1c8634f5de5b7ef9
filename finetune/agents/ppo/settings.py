"""Settings of PPO and of its loop."""

from dataclasses import dataclass

from ....common.errors import BadInput
from ....policies.networks import HIDDEN
from ...settings import LiveSettings
from ..discounting import Discounted
from ..precision import require_precision


@dataclass(frozen=True)
class PpoSettings(Discounted):
    """Settings of PPO. Coefficients, norm, clip and Adam's epsilon are those of "The 37 implementation details of PPO"
    (Huang et al. 2022).

    gamma: discount at gamma_rate decisions a second. gae_lambda: λ of the advantages. clip: ε of the surrogate.
    epochs: passes over the newest live play, at most. minibatch: decisions. target_kl: an update ends early once an
        epoch's KL from the policy that played is too far above it.
    learning_rate, minibatch, epochs: chosen for speed; with 3e-4 and 4096, QWOP's runners fall behind within minutes.
    hidden: widths of the value network, and of a new policy.
    precision: of the hidden layers while learning. bfloat16 is about twice as fast on hardware that supports it, and
        slower elsewhere.
    """

    gamma: float = 0.985
    gamma_rate: float = 10.0
    gae_lambda: float = 0.95
    clip: float = 0.2
    epochs: int = 3
    minibatch: int = 2048
    target_kl: float = 0.02
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.01
    learning_rate: float = 8e-4
    epsilon: float = 1e-5
    max_gradient_norm: float = 0.5
    hidden: tuple[int, ...] = HIDDEN
    precision: str = "float32"

    def __post_init__(self) -> None:
        for name in ("epochs", "minibatch"):
            if getattr(self, name) < 1:
                raise BadInput(f"algorithm.{name}={getattr(self, name)}: expected at least 1")
        require_precision(self.precision)


@dataclass(frozen=True)
class PpoLoopSettings(LiveSettings):
    """Settings of PPO's loop: many episodes at once and long sequences; see `LiveSettings`."""

    num_envs: int = 128
    steps: int = 128
    log_every: int = 100_000
    checkpoint_every: int = 1_000_000
    overlap: bool = False

"""The settings of cloning, and where their defaults come from."""

from dataclasses import dataclass

from ..common.errors import BadInput
from ..policies.networks import HIDDEN

BACKENDS = ("torch", "d3rlpy")


@dataclass(frozen=True)
class CloningSettings:
    """How a policy is cloned.

    The defaults were chosen on Kurodo's recordings by the likelihood of validation episodes, not of those held out.

    backend: torch (this package's own loop) or d3rlpy (DiscreteBC).
    epochs: passes over the training rows at most; patience: passes without a better validation likelihood before
        stopping. The best pass is what remains.
    batch_size, learning_rate: of AdamW; the rate falls to 0 along half a cosine over all epochs.
    weight_decay: decoupled (Loshchilov and Hutter 2019), of weights, not biases.
    dropout: share of each hidden layer's units left out of an update.
    label_smoothing: share of each label spread evenly over all actions.
    input_noise: standard deviation of normal noise on the scaled observations.
    class_balance: rows weigh n_a^−class_balance, n_a being how often their action occurs: 0 plain, 1 all actions alike.
    hidden: widths of the network's layers.
    validation: share of the episodes that decides when to stop; the network is not fitted to them.
    """

    backend: str = "torch"
    epochs: int = 60
    patience: int = 10
    batch_size: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 0.1
    dropout: float = 0.2
    label_smoothing: float = 0.02
    input_noise: float = 0.0
    class_balance: float = 0.0
    hidden: tuple[int, ...] = HIDDEN
    validation: float = 0.15

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise BadInput(f"backend={self.backend}: expected {' or '.join(BACKENDS)}")
        for name in ("epochs", "patience", "batch_size"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name}={getattr(self, name)}: expected at least 1")
        if not self.learning_rate > 0:
            raise BadInput(f"learning_rate={self.learning_rate:g}: expected more than 0")
        for name in ("weight_decay", "input_noise"):
            if not getattr(self, name) >= 0:
                raise BadInput(f"{name}={getattr(self, name):g}: expected at least 0")
        for name in ("dropout", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInput(f"{name}={getattr(self, name):g}: expected at least 0, less than 1")
        if not 0 <= self.class_balance <= 1:
            raise BadInput(f"class_balance={self.class_balance:g}: expected 0 to 1")
        if not self.hidden or min(self.hidden) < 1:
            raise BadInput(f"hidden={list(self.hidden)}: expected the widths of one layer or more, each at least 1")
        if not 0 < self.validation < 1:
            raise BadInput(f"validation={self.validation:g}: expected a share between 0 and 1")

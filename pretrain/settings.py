"""The settings of `qwop-pretrain` and `qwop-reestimate`."""

from dataclasses import dataclass, replace

from ..common.errors import BadInput
from ..common.settings import Settings, nested, setting
from ..common.shared_settings import device, max_idle_frames, seed
from ..common.tracker import tracker
from ..policies.sizes import HIDDEN, convolutions

BACKENDS = ("torch", "d3rlpy")


@dataclass(frozen=True)
class CloningSettings(Settings):
    """Cloning: a network fitted to the demonstrated actions by maximum likelihood.

    The defaults were chosen on Kurodo's recordings, by the likelihood of validation episodes, not of those held out;
    those with soft targets on the embedded games, in the same way.
    """

    backend: str = setting(
        "torch", "Training loop: torch is this package's own, d3rlpy is DiscreteBC (an extra).", choices=BACKENDS
    )
    epochs: int = setting(60, "Passes over the training decisions, at most.", at_least=1, at_most=100_000)
    patience: int = setting(
        10,
        "Stop after this many passes without a better likelihood of the validation episodes; the best pass is kept.",
        at_least=1,
    )
    batch_size: int = setting(256, "Decisions per update.", at_least=1)
    learning_rate: float = setting(
        2e-3, "Initial learning rate of AdamW; it falls to 0 along half a cosine over all epochs.", above=0
    )
    weight_decay: float = setting(
        0.1, "Decoupled weight decay of weights, not biases (Loshchilov and Hutter 2019).", at_least=0
    )
    soft_targets: bool = setting(
        True,
        "Fit to the probabilities that a recorded policy drew its actions from, where a dataset has them, not to the "
        "actions (distillation, Hinton et al. 2015).",
    )
    dropout: float | None = setting(
        None,
        "Fraction of each hidden layer's units left out of an update. null: 0.2, with soft targets 0.",
        at_least=0,
        below=1,
    )
    label_smoothing: float = setting(
        0.0,
        "Fraction of each label spread evenly over all actions; as many of a clone's drawn actions are random.",
        at_least=0,
        below=1,
    )
    input_noise: float | None = setting(
        None,
        "Standard deviation of the Gaussian noise added to scaled observations. null: 0, with soft targets 0.1.",
        at_least=0,
    )
    hidden: tuple[int, ...] = setting(HIDDEN, "Widths of the network's hidden layers.", at_least=1, at_most=65_536)
    convolutions: str = convolutions()
    policy_weight: float = setting(
        1.0, "Weight of the decisions that a policy made, where a person and a policy shared control.", at_least=0
    )
    person_weight: float = setting(
        1.0, "Weight of those that the person made there (HG-DAgger, Kelly et al. 2019: 1, and 0 for the policy's).",
        at_least=0,
    )  # fmt: skip
    validation: float = setting(
        0.15, "Fraction of the episodes that decides when to stop; the network is not fitted to them.", above=0, below=1
    )

    def completed(self, soft: bool) -> "CloningSettings":
        """The settings with a number in place of every null; soft: the rows have probabilities to learn."""
        return replace(
            self,
            dropout=0.2 * (not soft) if self.dropout is None else self.dropout,
            input_noise=0.1 * soft if self.input_noise is None else self.input_noise,
        )


@dataclass(frozen=True)
class PretrainSettings(Settings):
    """The settings of `qwop-pretrain`."""

    dataset: str | None = setting(
        None, "Folder of the dataset to clone. null: the demonstrations that come with the package.", path=True
    )
    policy: str | None = setting(
        None,
        "Policy to go on with instead of a new network: its file, or champion. It is fitted to the dataset, without "
        "dropout and noise unless they are set.",
        path=True,
    )
    out: str = setting("runs/pretrain", "Folder of the run: policy, measures and TensorBoard's log.", written=True)
    seed: int = seed("Decides everything random: the split, the weights, the order, the games.")
    held_out: float = setting(
        0.2, "Fraction of the episodes that the clone never sees; its quality is measured on them.", above=0, below=1
    )
    splits: int = setting(
        1, "Clones to make, each with other episodes held out. The first is kept.", at_least=1, at_most=1000
    )
    games: int = setting(
        50, "Games that the clone plays in its environment, greedily and again sampled. 0: none.", at_least=0
    )
    max_idle_frames: int = max_idle_frames(30)
    frames_per_step: tuple[int, ...] | None = setting(
        (1, 2, 3),
        "Games of QWOP that a person played: game frames (30 a second) per decision to clone them at. Of several, the "
        "one whose clone runs best in games is kept. null: as they were recorded.",
        at_least=1,
        at_most=3600,
    )
    observation: str | None = setting(
        "contact",
        "Observations of these clones: 71 features (features), 94 (full) or 112 (contact). null: as recorded.",
        choices=("features", "full", "contact"),
    )
    clones: int = setting(
        4,
        "Clones to make of these games at the best rate, if games finish; the best runner is kept, because clones that "
        "predict equally well run differently.",
        at_least=1,
        at_most=1000,
    )
    device: str = device()
    tracker: str = tracker()
    cloning: CloningSettings = nested(CloningSettings, "Training of the clone.", inline=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.splits * self.held_out > 1:
            raise BadInput(
                f"splits={self.splits}, held_out={self.held_out:g}: together more than all episodes; at most "
                f"{int(1 / self.held_out)} splits hold out a fraction of {self.held_out:g} each"
            )


@dataclass(frozen=True)
class ReestimateSettings(Settings):
    """The settings of `qwop-reestimate`."""

    dataset: str = setting(help="Folder of the dataset to read; it stays as it is.", example="data/kurodo", path=True)
    out: str = setting(help="Folder of the new dataset.", example="data/kurodo-cloned", written=True)
    folds: int = setting(
        5, "Clones to make. Each episode's probabilities come from one fitted to the other folds' episodes.", at_least=2
    )
    floor: float = setting(
        1e-3, "Least probability of any action, so that importance weights stay finite.", above=0, below=0.5
    )
    seed: int = seed("Decides the folds and the clones.")
    device: str = device()
    cloning: CloningSettings = nested(CloningSettings, "Training of the clones, one for each fold.")

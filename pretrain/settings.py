"""The settings of `qwop-pretrain` and `qwop-dataset reestimate`."""

from typing import Annotated, Literal

from pydantic import Field

from ..common.command import Command
from ..common.errors import BadInput
from ..common.settings import Count, HomePath, NotNegative, OutFolder, Positive, Settings, Several, Whole, Width
from ..common.shared_settings import Device, IdleFrames, Seed, TrackerName
from ..datasets.embedded import AMATEUR
from ..policies.sizes import HIDDEN, Convolutions


class CloningSettings(Settings):
    """Cloning: a network fitted to the demonstrated actions by maximum likelihood.

    The defaults were chosen on Kurodo's recordings, by the likelihood of validation episodes, not of those held out;
    those with soft targets on the embedded games, in the same way.
    """

    backend: Literal["torch", "d3rlpy"] = "torch"
    """Training loop: torch is this package's own, d3rlpy is DiscreteBC (an extra)."""
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 60
    """Passes over the training decisions, at most."""
    patience: Count = 10
    """Stop after this many passes without a better likelihood of the validation episodes; the best pass is kept."""
    batch_size: Count = 256
    """Decisions per update."""
    learning_rate: Positive = 2e-3
    """Initial learning rate of AdamW; it falls to 0 along half a cosine over all epochs."""
    weight_decay: NotNegative = 0.1
    """Decoupled weight decay of weights, not biases (Loshchilov and Hutter 2019)."""
    soft_targets: bool = True
    """Fit to the probabilities that a recorded policy drew its actions from, where a dataset has them, not to the
    actions (distillation, Hinton et al. 2015)."""
    dropout: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Fraction of each hidden layer's units left out of an update. null: 0.2, with soft targets 0."""
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Fraction of each label spread evenly over all actions; as many of a clone's drawn actions are random."""
    input_noise: NotNegative | None = None
    """Standard deviation of the Gaussian noise added to scaled observations. null: 0, with soft targets 0.1."""
    hidden: Several[Width] = HIDDEN
    """Widths of the network's hidden layers."""
    convolutions: Convolutions = "nature"
    policy_weight: NotNegative = 1.0
    """Weight of the decisions that a policy made, where a person and a policy shared control."""
    person_weight: NotNegative = 1.0
    """Weight of those that the person made there (HG-DAgger, Kelly et al. 2019: 1, and 0 for the policy's)."""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """Fraction of the episodes that decides when to stop; the network is not fitted to them."""

    def completed(self, soft: bool) -> "CloningSettings":
        """The settings with a number in place of every null; soft: the rows have probabilities to learn."""
        return self.with_(
            dropout=0.2 * (not soft) if self.dropout is None else self.dropout,
            input_noise=0.1 * soft if self.input_noise is None else self.input_noise,
        )


class PretrainSettings(CloningSettings):
    """The settings of `qwop-pretrain`."""

    dataset: HomePath = AMATEUR
    """Folder of the dataset to clone, or one that comes with the package: amateur, whose games all fall, or
    champion."""
    policy: HomePath | None = None
    """Policy to go on with instead of a new network: its file, or champion. It is fitted to the dataset, without
    dropout and noise unless they are set."""
    out: OutFolder = "runs/pretrain"
    """Folder of the run: policy, measures and TensorBoard's log."""
    seed: Seed = 0
    """Decides everything random: the split, the weights, the order, the games."""
    held_out: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Fraction of the episodes that the clone never sees; its quality is measured on them."""
    splits: Annotated[int, Field(ge=1, le=1000)] = 1
    """Clones to make, each with other episodes held out. The first is kept."""
    games: Whole = 50
    """Games that the clone plays in its environment, greedily and again sampled. 0: none."""
    max_idle_frames: IdleFrames = 30
    frames_per_step: Several[Annotated[int, Field(ge=1, le=3600)]] | None = (1, 2, 3)
    """Games of QWOP that a person played: game frames (30 a second) per decision to clone them at. Of several, the one
    whose clone runs best in games is kept. null: as they were recorded."""
    observation: Literal["features", "full", "contact"] | None = "contact"
    """Observations of these clones: 71 features (features), 94 (full) or 112 (contact). null: as recorded."""
    clones: Annotated[int, Field(ge=1, le=1000)] = 4
    """Clones to make of these games at the best rate, if games finish; the best runner is kept, because clones that
    predict equally well run differently."""
    device: Device = "auto"
    tracker: TrackerName = "tensorboard"

    @property
    def cloning(self) -> CloningSettings:
        """Training of the clone."""
        return self.part(CloningSettings)

    def check(self) -> None:
        if self.splits * self.held_out > 1:
            raise BadInput(
                f"splits={self.splits}, held_out={self.held_out:g}: together more than all episodes; at most "
                f"{int(1 / self.held_out)} splits hold out a fraction of {self.held_out:g} each"
            )


class ReestimateSettings(Settings):
    """The settings of `qwop-dataset reestimate`."""

    dataset: Annotated[HomePath, Field(examples=["data/kurodo"])]
    """Folder of the dataset to read; it stays as it is."""
    out: Annotated[OutFolder, Field(examples=["data/kurodo-cloned"])]
    """Folder of the new dataset."""
    folds: Annotated[int, Field(ge=2)] = 5
    """Clones to make. Each episode's probabilities come from one fitted to the other folds' episodes."""
    floor: Annotated[float, Field(gt=0, lt=0.5)] = 1e-3
    """Least probability of any action, so that importance weights stay finite."""
    seed: Seed = 0
    """Decides the folds and the clones."""
    device: Device = "auto"
    cloning: CloningSettings = CloningSettings()
    """Training of the clones, one for each fold."""


command = Command(
    "dataset reestimate",
    ReestimateSettings,
    "qwop.pretrain.reestimate:run",
    about="Copy a dataset, its behaviour probabilities re-estimated by clones of the player, cross-fitted by episode.",
    examples=[("qwop-dataset reestimate data/kurodo out=data/kurodo-cloned", "")],
)

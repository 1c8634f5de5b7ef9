"""Settings of PPO and of its loop."""

from dataclasses import dataclass

from ....common.errors import BadInput
from ....common.settings import setting
from ....policies.sizes import HIDDEN, convolutions
from ..settings import ClipsRewards, Discounted, LiveSettings, precision


@dataclass(frozen=True)
class PpoSettings(ClipsRewards, Discounted):
    """Proximal policy optimisation (Schulman et al. 2017) on live play, with an imitation loss on demonstrations where
    a phase asks for it (Rajeswaran et al. 2018). Coefficients, norm, clip and Adam's ε are those of "The 37
    implementation details of PPO" (Huang et al. 2022)."""

    gamma: float = 0.985
    gamma_rate: float = 10.0
    gae_lambda: float = setting(0.95, "Trace decay λ of the generalised advantage estimates.", at_least=0, at_most=1)
    clip: float = setting(0.2, "Clipping range ε of the surrogate: ratios beyond 1 ± ε are not rewarded.", above=0)
    epochs: int = setting(3, "Passes over the newest live play, at most.", at_least=1, at_most=10_000)
    minibatch: int = setting(2048, "Decisions of an update; with 4096, QWOP runners soon fall behind.", at_least=1)
    target_kl: float = setting(
        0.02, "No further pass once the KL divergence from the policy that played exceeds 1.5 times this.", above=0
    )
    value_coefficient: float = setting(0.5, "Weight of the critic's loss.", at_least=0)
    entropy_coefficient: float = setting(0.01, "Weight of the entropy, times the phase's factor.", at_least=0)
    learning_rate: float = setting(
        8e-4,
        "Adam's learning rate, times the phase's factor; with the usual 3e-4 QWOP's runners soon fall behind.",
        above=0,
    )
    epsilon: float = setting(1e-5, "Adam's ε, which keeps its divisor from 0.", above=0)
    scale_returns: bool = setting(
        False,
        "Let V(s) learn in units of the returns' root mean square so far, so that neither learning rate nor norm "
        "depend on the size of an environment's rewards (published: false).",
    )
    max_gradient_norm: float = setting(0.5, "Gradients longer than this are scaled down.", above=0)
    imitation_minibatch: int = setting(
        256, "Demonstrated decisions beside each minibatch, in phases with imitation.", at_least=1
    )
    reaction: int | None = setting(
        0,
        "Decisions by which a person is late: imitated actions go with the observations so much earlier. null: "
        "measured, by the likelihood of the person's actions under the policy that the run starts from.",
        at_least=0, at_most=1000,
    )  # fmt: skip
    hidden: tuple[int, ...] = setting(
        HIDDEN, "Widths of the value network's layers, and of a new policy's.", at_least=1, at_most=65_536
    )
    convolutions: str = convolutions()
    shared: bool = setting(
        False,
        "Give a new policy or a clone a head for V(s) on its own layers (ReLU), as usual for pictures, instead of "
        "learning V(s) in a network of its own.",
    )
    precision: str = precision()


@dataclass(frozen=True)
class PpoLoopSettings(LiveSettings):
    """Settings of PPO's loop: many episodes at once and long sequences."""

    num_envs: int = 128
    steps: int = 128
    log_every: int = 100_000
    checkpoint_every: int = 1_000_000
    overlap: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_two_decisions("num_envs", self.num_envs, self.steps)


def require_two_decisions(games: str, number: int, steps: int) -> None:
    """Raise BadInput for a batch of one decision, whose advantage has no standard deviation to be divided by."""
    if number * steps < 2:
        raise BadInput(f"{games}={number} and steps={steps}: PPO learns from 2 decisions at once, at least")

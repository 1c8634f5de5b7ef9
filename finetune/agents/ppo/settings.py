"""Settings of PPO and of its loop."""

from typing import Annotated, Literal

from pydantic import Field

from ....common.settings import Count, NotNegative, Positive, Several, Share, Width
from ....policies.sizes import HIDDEN, Convolutions
from ..settings import Discounted, LiveSettings, Precision


class PpoSettings(Discounted):
    """Proximal policy optimisation (Schulman et al. 2017) on live play, with an imitation loss on demonstrations where
    a phase asks for it (Rajeswaran et al. 2018). Coefficients, norm, clip and Adam's ε are those of "The 37
    implementation details of PPO" (Huang et al. 2022), with three differences: the value loss is (V − R)² as in
    Stable-Baselines3, twice the weight of ½(V − R)²; values are not clipped; and advantages are normalised over the
    iteration, not within each minibatch."""

    name: Literal["ppo"] = "ppo"

    gamma: Share = 0.985
    gamma_rate: Positive = 10.0
    clip_rewards: bool = False
    """Clip the reward of each decision to between -1 and 1 before learning, as for Atari. The log and evaluations have
    the environment's own."""
    gae_lambda: Share = 0.95
    """Trace decay λ of the generalised advantage estimates."""
    clip: Positive = 0.2
    """Clipping range ε of the surrogate: ratios beyond 1 ± ε are not rewarded."""
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 3
    """Passes over the newest live play, at most."""
    minibatch: Count = 2048
    """Decisions of an update; with 4096, QWOP runners soon fall behind."""
    target_kl: Positive = 0.02
    """No further pass once the KL divergence from the policy that played exceeds 1.5 times this."""
    value_coefficient: NotNegative = 0.5
    """Weight of the critic's loss."""
    entropy_coefficient: NotNegative = 0.01
    """Weight of the entropy, times the phase's factor."""
    learning_rate: Positive = 8e-4
    """Adam's learning rate, times the phase's factor; with the usual 3e-4 QWOP's runners soon fall behind."""
    epsilon: Positive = 1e-5
    """Adam's ε, which keeps its divisor from 0."""
    scale_returns: bool = False
    """Let V(s) learn in units of the returns' root mean square so far, so that neither learning rate nor norm depend on
    the size of an environment's rewards (published: false)."""
    max_gradient_norm: Positive = 0.5
    """Gradients longer than this are scaled down."""
    imitation_minibatch: Count = 256
    """Demonstrated decisions beside each minibatch, in phases with imitation."""
    reaction: Annotated[int, Field(ge=0, le=1000)] | None = 0
    """Decisions by which a person is late: imitated actions go with the observations so much earlier. null: measured,
    by the likelihood of the person's actions under the policy that the run starts from."""
    hidden: Several[Width] = HIDDEN
    """Widths of the value network's layers, and of a new policy's."""
    convolutions: Convolutions = "nature"
    shared: bool = False
    """Give a new policy or a clone a head for V(s) on its own layers (ReLU), as usual for pictures, instead of learning
    V(s) in a network of its own."""
    precision: Precision = "float32"


class PpoLoopSettings(LiveSettings):
    """Settings of PPO's loop: many episodes at once and long sequences."""

    name: Literal["ppo"] = Field(default="ppo", exclude=True, repr=False)

    num_envs: Width = 128
    steps: Annotated[int, Field(ge=2, le=100_000)] = 128
    log_every: Count = 100_000
    checkpoint_every: Count = 1_000_000
    overlap: bool = False

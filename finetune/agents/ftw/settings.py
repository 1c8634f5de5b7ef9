"""Settings of the two-timescale agent and of its loop."""

from dataclasses import dataclass

from ....common.settings import setting
from ....policies.two_timescale import LATENT, LONGEST_PERIOD, PERIOD
from ..vtrace.settings import VtraceLoopSettings, VtraceSettings


@dataclass(frozen=True)
class FtwSettings(VtraceSettings):
    """The For The Win agent (Jaderberg et al. 2019): V-trace with a slow and a fast LSTM, a latent between them, and
    auxiliary tasks.

    The paper draws the weights of the losses, the learning rate, the gradient's factor and the period anew for each
    agent of a population, from the ranges that their sentences name, and lets them evolve. The defaults here are for a
    single agent: about the middle of each range.
    """

    latent: int = setting(LATENT, "Numbers of a new policy's latent z.", at_least=1, at_most=65_536)
    period: int = setting(
        PERIOD,
        "Decisions between two ticks of the slow LSTM, counted from the start of an episode; 1: one time scale. "
        "Published: 5 to 20.",
        at_least=1,
        at_most=LONGEST_PERIOD,
    )
    slow_gradient: float = setting(
        0.3, "Factor of the gradients that the fast LSTM passes into the slow one. Published: 0.1 to 1.", at_least=0
    )
    posterior_kl: float = setting(
        0.01,
        "Weight of the divergence of the latent's posterior from its prior. Published: 0.001 to 1.",
        at_least=0,
    )
    prior_kl: float = setting(
        0.001,
        "Weight of the divergence of the latent's prior from a normal distribution of standard deviation 0.1. "
        "Published: 0.0001 to 0.1.",
        at_least=0,
    )
    feature_control: float = setting(
        0.03,
        "Weight of learning to change each number of the observation, or each part of a picture. Published: 0.01 to "
        "0.1.",
        at_least=0,
    )
    control_gamma: float = setting(
        0.9, "Discount of these changes, per decision, at any decision rate.", at_least=0, below=1
    )
    reward_prediction: float = setting(
        0.3,
        "Weight of predicting the sign of the next reward from three observations. Published: 0.1 to 1.",
        at_least=0,
    )
    prediction_capacity: int = setting(
        800, "Observations with a reward, and as many without, that predictions are learned from.", at_least=1
    )
    prediction_batch: int = setting(
        32, "Predictions in an update, half of them of rewards and half of none.", at_least=2, at_most=65_536
    )


@dataclass(frozen=True)
class FtwLoopSettings(VtraceLoopSettings):
    """Settings of the agent's loop: those of V-trace, whose unrolls are long enough for several ticks."""

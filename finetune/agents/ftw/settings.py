"""Settings of the two-timescale agent; its loop has those of V-trace."""

from typing import Annotated, Literal

from pydantic import Field

from ....common.settings import NotNegative, Width
from ....policies.sizes import LATENT, LONGEST_PERIOD, PERIOD
from ..vtrace.settings import VtraceSettings


class FtwSettings(VtraceSettings):
    """The For The Win agent (Jaderberg et al. 2019): V-trace with a slow and a fast LSTM, a latent between them, and
    auxiliary tasks.

    In the paper each agent of a population draws its loss weights, learning rate, gradient factor and period from the
    ranges given below, and they evolve. The defaults here suit a single agent: about the middle of each range.
    """

    name: Literal["ftw"] = "ftw"  # type: ignore[assignment]

    latent: Width = LATENT
    """Numbers of a new policy's latent z."""
    period: Annotated[int, Field(ge=1, le=LONGEST_PERIOD)] = PERIOD
    """Decisions between two ticks of the slow LSTM, counted from the start of an episode; 1: one time scale. Published:
    5 to 20."""
    memory_slots: Annotated[int, Field(ge=0, le=4096)] = 0
    """Slots of a new policy's external memory (Graves et al. 2016), which both LSTMs write and read. Published version
    of others: 450. 0: none."""
    slow_gradient: NotNegative = 0.3
    """Factor of the gradients that the fast LSTM passes into the slow one. Published: 0.1 to 1."""
    posterior_kl: NotNegative = 0.01
    """Weight of the divergence of the latent's posterior from its prior. Published: 0.001 to 1."""
    prior_kl: NotNegative = 0.001
    """Weight of the divergence of the latent's prior from a normal distribution of standard deviation 0.1. Published:
    0.0001 to 0.1."""
    feature_control: NotNegative = 0.03
    """Weight of the auxiliary task of changing each number of the observation, or each part of a picture. Published:
    0.01 to 0.1."""
    reward_prediction: NotNegative = 0.3
    """Weight of predicting the sign of the next reward from three observations. Published: 0.1 to 1."""

"""The two-timescale agent: functions that build its network, learner and agent."""

from typing import TYPE_CHECKING

import numpy as np
import torch

from ....policies.two_timescale import TwoTimescaleActorCritic
from ..agent import LiveAgent, Makes
from ..vtrace.agent import network_of
from ..vtrace.settings import VtraceLoopSettings
from .learner import FtwLearner
from .settings import FtwSettings

if TYPE_CHECKING:
    from ...run import Run


def new_network(settings: FtwSettings) -> Makes[TwoTimescaleActorCritic]:
    """The untrained network of these settings."""
    return lambda observation, actions, generator: TwoTimescaleActorCritic(
        observation, actions, settings.hidden, settings.memory, settings.latent, settings.period, generator
    )


def new_learner(network: TwoTimescaleActorCritic, settings: FtwSettings, seed: int, device: torch.device) -> FtwLearner:
    """Make a standalone learner."""
    return FtwLearner(network, settings, device, np.random.default_rng(seed))


def build(run: "Run[FtwSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place."""
    network = network_of(run, TwoTimescaleActorCritic, "ftw")
    return LiveAgent(FtwLearner(network, run.algorithm, run.device, run.for_agent), run.log.metrics)

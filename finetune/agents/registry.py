"""The algorithms that `algorithm=` chooses from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ...datasets.reader import Dataset
from ...envs.spec import ObservationSpec
from ...policies.networks import ActorCritic
from ...policies.policy import Policy
from ..settings import LiveSettings, RunSettings
from .acer.agent import build_acer
from .acer.settings import AcerLoopSettings, AcerSettings
from .base import Agent, AgentContext, MakeNetwork
from .dqn.agent import build_dqn, new_q_network
from .dqn.settings import DdqnLoopSettings, DdqnSettings, DqnLoopSettings, DqnSettings
from .ftw.agent import build_ftw, new_two_timescale
from .ftw.settings import FtwLoopSettings, FtwSettings
from .ppo.agent import build_ppo, new_actor
from .ppo.settings import PpoLoopSettings, PpoSettings
from .rlpd.agent import build_rlpd, new_ensemble_q
from .rlpd.settings import RlpdLoopSettings, RlpdSettings
from .vtrace.agent import build_vtrace, new_recurrent
from .vtrace.settings import VtraceLoopSettings, VtraceSettings


@dataclass(frozen=True)
class Algorithm:
    """An algorithm and its parts.

    settings, loop: classes of its settings and of those of its loop. build: makes the agent. new_network: the untrained
    network of some settings, for policy=scratch. starts_from_scratch: policy=null means a new network, otherwise the
    pretrained policy or a clone of the demonstrations. asynchronous: corrects for live play by an older policy, so
    actors need not wait for each other. taught: can imitate a teacher.
    """

    settings: type[Any]
    loop: type[LiveSettings]
    build: Callable[[Policy, Dataset | None, RunSettings[Any, Any], AgentContext], Agent]
    new_network: Callable[[Any], MakeNetwork]
    starts_from_scratch: bool = False
    asynchronous: bool = False
    taught: bool = False


def _new_actor_critic(settings: AcerSettings) -> MakeNetwork:
    def make(observation: ObservationSpec | int, actions: int, generator: torch.Generator) -> ActorCritic:
        return ActorCritic(observation, actions, generator=generator)

    return make


ALGORITHMS: Mapping[str, Algorithm] = {
    "acer": Algorithm(AcerSettings, AcerLoopSettings, build_acer, _new_actor_critic, asynchronous=True),
    "ppo": Algorithm(PpoSettings, PpoLoopSettings, build_ppo, new_actor, taught=True),
    "dqn": Algorithm(DqnSettings, DqnLoopSettings, build_dqn, new_q_network, starts_from_scratch=True),
    "ddqn": Algorithm(DdqnSettings, DdqnLoopSettings, build_dqn, new_q_network, starts_from_scratch=True),
    "rlpd": Algorithm(RlpdSettings, RlpdLoopSettings, build_rlpd, new_ensemble_q, starts_from_scratch=True),
    "vtrace": Algorithm(
        VtraceSettings,
        VtraceLoopSettings,
        build_vtrace,
        new_recurrent,
        starts_from_scratch=True,
        asynchronous=True,
        taught=True,
    ),
    "ftw": Algorithm(
        FtwSettings,
        FtwLoopSettings,
        build_ftw,
        new_two_timescale,
        starts_from_scratch=True,
        asynchronous=True,
        taught=True,
    ),
}
"""Algorithms by `algorithm.name`."""

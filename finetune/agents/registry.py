"""The algorithms available to `algorithm=`. Their code, and with it PyTorch, is loaded on first use."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...common.settings import Settings
from .acer.settings import AcerLoopSettings, AcerSettings
from .dqn.settings import DdqnLoopSettings, DdqnSettings, DqnLoopSettings, DqnSettings
from .ftw.settings import FtwSettings
from .ppo.settings import PpoLoopSettings, PpoSettings
from .rlpd.settings import RlpdLoopSettings, RlpdSettings
from .settings import Discounted, LiveSettings
from .vtrace.settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    import torch

    from ...policies.networks import Network
    from ..run import Run
    from .agent import Agent, MakeNetwork
    from .learner import LiveLearner


@dataclass(frozen=True)
class Algorithm:
    """An algorithm and its parts.

    settings, loop: classes of its settings and of its loop's. module: the agent's module, with functions `build`,
    `new_network` and, if populations support it, `new_learner`. starts_from_scratch: policy=null means a new
    network, otherwise the pretrained policy or a clone of the demonstrations. asynchronous: corrects for rollouts
    of an older policy, so actors need not wait for each other. kickstarts: can imitate a teacher.
    """

    settings: type[Discounted]
    loop: type[LiveSettings]
    module: str
    starts_from_scratch: bool = False
    asynchronous: bool = False
    kickstarts: bool = False

    def build(self, run: "Run[Discounted, LiveSettings]") -> "Agent":
        """Make the agent of a run, which trains the policy's network in place."""
        agent: Agent = self._loaded.build(run)
        return agent

    def new_network(self, settings: Settings) -> "MakeNetwork":
        """The untrained network of these settings, for policy=scratch."""
        make: MakeNetwork = self._loaded.new_network(settings)
        return make

    def new_learner(
        self, network: "Network", settings: Settings, seed: int, device: "torch.device"
    ) -> "LiveLearner[Network, Settings]":
        """Make a standalone learner; the seed determines all randomness."""
        learner: LiveLearner[Network, Settings] = self._loaded.new_learner(network, settings, seed, device)
        return learner

    @property
    def _loaded(self) -> Any:
        return import_module(self.module, __package__)


ALGORITHMS: Mapping[str, Algorithm] = {
    "acer": Algorithm(AcerSettings, AcerLoopSettings, ".acer.agent", asynchronous=True),
    "ppo": Algorithm(PpoSettings, PpoLoopSettings, ".ppo.agent", kickstarts=True),
    "dqn": Algorithm(DqnSettings, DqnLoopSettings, ".dqn.agent", starts_from_scratch=True),
    "ddqn": Algorithm(DdqnSettings, DdqnLoopSettings, ".dqn.agent", starts_from_scratch=True),
    "rlpd": Algorithm(RlpdSettings, RlpdLoopSettings, ".rlpd.agent", starts_from_scratch=True),
    "vtrace": Algorithm(
        VtraceSettings,
        VtraceLoopSettings,
        ".vtrace.agent",
        starts_from_scratch=True,
        asynchronous=True,
        kickstarts=True,
    ),
    "ftw": Algorithm(
        FtwSettings, VtraceLoopSettings, ".ftw.agent", starts_from_scratch=True, asynchronous=True, kickstarts=True
    ),
}
"""Algorithms by `algorithm.name`."""

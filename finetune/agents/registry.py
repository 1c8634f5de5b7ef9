"""The algorithms that `algorithm=` chooses from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...datasets.reader import Dataset
from ...policies.networks import ActorCritic
from ...policies.policy import Policy
from ..loop import LiveSettings, Loop
from ..start import SCRATCH, MakeNetwork
from .acer.assembly import Outside, RunSettings, build_acer
from .acer.learner import AcerSettings
from .acer.training import LoopSettings
from .dqn.assembly import build_ddqn, new_dueling_q
from .dqn.learner import DdqnSettings
from .dqn.training import DdqnLoopSettings
from .ppo.assembly import build_ppo, new_actor
from .ppo.learner import PpoSettings


@dataclass(frozen=True)
class Algorithm:
    """Its settings, those of its loop, what builds a loop of them, the network of these settings that policy=scratch
    starts from, and what policy=null means (None: what lies there, or a clone of the demonstrations)."""

    settings: type[Any]
    loop: type[LiveSettings]
    build: Callable[[Policy, Dataset | None, RunSettings[Any, Any], Outside], Loop]
    network: Callable[[Any], MakeNetwork]
    start: str | None = None


ALGORITHMS: Mapping[str, Algorithm] = {
    "acer": Algorithm(
        AcerSettings,
        LoopSettings,
        build_acer,
        lambda settings: lambda size, actions, generator: ActorCritic(size, actions, generator=generator),
    ),
    "ppo": Algorithm(PpoSettings, LiveSettings, build_ppo, new_actor),
    "ddqn": Algorithm(DdqnSettings, DdqnLoopSettings, build_ddqn, new_dueling_q, start=SCRATCH),
}
"""By `algorithm.name`."""

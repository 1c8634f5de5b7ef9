"""The algorithms that `algorithm=` chooses from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..datasets.reader import Dataset
from ..policies.networks import ActorCritic
from ..policies.policy import Policy
from .assembly import Outside, RunSettings, build_acer
from .learner import AcerSettings
from .loop import LiveSettings, Loop
from .starting import MakeNetwork
from .training import LoopSettings


@dataclass(frozen=True)
class Algorithm:
    """Its settings, those of its loop, what builds a loop of them, and the network that policy=scratch starts from."""

    settings: type[Any]
    loop: type[LiveSettings]
    build: Callable[[Policy, Dataset | None, RunSettings[Any, Any], Outside], Loop]
    network: MakeNetwork


ALGORITHMS: Mapping[str, Algorithm] = {
    "acer": Algorithm(
        AcerSettings,
        LoopSettings,
        build_acer,
        lambda size, actions, generator: ActorCritic(size, actions, generator=generator),
    ),
}
"""By `algorithm.name`."""

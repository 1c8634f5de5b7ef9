"""The game: engine, rules, observations, actions, rewards, and the environments made of them."""

import gymnasium

from .qwop.replay import Replay, replay
from .spec import EnvironmentSpec

__all__ = ["EnvironmentSpec", "Replay", "replay"]

gymnasium.register(
    "QWOP-v1",
    entry_point="qwop.envs.qwop.env:QWOPEnv",
    vector_entry_point="qwop.envs.qwop.vector:QWOPVectorEnv",
)

gymnasium.register("QWOPOriginal-v1", entry_point="qwop.envs.original.env:QWOPOriginalEnv")

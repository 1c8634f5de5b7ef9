"""The game: engine, rules, observations, actions, rewards, and the environments made of them."""

import gymnasium

from .replay import Replay, replay
from .spec import EnvironmentSpec

__all__ = ["EnvironmentSpec", "Replay", "replay"]

gymnasium.register(
    "QWOP-v1",
    entry_point="qwop.envs.qwop_env:QWOPEnv",
    vector_entry_point="qwop.envs.qwop_vector:QWOPVectorEnv",
)

gymnasium.register("QWOPOriginal-v1", entry_point="qwop.envs.original.env:QWOPOriginalEnv")

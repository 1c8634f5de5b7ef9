"""The game: engine, rules, observations, actions, rewards, and the environments made of them."""

from .replay import Replay, replay
from .spec import EnvironmentSpec

__all__ = ["EnvironmentSpec", "Replay", "replay"]

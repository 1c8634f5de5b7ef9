"""The game: its engine and rules, and the Gymnasium environments made of them."""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_names

if TYPE_CHECKING:
    from .qwop.session import Replay, replay
    from .spec import EnvironmentSpec

__all__ = ["EnvironmentSpec", "Replay", "replay"]

__getattr__, __dir__ = lazy_names(
    __name__, {"EnvironmentSpec": ".spec", "Replay": ".qwop.session", "replay": ".qwop.session"}
)

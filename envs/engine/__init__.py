"""The engine: the original game's physics and rules, to the bit, compiled.

A batch of games is two arrays, `reals` float64 [n, REALS] and `integers` int32 [n, INTEGERS]; a row of each is the
state of one game, so copying rows saves games. `reals[i, :84]` is the table of the 14 bodies, `reals[i, 84:90]` are the
events (see `layout`).
"""

from .page import new_games, play_together
from .workspace import workspace

__all__ = ["new_games", "play_together", "workspace"]

"""Events of a race: the counts ρ from which agents make their own rewards (Jaderberg et al. 2019), and its results."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import layout as at
from ..engine import native

TIE_FRAMES = 1
"""A finish that is earlier by no more than this many frames is a tie."""

TIE_METRES = 0.5
"""Largest difference in metres that counts as a draw between two runners who did not finish."""

WON, DRAWN, LOST = 1.0, 0.5, 0.0

EVENTS = (
    "new_metres", "lost_metres", "left_foot", "right_foot", "other_foot", "knee", "hand", "torso", "head", "fall",
    "hurdle_hit", "hurdle_cleared", "finish", "decision", "took_lead", "lost_lead", "won", "lost",
)  # fmt: skip
"""The events of a decision, ρ:

    new_metres, lost_metres       metres beyond the farthest so far; metres run backwards
    left_foot, right_foot         touchdowns of a foot
    other_foot                    touchdowns of the foot that did not come down last
    knee, hand, torso, head       touchdowns of calves and thighs, of arms, of the torso, of the head
    fall                          1 when the runner falls
    hurdle_hit, hurdle_cleared    touches of the hurdle; 1 when the torso is a metre past it for the first time
    finish                        1 when the runner finishes
    decision                      1 for every decision that the runner made
    took_lead, lost_lead          1 when it gets more than half a metre ahead of all opponents; when one of them does
    won, lost                     1 at the end of the race
"""

SPARSE = np.array([name not in ("new_metres", "lost_metres", "decision") for name in EVENTS])
"""bool [E]: the events that most decisions lack."""

SPARSE.setflags(write=False)

_COLUMN = {name: column for column, name in enumerate(EVENTS)}

_BODIES = {
    "left_foot": (at.LEFT_FOOT,),
    "right_foot": (at.RIGHT_FOOT,),
    "knee": (at.LEFT_CALF, at.RIGHT_CALF, at.LEFT_THIGH, at.RIGHT_THIGH),
    "hand": (at.LEFT_FOREARM, at.RIGHT_FOREARM, at.LEFT_ARM, at.RIGHT_ARM),
    "torso": (at.TORSO,),
    "head": (at.HEAD,),
}

_COLUMN_OF_BODY = np.full(at.MOVING, -1)
for _name, _bodies in _BODIES.items():
    _COLUMN_OF_BODY[list(_bodies)] = _COLUMN[_name]

_CLEAR = 10.0
"""Units that the torso is past the hurdle's top when the hurdle is cleared."""

_X, _HURDLE_X = 6 * at.TORSO + at.X, 6 * at.HURDLE_TOP + at.X


def results(finished: NDArray[np.bool_], frames: NDArray[np.int64], metres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the result of every runner, float64 [n, m]: 1 for those who won, ½ drawn, 0 lost.

    finished, frames (on the clock at the end) and metres: of n races of m runners, [n, m]. A runner wins by beating all
    others, and loses if another beats it; a lone runner draws. One beats the other by finishing alone, by finishing
    more than `TIE_FRAMES` earlier, or, if neither finished, by more than `TIE_METRES`.
    """
    never = np.iinfo(np.int64).max // 2
    ends = np.where(finished, frames, never)
    earlier = ends[:, :, None] + TIE_FRAMES < ends[:, None, :]
    farther = metres[:, :, None] > metres[:, None, :] + TIE_METRES
    neither = ~finished[:, :, None] & ~finished[:, None, :]
    beats = np.where(neither, farther, earlier)  # [n, runner, other runner]
    runners = metres.shape[1]
    won = (beats | np.eye(runners, dtype=np.bool_)).all(axis=2) & (runners > 1)
    return np.where(won, WON, np.where(beats.any(axis=1), LOST, DRAWN))


def weighted(weights: NDArray[Any], events: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rewards r = w·ρ, float64 [...], of events [..., E] with weights [E] or [..., E]."""
    rewards: NDArray[np.float64] = (np.asarray(weights, dtype=np.float64) * events).sum(axis=-1)
    return rewards


class EventCounter:
    """Counts the events of n runners, frame by frame.

    farthest: metres float64 [n]. foot: the one that came down last, int64 [n]. cleared, leading: bool [n]. track,
    hurdle: bodies that touch them, int64 [n] as bit masks. rho: this decision's events, float64 [n, E].
    """

    def __init__(self, count: int) -> None:
        self.farthest, self.rho = np.zeros(count), np.zeros((count, len(EVENTS)))
        self.foot, self.track, self.hurdle = np.zeros((3, count), dtype=np.int64)
        self.cleared, self.leading = np.zeros((2, count), dtype=np.bool_)

    def begin(self, mask: NDArray[np.bool_], reals: NDArray[np.float64], integers: NDArray[np.int32]) -> None:
        """Restart where `mask`, bool [n], is true, from the games' states after their idle frames."""
        track, hurdle = self._touching(integers)
        self.track[mask], self.hurdle[mask] = track[mask], hurdle[mask]
        self.farthest[mask] = _metres(reals)[mask]
        self.foot[mask], self.cleared[mask], self.leading[mask] = at.NO_FOOT, False, False
        self.rho[mask] = 0.0

    def add_frame(self, playing: NDArray[np.bool_], integers: NDArray[np.int32]) -> None:
        """Count touchdowns in the frame that was just played where `playing`, bool [n], is true."""
        track, hurdle = self._touching(integers)
        native.call(
            "count_touchdowns", playing, track & ~self.track, hurdle & ~self.hurdle, _COLUMN_OF_BODY,
            _COLUMN["other_foot"], _COLUMN["hurdle_hit"], self.foot, self.rho,
        )  # fmt: skip
        self.track[:], self.hurdle[:] = track, hurdle

    def end_decision(
        self,
        players: NDArray[np.bool_],
        before: NDArray[np.float64],
        reals: NDArray[np.float64],
        opponents: NDArray[np.int64],
    ) -> None:
        """Count metres, the hurdle and the lead.

        players: those who made the decision, bool [n]. before: their metres before it, float64 [n]. opponents: the rows
        of each one's opponents, int64 [n, o]; none where o is 0.
        """
        metres = _metres(reals)
        new, lost = np.maximum(metres - self.farthest, 0.0), np.maximum(before - metres, 0.0)
        self.add(new_metres=new, lost_metres=lost, decision=players)
        self.farthest[:] = np.maximum(self.farthest, metres)
        cleared = self.cleared | (reals[:, _X] > reals[:, _HURDLE_X] + _CLEAR)
        self.add(hurdle_cleared=cleared & ~self.cleared)
        self.cleared[:] = cleared
        ahead = metres - metres[opponents].max(axis=1, initial=-np.inf)
        leading = np.where(ahead > TIE_METRES, True, np.where(ahead < -TIE_METRES, False, self.leading))
        leading &= opponents.shape[1] > 0  # a lone runner never leads
        self.add(took_lead=leading & ~self.leading, lost_lead=~leading & self.leading)
        self.leading[:] = leading

    def add(self, **numbers: NDArray[Any]) -> None:
        """Add to the events of these names, [n] each."""
        for name, number in numbers.items():
            self.rho[:, _COLUMN[name]] += number

    def _touching(self, integers: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        track, hurdle = np.empty_like(self.track), np.empty_like(self.hurdle)
        native.call("touching", integers, track, hurdle)
        return track, hurdle


def _metres(reals: NDArray[np.float64]) -> NDArray[np.float64]:
    metres: NDArray[np.float64] = reals[:, _X] / 10.0
    return metres

"""Rules of a race: the results of its runners."""

import numpy as np
from numpy.typing import NDArray

TIE_FRAMES = 1
"""A finish that is earlier by no more than this many frames is a tie."""

TIE_METRES = 0.5
"""Largest difference in metres that counts as a draw between two runners who did not finish."""

WON, DRAWN, LOST = 1.0, 0.5, 0.0


def results(
    finished: NDArray[np.bool_], frames: NDArray[np.int64], metres: NDArray[np.float64], teams: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the result of every runner, float64 [n, m]: 1 for those who won, ½ drawn, 0 lost.

    finished, frames (on the clock at the end) and metres: of n races of m runners, [n, m]; teams: the team of each
    runner, [m], numbered from 0.

    The best runner decides a team's result: the first who finished, or else the one who came farthest. A team wins if
    it beats every other team, loses if another beats it, and draws otherwise, and so does a team without opponents. One
    beats the other by finishing alone, by finishing more than `TIE_FRAMES` earlier, or, if neither finished, by more
    than `TIE_METRES`.
    """
    never = np.iinfo(np.int64).max // 2
    number = int(teams.max()) + 1
    members = [teams == team for team in range(number)]
    best_frames = np.stack([np.where(finished, frames, never)[:, own].min(axis=1) for own in members], axis=1)
    best_metres = np.stack([metres[:, own].max(axis=1) for own in members], axis=1)
    done = best_frames < never
    earlier = best_frames[:, :, None] + TIE_FRAMES < best_frames[:, None, :]
    farther = best_metres[:, :, None] > best_metres[:, None, :] + TIE_METRES
    neither = ~done[:, :, None] & ~done[:, None, :]
    beats = np.where(neither, farther, earlier)  # [n, team, other team]
    others = ~np.eye(number, dtype=np.bool_)
    won = (beats | ~others).all(axis=2) & others.any(axis=1)
    lost = (beats & others).any(axis=1)
    of_teams = np.where(won, WON, np.where(lost, LOST, DRAWN))
    return of_teams[:, teams]

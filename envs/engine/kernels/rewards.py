"""Kernels for the reward of a decision."""

from ..batch import SHAPED, SPEED
from ..observations import LINE
from .compiled import inlined, kernel

FINISH_BONUS = 10.0


@inlined
def _penalties(y, next_y, knee):
    """[y' > 0]·y'/5 + |Δy|/4 − [knee < −0.9]·knee/6"""
    penalties = abs(next_y - y) / 4.0
    if next_y > 0.0:
        penalties += next_y / 5.0
    if knee < -0.9:
        penalties -= knee / 6.0
    return penalties


@inlined
def decision_reward(
    kind, shaping, fall_penalty, push_penalty, x, y, next_x, next_y, knee, hurdle, next_hurdle, finished, fell
):
    """Return a decision's reward: torso from (x, y) to (next_x, next_y), the smaller knee angle after it, the hurdle's
    base from `hurdle` to `next_hurdle`, its ending.

    SPEED:  2·max(Δx, 0)
    SHAPED: max(Δx, 0) − penalties
    RACE:   (min(x', line) − min(x, line))/10 + 10·[finished] − fall_penalty·[fell] − shaping·penalties/10
            − push_penalty·max(Δhurdle, 0)/10
    """
    if kind == SPEED:
        return 2.0 * max(next_x - x, 0.0)
    if kind == SHAPED:
        return max(next_x - x, 0.0) - _penalties(y, next_y, knee)
    reward = (min(next_x, LINE) - min(x, LINE)) / 10.0
    if shaping != 0.0:
        reward -= shaping * _penalties(y, next_y, knee) / 10.0
    if push_penalty != 0.0:
        reward -= push_penalty * max(next_hurdle - hurdle, 0.0) / 10.0
    if finished:
        reward += FINISH_BONUS
    if fell:
        reward -= fall_penalty
    return reward


@kernel
def decision_rewards(kind, shaping, fall_penalty, push_penalty, x, y, knee, hurdle, finished, fell, out):
    """`decision_reward` along a game: x, y, knee, hurdle float64 [T + 1] into out float64 [T]; the ending is the last
    one's."""
    last = out.shape[0] - 1
    for step in range(out.shape[0]):
        out[step] = decision_reward(
            kind, shaping, fall_penalty, push_penalty, x[step], y[step], x[step + 1], y[step + 1], knee[step + 1],
            hurdle[step], hurdle[step + 1], finished and step == last, fell and step == last,
        )  # fmt: skip

"""Kernels for the reward of a decision, and for the touches that races count."""

from .. import layout as at
from ..batch import LINE, SHAPED, SPEED
from ..layout import LEFT_DOWN, RIGHT_DOWN
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


@kernel
def touching(integers, track, hurdle):
    """Write which of each runner's bodies touch the track and the hurdle: int32 [n, INTEGERS] into int64 [n] twice.

    Bit b stands for body b of `layout`. The hurdle's own parts count where they touch the track, not each other.
    """
    for row in range(len(integers)):
        track[row] = 0
        hurdle[row] = 0
        for place in range(integers[row, at.CONTACT_COUNT]):
            contact = integers[row, at.ORDER + place]
            if integers[row, at.TOUCHING + contact] == 0:
                continue
            a, b = integers[row, at.BODY_A + contact], integers[row, at.BODY_B + contact]
            body, other = min(a, b), max(a, b)
            if at.TRACK <= other < at.TRACK + at.TRACKS:
                track[row] |= 1 << body
            elif at.HURDLE_BASE <= other < at.MOVING and body < at.HURDLE_BASE:
                hurdle[row] |= 1 << body


@kernel
def count_touchdowns(playing, began, hits, columns, other_foot, hurdle_hit, foot, counts):
    """Add the touches of one frame to float64 [n, E] `counts`, for the runners who are `playing`, bool [n].

    began, hits: the bodies that came down on the track and hit the hurdle in this frame, int64 [n] as bit masks.
    columns: int64 [MOVING], the column of `counts` for each body; −1 leaves it out. The column `other_foot` counts
    touchdowns of the foot that did not come down last, `hurdle_hit` the hits. foot: the one that came down last, int64
    [n]; it is updated.
    """
    for row in range(len(playing)):
        if not playing[row]:
            continue
        for body in range(at.MOVING):
            if began[row] >> body & 1 and columns[body] >= 0:
                counts[row, columns[body]] += 1.0
            if body < at.HURDLE_BASE and hits[row] >> body & 1:
                counts[row, hurdle_hit] += 1.0
        left, right = began[row] >> at.LEFT_FOOT & 1, began[row] >> at.RIGHT_FOOT & 1
        if (left and foot[row] == RIGHT_DOWN) or (right and foot[row] == LEFT_DOWN):
            counts[row, other_foot] += 1.0
        if left:
            foot[row] = LEFT_DOWN
        elif right:
            foot[row] = RIGHT_DOWN

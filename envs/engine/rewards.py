"""The two published rewards (compiled)."""

from .compiled import compiled

SPEED, SHAPED = 0, 1


@compiled
def decision_reward(kind, x, y, next_x, next_y, knee):
    """What one decision earned: torso from (x, y) to (next_x, next_y), and the more bent knee's angle after it.

    SPEED:  2·max(Δx, 0)
    SHAPED: max(Δx, 0) − [y' > 0]·y'/5 − |Δy|/4 + [knee < −0.9]·knee/6
    """
    progress = max(next_x - x, 0.0)
    if kind == SPEED:
        return 2.0 * progress
    reward = progress - abs(next_y - y) / 4.0
    if next_y > 0.0:
        reward -= next_y / 5.0
    if knee < -0.9:
        reward += knee / 6.0
    return reward


@compiled
def decision_rewards(kind, x, y, knee, out):
    """`decision_reward` along a game: x, y, knee float64 [T + 1] into out float64 [T]."""
    for step in range(out.shape[0]):
        out[step] = decision_reward(kind, x[step], y[step], x[step + 1], y[step + 1], knee[step + 1])

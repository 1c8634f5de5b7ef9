"""Touchdowns of the runners' bodies, counted."""

from .. import layout as at
from ..layout import LEFT_DOWN, RIGHT_DOWN
from .compiled import kernel


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

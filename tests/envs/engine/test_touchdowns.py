"""Touchdowns, counted frame by frame."""

import numpy as np
from qwop.envs.engine import layout as at
from qwop.envs.engine import native
from qwop.envs.engine.layout import LEFT_DOWN, NO_FOOT, RIGHT_DOWN

COLUMNS = np.full(at.MOVING, -1)
COLUMNS[[at.LEFT_FOOT, at.RIGHT_FOOT, at.LEFT_CALF, at.RIGHT_CALF]] = [0, 1, 2, 2]
OTHER_FOOT, HURDLE_HIT = 3, 4


def counted(
    began: list[int], hits: list[int], foot: list[int], playing: list[bool]
) -> tuple[list[list[float]], list[int]]:
    counts, feet = np.zeros((len(foot), 5)), np.array(foot)
    native.call(
        "count_touchdowns", np.array(playing), np.array(began), np.array(hits), COLUMNS, OTHER_FOOT, HURDLE_HIT,
        feet, counts,
    )  # fmt: skip
    return counts.tolist(), feet.tolist()


def test_each_foot_counts_and_the_other_one_alternates() -> None:
    left, right = 1 << at.LEFT_FOOT, 1 << at.RIGHT_FOOT
    counts, feet = counted(
        [left, right, left, right, right], [0] * 5, [NO_FOOT, NO_FOOT, RIGHT_DOWN, LEFT_DOWN, RIGHT_DOWN], [True] * 5
    )
    assert counts == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 1, 0, 0, 0]]
    assert feet == [LEFT_DOWN, RIGHT_DOWN, LEFT_DOWN, RIGHT_DOWN, RIGHT_DOWN]


def test_bodies_share_columns_and_hits_of_the_hurdle_are_counted_apart() -> None:
    knees = 1 << at.LEFT_CALF | 1 << at.RIGHT_CALF
    counts, feet = counted(
        [knees, 1 << at.HEAD], [1 << at.LEFT_FOOT, 1 << at.TORSO | 1 << at.HEAD], [LEFT_DOWN, LEFT_DOWN], [True] * 2
    )
    assert counts == [[0, 0, 2, 0, 1], [0, 0, 0, 0, 2]]
    assert feet == [LEFT_DOWN, LEFT_DOWN]


def test_nothing_is_counted_of_those_who_do_not_play() -> None:
    counts, feet = counted([1 << at.RIGHT_FOOT], [1 << at.TORSO], [LEFT_DOWN], [False])
    assert (counts, feet) == ([[0] * 5], [LEFT_DOWN])

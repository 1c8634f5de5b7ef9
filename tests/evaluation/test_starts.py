"""Kinds of start."""

import pytest
from qwop.evaluation.evaluate import starts_up_to


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0, [("rolling", 0, 0)]),
        (30, [("rolling", 0, 30)]),
        (31, [("rolling", 0, 30), ("any", 0, 31)]),
        (60, [("rolling", 0, 30), ("any", 0, 60)]),
        (300, [("rolling", 0, 30), ("any", 0, 300), ("settled", 60, 300)]),
    ],
)
def test_starts_beyond_the_published_ones_are_told_apart(most: int, expected: list[tuple[str, int, int]]) -> None:
    assert [(start.name, start.least, start.most) for start in starts_up_to(most)] == expected


def test_a_start_holds_its_numbers_of_idle_frames() -> None:
    settled = starts_up_to(300)[2]
    assert [frames in settled for frames in (None, 59, 60, 300, 301)] == [False, False, True, True, False]
